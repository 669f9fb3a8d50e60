// Rate limits of the OAuth endpoints: by IP address, by failed authentication, by client.
import { hash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { createFixedWindowCounter, type SecondsToWait } from './fixed-window-counter.ts';

const windowSeconds = 60;
/** All addresses share this many counters, so that many addresses cannot fill the memory. */
const addressBuckets = 65_536;

export type TokenLimits = {
  readonly addressPerMinute: number;
  /**
   * Responses 401 to one address, each of which costs a database query. One misconfigured point of
   * sale must not block others behind the same address.
   */
  readonly failuresPerMinute: number;
  /** Many points of sale may share one client and start in the same minute. */
  readonly clientPerMinute: number;
};

export const defaultTokenLimits: TokenLimits = {
  addressPerMinute: 12_000,
  failuresPerMinute: 3_000,
  clientPerMinute: 6_000,
};

export type RateLimits = ReturnType<typeof createRateLimits>;

/** An IPv6 subscriber has a whole /64 network, which counts as one address. */
function subscriberNetwork(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address;
  const [head = '', tail = ''] = address.split('::');
  const missing = 8 - head.split(':').length - tail.split(':').length;
  const zeros = address.includes('::') ? Array<string>(Math.max(0, missing)).fill('0') : [];
  return [...head.split(':'), ...zeros, ...tail.split(':')].slice(0, 4).join(':');
}

/**
 * The secret `salt` prevents attackers from choosing addresses that share a counter with a victim.
 */
export function addressBucket(salt: string, address: string): string {
  const number = hash('sha256', salt + subscriberNetwork(address), 'buffer').readUInt32BE(0);
  return String(number % addressBuckets);
}

export function createRateLimits(limits: TokenLimits, salt: string) {
  const counter = (limit: number) => createFixedWindowCounter({ limit, windowSeconds });
  const addresses = counter(limits.addressPerMinute);
  const failures = counter(limits.failuresPerMinute);
  const clients = counter(limits.clientPerMinute);
  const bucketOf = (address: string) => addressBucket(salt, address);

  return {
    checkAddress(address: string): SecondsToWait {
      const bucket = bucketOf(address);
      return failures.check(bucket) ?? addresses.increment(bucket);
    },
    countFailure(address: string): void {
      failures.increment(bucketOf(address));
    },
    checkClient: (realm: string, clientId: string): SecondsToWait =>
      clients.increment(`${realm}/${clientId}`),
  };
}
