// How often the OAuth endpoints may be asked: per address, per failed sign-in, per client.
import { hash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

const windowSeconds = 60;
/** Addresses share this many counters, so that a flood of addresses cannot fill the memory. */
const addressBuckets = 65_536;

export type TokenLimits = {
  readonly addressPerMinute: number;
  /** Of one address, answered 401: each costs a look at the database. One till that is set up
   * wrongly and never stops asking must not lock out its neighbours behind the same address. */
  readonly failuresPerMinute: number;
  /** A fleet of tills may share one client and start at the same minute. */
  readonly clientPerMinute: number;
};

export const defaultTokenLimits: TokenLimits = {
  addressPerMinute: 12_000,
  failuresPerMinute: 3_000,
  clientPerMinute: 6_000,
};

export type RateLimits = ReturnType<typeof createRateLimits>;

/** The whole seconds to wait, or undefined where the request may go on. */
type Wait = number | undefined;

/** One subscriber of IPv6 has a whole /64: he counts as one address. */
function networkOf(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address;
  const [head = '', tail = ''] = address.split('::');
  const missing = 8 - head.split(':').length - tail.split(':').length;
  const zeros = address.includes('::') ? Array<string>(Math.max(0, missing)).fill('0') : [];
  return [...head.split(':'), ...zeros, ...tail.split(':')].slice(0, 4).join(':');
}

/** `salt` keeps others from choosing addresses that share a counter with a victim. */
export function addressBucket(salt: string, address: string): string {
  const number = hash('sha256', salt + networkOf(address), 'buffer').readUInt32BE(0);
  return String(number % addressBuckets);
}

export async function waitFor(consumed: Promise<RateLimiterRes>): Promise<Wait> {
  try {
    await consumed;
    return undefined;
  } catch (refused) {
    if (refused instanceof RateLimiterRes)
      return Math.max(1, Math.ceil(refused.msBeforeNext / 1000));
    throw refused;
  }
}

export function createRateLimits(limits: TokenLimits, salt: string) {
  const limiter = (points: number) => new RateLimiterMemory({ points, duration: windowSeconds });
  const addresses = limiter(limits.addressPerMinute);
  const failures = limiter(limits.failuresPerMinute);
  const clients = limiter(limits.clientPerMinute);
  const bucketOf = (address: string) => addressBucket(salt, address);

  return {
    async address(address: string): Promise<Wait> {
      const bucket = bucketOf(address);
      const failed = await failures.get(bucket);
      if (failed !== null && failed.consumedPoints >= limits.failuresPerMinute) {
        return Math.max(1, Math.ceil(failed.msBeforeNext / 1000));
      }
      return waitFor(addresses.consume(bucket));
    },
    async failed(address: string): Promise<void> {
      await waitFor(failures.consume(bucketOf(address)));
    },
    client: (realm: string, clientId: string): Promise<Wait> =>
      waitFor(clients.consume(`${realm}/${clientId}`)),
  };
}
