// How often the OAuth endpoints may be asked: per address, per failed sign-in, per client.
import { hash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { createFixedWindowCounter, type SecondsToWait } from './fixed-window-counter.ts';

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

/** One subscriber of IPv6 has a whole /64: he counts as one address. */
function subscriberNetwork(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address;
  const [head = '', tail = ''] = address.split('::');
  const missing = 8 - head.split(':').length - tail.split(':').length;
  const zeros = address.includes('::') ? Array<string>(Math.max(0, missing)).fill('0') : [];
  return [...head.split(':'), ...zeros, ...tail.split(':')].slice(0, 4).join(':');
}

/** `salt` keeps others from choosing addresses that share a counter with a victim. */
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
