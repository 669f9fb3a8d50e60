// Limits per IP address and time window, counted in this process: failed sign-ins and requested reset emails.
import { createRateCounter } from '../../../platform/index.ts';
import {
  addressBucket,
  type SecondsToWait,
  secondsToWait,
} from '../../infrastructure/oauth-endpoint-limits.ts';

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
  const failures = createRateCounter({ limit: limits.failures, windowSeconds });
  const mails = createRateCounter({ limit: limits.mails, windowSeconds });

  return {
    /** Each attempt counts as failed until it succeeds, so that concurrent attempts cannot pass the limit. */
    countAttempt: (address: string): SecondsToWait =>
      secondsToWait(failures.count(addressBucket(salt, address))),

    uncountAttempt(address: string): void {
      failures.uncount(addressBucket(salt, address));
    },

    countResetRequest: (address: string): SecondsToWait =>
      secondsToWait(mails.count(addressBucket(salt, address))),
  };
}
