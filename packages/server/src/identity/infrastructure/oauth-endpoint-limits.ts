// Rate limits of the OAuth endpoints: by IP address, by failed authentication, by client.
import { hash } from 'node:crypto';
import { createRateCounter, type RateStatus, subscriberNetwork } from '../../platform/index.ts';

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

/** Whole seconds until the next attempt; undefined if the attempt is allowed. */
export type SecondsToWait = number | undefined;

export type OAuthEndpointLimits = ReturnType<typeof createOAuthEndpointLimits>;

const wholeSeconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1000));

/** For a counted attempt. */
export const secondsToWait = ({ remaining, resetMs }: RateStatus): SecondsToWait =>
  remaining < 0 ? wholeSeconds(resetMs) : undefined;

/**
 * Maps an address to one of a fixed number of counters. The secret `salt` prevents attackers from finding
 * an address that shares a counter with a victim.
 */
export function addressBucket(salt: string, address: string): string {
  const number = hash('sha256', salt + subscriberNetwork(address), 'buffer').readUInt32BE(0);
  return String(number % addressBuckets);
}

export function createOAuthEndpointLimits(limits: TokenLimits, salt: string) {
  const counter = (limit: number) => createRateCounter({ limit, windowSeconds });
  const addresses = counter(limits.addressPerMinute);
  const failures = counter(limits.failuresPerMinute);
  const clients = counter(limits.clientPerMinute);
  const bucketOf = (address: string) => addressBucket(salt, address);

  return {
    checkAddress(address: string): SecondsToWait {
      const bucket = bucketOf(address);
      const { remaining, resetMs } = failures.read(bucket);
      if (remaining <= 0) return wholeSeconds(resetMs);
      return secondsToWait(addresses.count(bucket));
    },
    countFailure(address: string): void {
      failures.count(bucketOf(address));
    },
    checkClient: (realm: string, clientId: string): SecondsToWait =>
      secondsToWait(clients.count(`${realm}/${clientId}`)),
  };
}
