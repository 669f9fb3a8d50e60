// Limits per IP address and time window, counted in this process: failed sign-ins and requested reset emails.
import { createCounter, type Wait } from '../../counter.ts';
import { addressBucket } from '../../rate-limits.ts';

export type AttemptLimits = {
  /** Many stores may share one address, and each user mistypes sometimes. */
  readonly failures: number;
  readonly mails: number;
  readonly windowSeconds: number;
};

export const defaultAttemptLimits: AttemptLimits = {
  failures: 200,
  mails: 30,
  windowSeconds: 600,
};

export type AttemptLimiter = ReturnType<typeof createAttemptLimiter>;

/** @param salt for the hash of the address, as in the rate limits of tokens */
export function createAttemptLimiter(limits: AttemptLimits, salt: string) {
  const { windowSeconds } = limits;
  const failures = createCounter({ limit: limits.failures, windowSeconds });
  const mails = createCounter({ limit: limits.mails, windowSeconds });

  return {
    /** Each attempt counts as failed until it succeeds, so that concurrent attempts cannot pass the limit. */
    countAttempt: (address: string): Wait => failures.take(addressBucket(salt, address)),

    uncountAttempt(address: string): void {
      failures.giveBack(addressBucket(salt, address));
    },

    countResetRequest: (address: string): Wait => mails.take(addressBucket(salt, address)),
  };
}
