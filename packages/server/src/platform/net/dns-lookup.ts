// Asks where a host of others is, without holding up anybody: by name servers, never by the threads of the process.
import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { isLoopbackHost } from './address-classes.ts';

/** Two rounds over all name servers end well within the time of a call. */
const attemptTimeoutMs = 2_000;
const maxAttempts = 2;

export type Address = { readonly address: string; readonly family: number };
/** No address where there is none; rejects where nobody could say. */
export type AddressLookup = (host: string) => Promise<readonly Address[]>;

const loopback: readonly Address[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

/**
 * The resolver of the system waits in one of few threads that files and keys need too: some names whose
 * servers hang would stop the process.
 *
 * @example const lookup = createAddressLookup(); await lookup('provider.example');
 */
export function createAddressLookup(): AddressLookup {
  const resolver = new Resolver({ timeout: attemptTimeoutMs, tries: maxAttempts });
  return async (host) => {
    const literal = isIP(host);
    if (literal !== 0) return [{ address: host, family: literal }];
    if (isLoopbackHost(host)) return loopback;
    const [four, six] = await Promise.allSettled([
      resolver.resolve4(host),
      resolver.resolve6(host),
    ]);
    if (four.status === 'rejected' && six.status === 'rejected') throw four.reason;
    return [
      ...(four.status === 'fulfilled' ? four.value : []).map((address) => ({ address, family: 4 })),
      ...(six.status === 'fulfilled' ? six.value : []).map((address) => ({ address, family: 6 })),
    ];
  };
}
