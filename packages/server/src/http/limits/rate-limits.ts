// Rate limits per client, store, device or IP address, with the RateLimit headers.
import { ProblemError } from '@switchyard/contract';
import type { FastifyReply } from 'fastify';
import { createRateCounter, type RateStatus, subscriberNetwork } from '../../platform/index.ts';
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

function subjectKey({
  limitKey,
  organizationId = '',
  clientId,
  address = '',
}: RateSubject): string {
  if (limitKey !== undefined) return limitKey;
  return clientId === undefined
    ? subscriberNetwork(address)
    : clientKeyOf({ organizationId, clientId });
}

const lower = (one: RateStatus, other: RateStatus): RateStatus =>
  other.remaining < one.remaining ? other : one;

/** Counts a subject by client, and by store and device when the policy and the subject have them. */
function createPolicy(name: string, policy: RatePolicy, maxKeys: number): ApplyRateLimit {
  const { limit, storeLimit, deviceLimit, windowSeconds } = policy;
  const policyHeader = `"${name}";q=${limit};w=${windowSeconds}`;
  const counterOf = (counterLimit: number) =>
    createRateCounter({ limit: counterLimit, windowSeconds, maxKeys });
  const byClient = counterOf(limit);
  const byStore = storeLimit === undefined ? undefined : counterOf(storeLimit);
  const byDevice = deviceLimit === undefined ? undefined : counterOf(deviceLimit);

  /** The lowest status of the counters; a rejected request is not counted by the next counter. */
  function countSubject(subject: RateSubject): RateStatus {
    const { storeId, deviceId } = subject;
    let status = byClient.count(subjectKey(subject));
    if (status.remaining >= 0 && byStore !== undefined && storeId !== undefined) {
      status = lower(status, byStore.count(storeId));
    }
    if (status.remaining >= 0 && byDevice !== undefined && deviceId !== undefined) {
      status = lower(status, byDevice.count(deviceId));
    }
    return status;
  }

  return (subject, reply) => {
    const { remaining, resetMs } = countSubject(subject);
    reply.header('ratelimit-policy', policyHeader);
    reply.header(
      'ratelimit',
      `"${name}";r=${Math.max(0, remaining)};t=${Math.ceil(resetMs / 1000)}`,
    );
    if (remaining >= 0) return;
    throw new ProblemError(
      'rate_limited',
      `The rate limit "${name}" is reached; retry after the time in Retry-After.`,
      {
        retryAfterMs: resetMs,
      },
    );
  };
}

function createFailedAttemptLimit(policy: RatePolicy, maxKeys: number): FailedAttemptLimit {
  const { limit, windowSeconds } = policy;
  const failures = createRateCounter({ limit, windowSeconds, maxKeys });
  return {
    waitMs(address) {
      const { remaining, resetMs } = failures.read(subscriberNetwork(address));
      return remaining > 0 ? undefined : resetMs;
    },
    recordFailure(address) {
      failures.count(subscriberNetwork(address));
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
