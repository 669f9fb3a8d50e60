// Looks up addresses with DNS queries, which do not use the thread pool of Node.js.
import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { isLoopbackHost } from './address-classes.ts';

/** Two attempts end well within the time of a call. */
const attemptTimeoutMs = 2_000;
const maxAttempts = 2;

export type ResolvedAddress = { readonly address: string; readonly family: number };
/** Empty if the name has no address. Rejects if no name server answers. */
export type AddressLookup = (host: string) => Promise<readonly ResolvedAddress[]>;

const loopback: readonly ResolvedAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

/**
 * The resolver of the system uses the thread pool of Node.js, which files and cryptography need
 * too: some names with unresponsive name servers would block the process.
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
