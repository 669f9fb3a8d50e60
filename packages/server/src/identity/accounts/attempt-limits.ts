// How often one address may fail at signing in, and ask for mail: counted in this process, for a while.
import {
  createFixedWindowCounter,
  type SecondsToWait,
} from '../infrastructure/fixed-window-counter.ts';
import { addressBucket } from '../infrastructure/rate-limits.ts';

export type AttemptLimits = {
  /** A whole chain of shops may stand behind one address, and each of its people mistypes at times. */
  readonly failures: number;
  readonly mails: number;
  readonly windowSeconds: number;
};

export const defaultAttemptLimits: AttemptLimits = {
  failures: 200,
  mails: 30,
  windowSeconds: 600,
};

export type Limiter = ReturnType<typeof createAttemptLimits>;

/** @param salt as for the limits of tokens */
export function createAttemptLimits(limits: AttemptLimits, salt: string) {
  const { windowSeconds } = limits;
  const failures = createFixedWindowCounter({ limit: limits.failures, windowSeconds });
  const mails = createFixedWindowCounter({ limit: limits.mails, windowSeconds });

  return {
    /** Each counts as failed until it succeeds: many at once cannot slip through. */
    begin: (address: string): SecondsToWait => failures.increment(addressBucket(salt, address)),

    succeeded(address: string): void {
      failures.decrement(addressBucket(salt, address));
    },

    mail: (address: string): SecondsToWait => mails.increment(addressBucket(salt, address)),
  };
}
