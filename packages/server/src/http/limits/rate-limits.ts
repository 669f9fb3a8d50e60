// Rate limits per client, store, device or IP address, with the RateLimit headers.
import { isIPv6 } from 'node:net';
import { ProblemError } from '@switchyard/contract';
import type { FastifyReply } from 'fastify';
import { clientKeyOf } from '../authentication/caller.ts';

export type RatePolicy = {
  readonly windowSeconds: number;
  /** Requests of a client in a window; for public routes, of an IP address. */
  readonly limit: number;
  readonly storeLimit?: number;
  readonly deviceLimit?: number;
};

export type RatePolicies = Readonly<Record<string, RatePolicy>>;

export const defaultRatePolicies = {
  default: { windowSeconds: 1, limit: 5000 },
  // Twice the promised 5,000 requests a second, so that a window boundary does not reject them.
  payments: { windowSeconds: 1, limit: 10_000, storeLimit: 10_000, deviceLimit: 10_000 },
  reports: { windowSeconds: 1, limit: 100 },
  // Each request makes the platform call a server that the client names.
  outgoing: { windowSeconds: 1, limit: 50 },
  public: { windowSeconds: 1, limit: 200 },
  // Per IP address, so that a whole office can sign in at the same time. The account limits stop guessing earlier.
  pages: { windowSeconds: 60, limit: 3000 },
  // Per IP address.
  signUps: { windowSeconds: 3600, limit: 60 },
  // Per IP address, for invalid tokens and sessions: each can cost a database query.
  unauthenticated: { windowSeconds: 60, limit: 3000 },
} as const satisfies RatePolicies;

/** Keys that one counter tracks; further keys of the same window share one count. */
export const maxTrackedKeys = 50_000;

/** A caller, or the IP address of an unauthenticated client. */
export type RateSubject = {
  readonly organizationId?: string;
  readonly clientId?: string;
  /** Replaces the client as the key. */
  readonly limitKey?: string | undefined;
  readonly storeId?: string | undefined;
  readonly deviceId?: string | undefined;
  readonly address?: string;
};

/** Sets the RateLimit headers. @throws ProblemError rate_limited */
export type ApplyRateLimit = (subject: RateSubject, reply: FastifyReply) => void;

/** Counts failed authentications per IP address. A request is checked before, and its failure is recorded after it. */
export type FailedAttemptLimit = {
  /** How long the address must wait, in milliseconds; undefined below the limit. */
  waitMs(address: string): number | undefined;
  recordFailure(address: string): void;
};

export type RateLimits = {
  readonly unauthenticatedByAddress: FailedAttemptLimit;
  /** The same limit for unknown connector sessions, counted separately. */
  readonly unknownSessionsByAddress: FailedAttemptLimit;
  /** @throws RangeError for an unknown policy, so that every route has one */
  policy(name: string): ApplyRateLimit;
};

type Counter = {
  /** Counts the key and returns its remaining requests; negative above the limit. */
  increment(key: string): number;
  /** The same without counting; a shared count of further keys is ignored. */
  remaining(key: string): number;
  clear(): void;
};

/** Runs for every request: a package with promises and timers costs ten times as much. */
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

/** The network of one subscriber: an IPv6 /64 is one household or one machine. */
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

/** Counts a subject by client, and by store and device when the policy and the subject have them. */
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

  /** The lowest remainder of the counters; a rejected request is not counted by the next counter. */
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
    // Whole milliseconds, since a fraction could round up to one second more.
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
    throw new ProblemError(
      'rate_limited',
      `The rate limit "${name}" is reached; retry after the time in Retry-After.`,
      {
        retryAfterMs: remainingMs,
      },
    );
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
      if (limit === undefined) throw new RangeError(`unknown rate limit ${name}`);
      return limit;
    },
  };
}
