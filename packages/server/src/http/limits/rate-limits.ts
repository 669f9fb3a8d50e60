// Counts requests per client, store, device or address, and tells every caller where it stands.
import { isIPv6 } from 'node:net';
import { Refusal } from '@switchyard/contract';
import type { FastifyReply } from 'fastify';
import { clientKeyOf } from '../authentication/caller.ts';

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
  // Each of them has the platform call a server that the client names, and may wait for its answer.
  outgoing: { windowSeconds: 1, limit: 50 },
  public: { windowSeconds: 1, limit: 200 },
  // Of an address: a whole office may sign in at nine. Who guesses meets the limits of accounts first.
  pages: { windowSeconds: 60, limit: 3000 },
  // Of an address: a person fills in a form once, and a whole office a few times.
  signUps: { windowSeconds: 3600, limit: 60 },
  // Of an address, for tokens and sessions of nobody: each of them can cost a look at the database.
  unauthenticated: { windowSeconds: 60, limit: 3000 },
} as const satisfies RatePolicies;

/** Keys that one counter follows; further ones of the same window share one place. */
export const maxTrackedKeys = 50_000;

/** A caller, or the address of somebody unknown. */
export type RateSubject = {
  readonly organizationId?: string;
  readonly clientId?: string;
  /** In place of the client. */
  readonly limitKey?: string | undefined;
  readonly storeId?: string | undefined;
  readonly deviceId?: string | undefined;
  readonly address?: string;
};

/** Sets the RateLimit headers; throws `rate_limited` when a limit is reached. */
export type ApplyRateLimit = (subject: RateSubject, reply: FastifyReply) => void;

/** Requests of nobody, by address: how many there are shows behind each, and is asked before the next. */
export type FailedAttemptLimit = {
  /** How long the address must wait, ms; undefined where it need not. */
  waitMs(address: string): number | undefined;
  recordFailure(address: string): void;
};

export type RateLimits = {
  readonly unauthenticatedByAddress: FailedAttemptLimit;
  /** As many addresses of sessions that are nobody's, counted apart. */
  readonly unknownSessionsByAddress: FailedAttemptLimit;
  /** Throws for a policy that was not configured, so that a route cannot be without one. */
  policy(name: string): ApplyRateLimit;
};

type Counter = {
  /** How often a key may still come in this window; below zero where it came too often. */
  increment(key: string): number;
  /** The same without counting, of the key alone: a place that others share speaks for none of them. */
  remaining(key: string): number;
  clear(): void;
};

/** Of every request: the package that counts by promises and timers costs ten times as much. */
function createCounter(limit: number, keys: number): Counter {
  const counts = new Map<string, number>();
  const countedKey = (key: string) => (counts.size < keys || counts.has(key) ? key : 'others');
  return {
    increment(key) {
      const counted = countedKey(key);
      const count = (counts.get(counted) ?? 0) + 1;
      counts.set(counted, count);
      return limit - count;
    },
    remaining: (key) => limit - (counts.get(key) ?? 0),
    clear: () => counts.clear(),
  };
}

/** A network of one subscriber: a /64 of IPv6 is one household or one machine. */
export function addressKey(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address;
  const [head = '', tail = ''] = address.split('::');
  const groupsBeforeGap = head.split(':').filter((group) => group !== '');
  const groupsAfterGap = tail.split(':').filter((group) => group !== '');
  const zeros = Array.from(
    { length: Math.max(0, 8 - groupsBeforeGap.length - groupsAfterGap.length) },
    () => '0',
  );
  return [...groupsBeforeGap, ...zeros, ...groupsAfterGap].slice(0, 4).join(':');
}

function subjectKey({
  limitKey,
  organizationId = '',
  clientId,
  address = '',
}: RateSubject): string {
  if (limitKey !== undefined) return limitKey;
  return clientId === undefined ? addressKey(address) : clientKeyOf({ organizationId, clientId });
}

/** The counters that a subject is counted by; the first one always, the others where both exist. */
function createPolicy(name: string, policy: RatePolicy, keys: number): ApplyRateLimit {
  const { limit, storeLimit, deviceLimit, windowSeconds } = policy;
  const policyHeader = `"${name}";q=${limit};w=${windowSeconds}`;
  const byClient = createCounter(limit, keys);
  const byStore = storeLimit === undefined ? undefined : createCounter(storeLimit, keys);
  const byDevice = deviceLimit === undefined ? undefined : createCounter(deviceLimit, keys);
  let windowEndsMs = 0;

  function beginWindow(nowMs: number): void {
    windowEndsMs = nowMs + windowSeconds * 1000;
    for (const counter of [byClient, byStore, byDevice]) counter?.clear();
  }

  /** The least that any counter has left; who is refused by one is not counted by the next. */
  function countSubject(subject: RateSubject): number {
    const { storeId, deviceId } = subject;
    let remaining = byClient.increment(subjectKey(subject));
    if (remaining >= 0 && byStore !== undefined && storeId !== undefined) {
      remaining = Math.min(remaining, byStore.increment(storeId));
    }
    if (remaining >= 0 && byDevice !== undefined && deviceId !== undefined) {
      remaining = Math.min(remaining, byDevice.increment(deviceId));
    }
    return remaining;
  }

  return (subject, reply) => {
    // Whole ones: a difference of others could round up to a second too many.
    const nowMs = Math.floor(performance.now());
    if (nowMs >= windowEndsMs) beginWindow(nowMs);
    const remaining = countSubject(subject);
    const remainingMs = windowEndsMs - nowMs;
    reply.header('ratelimit-policy', policyHeader);
    reply.header(
      'ratelimit',
      `"${name}";r=${Math.max(0, remaining)};t=${Math.ceil(remainingMs / 1000)}`,
    );
    if (remaining >= 0) return;
    throw new Refusal('rate_limited', `The limit "${name}" is reached.`, {
      retryAfterMs: remainingMs,
    });
  };
}

function createFailedAttemptLimit(
  { limit, windowSeconds }: RatePolicy,
  keys: number,
): FailedAttemptLimit {
  const counter = createCounter(limit, keys);
  let windowEndsMs = 0;

  function remainingWindowMs(): number {
    const nowMs = Math.floor(performance.now());
    if (nowMs >= windowEndsMs) {
      windowEndsMs = nowMs + windowSeconds * 1000;
      counter.clear();
    }
    return windowEndsMs - nowMs;
  }

  return {
    waitMs(address) {
      const waitMs = remainingWindowMs();
      return counter.remaining(addressKey(address)) > 0 ? undefined : waitMs;
    },
    recordFailure(address) {
      remainingWindowMs();
      counter.increment(addressKey(address));
    },
  };
}

export function createRateLimits(
  policies: RatePolicies = defaultRatePolicies,
  keys = maxTrackedKeys,
): RateLimits {
  const limitByName = new Map<string, ApplyRateLimit>();
  const { unauthenticated, ...others } = { ...defaultRatePolicies, ...policies };
  for (const [name, policy] of Object.entries(others)) {
    limitByName.set(name, createPolicy(name, policy, keys));
  }
  return {
    unauthenticatedByAddress: createFailedAttemptLimit(unauthenticated, keys),
    unknownSessionsByAddress: createFailedAttemptLimit(unauthenticated, keys),
    policy(name) {
      const limit = limitByName.get(name);
      if (limit === undefined) throw new RangeError(`no rate limit is called ${name}`);
      return limit;
    },
  };
}
