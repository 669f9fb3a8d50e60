// Counts requests per client, store, device or address, and tells every caller where it stands.
import { isIPv6 } from 'node:net';
import { Refusal } from '@switchyard/contract';
import type { FastifyReply } from 'fastify';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

export type RatePolicy = {
  readonly windowSeconds: number;
  /** Requests in a window of a client; for public routes, of an address. */
  readonly limit: number;
  readonly storeLimit?: number;
  readonly deviceLimit?: number;
};

export type RatePolicies = Readonly<Record<string, RatePolicy>>;

export const defaultRatePolicies = {
  default: { windowSeconds: 1, limit: 5000 },
  // The contract promises 5,000 at least; a window that begins anew must not cut off a client at that.
  payments: { windowSeconds: 1, limit: 10_000, storeLimit: 10_000, deviceLimit: 10_000 },
  reports: { windowSeconds: 1, limit: 100 },
  public: { windowSeconds: 1, limit: 200 },
  // Of an address: a whole office may sign in at nine. Who guesses meets the limits of accounts first.
  pages: { windowSeconds: 60, limit: 600 },
} as const satisfies RatePolicies;

/** Keys that one counter follows; further ones of the same window share one place. */
export const keyLimit = 50_000;

/** A caller, or the address of somebody unknown. */
export type RateSubject = {
  readonly clientId?: string;
  readonly storeId?: string | undefined;
  readonly deviceId?: string | undefined;
  readonly address?: string;
};

/** Sets the RateLimit headers; throws `rate_limited` when a limit is reached. */
export type TakeRate = (subject: RateSubject, reply: FastifyReply) => Promise<void>;

export type RateLimits = {
  /** Throws for a policy that was not configured, so that a route cannot be without one. */
  policy(name: string): TakeRate;
};

type Counter = (key: string) => Promise<RateLimiterRes>;

function createCounter(limit: number, windowSeconds: number, keys: number): Counter {
  const limiter = new RateLimiterMemory({ points: limit, duration: windowSeconds });
  let firsts = 0;
  let windowEndsMs = 0;

  /** A key lives for one window, so no more than twice the limit of them are ever held. */
  function countFirst(): void {
    const nowMs = performance.now();
    if (nowMs >= windowEndsMs) {
      windowEndsMs = nowMs + windowSeconds * 1000;
      firsts = 0;
    }
    firsts += 1;
  }

  return async (key) => {
    const isFull = firsts >= keys && performance.now() < windowEndsMs;
    const isStranger = isFull && (await limiter.get(key)) === null;
    const result = await limiter.consume(isStranger ? 'others' : key);
    if (result.isFirstInDuration) countFirst();
    return result;
  };
}

/** A network of one subscriber: a /64 of IPv6 is one household or one machine. */
export function addressKey(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address;
  const [head = '', tail = ''] = address.split('::');
  const front = head.split(':').filter((group) => group !== '');
  const back = tail.split(':').filter((group) => group !== '');
  const zeros = Array.from({ length: Math.max(0, 8 - front.length - back.length) }, () => '0');
  return [...front, ...zeros, ...back].slice(0, 4).join(':');
}

/** The counters that a subject is counted by; the first one always, the others where both exist. */
function createPolicy(name: string, policy: RatePolicy, keys: number): TakeRate {
  const { limit, storeLimit, deviceLimit, windowSeconds } = policy;
  const policyHeader = `"${name}";q=${limit};w=${windowSeconds}`;
  const byClient = createCounter(limit, windowSeconds, keys);
  const byStore = storeLimit && createCounter(storeLimit, windowSeconds, keys);
  const byDevice = deviceLimit && createCounter(deviceLimit, windowSeconds, keys);

  async function take(subject: RateSubject): Promise<RateLimiterRes> {
    const { clientId, storeId, deviceId, address = '' } = subject;
    let tightest = await byClient(clientId ?? addressKey(address));
    for (const [counter, key] of [
      [byStore, storeId],
      [byDevice, deviceId],
    ] as const) {
      if (!counter || key === undefined) continue;
      const result = await counter(key);
      if (result.remainingPoints < tightest.remainingPoints) tightest = result;
    }
    return tightest;
  }

  return async (subject, reply) => {
    let result: RateLimiterRes;
    let refusal: Refusal | undefined;
    try {
      result = await take(subject);
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error;
      result = error;
      refusal = new Refusal('rate_limited', `The limit "${name}" is reached.`, {
        retryAfterMs: error.msBeforeNext,
      });
    }
    const seconds = Math.ceil(result.msBeforeNext / 1000);
    reply.header('ratelimit-policy', policyHeader);
    reply.header('ratelimit', `"${name}";r=${result.remainingPoints};t=${seconds}`);
    if (refusal !== undefined) throw refusal;
  };
}

export function createRateLimits(
  policies: RatePolicies = defaultRatePolicies,
  keys = keyLimit,
): RateLimits {
  const takes = new Map<string, TakeRate>();
  for (const [name, policy] of Object.entries({ ...defaultRatePolicies, ...policies })) {
    takes.set(name, createPolicy(name, policy, keys));
  }
  return {
    policy(name) {
      const take = takes.get(name);
      if (take === undefined) throw new RangeError(`no rate limit is called ${name}`);
      return take;
    },
  };
}
