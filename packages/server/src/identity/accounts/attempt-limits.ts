// How often one address may fail at signing in, and ask for mail: counted in this process, for a while.
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { addressBucket, waitFor } from '../rate-limits.ts';

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
  const duration = limits.windowSeconds;
  const failures = new RateLimiterMemory({ points: limits.failures, duration });
  const mails = new RateLimiterMemory({ points: limits.mails, duration });

  return {
    /** Each counts as failed until it succeeds: many at once cannot slip through. Seconds to wait, if any. */
    begin: (address: string): Promise<number | undefined> =>
      waitFor(failures.consume(addressBucket(salt, address))),

    async succeeded(address: string): Promise<void> {
      await failures.reward(addressBucket(salt, address));
    },

    mail: (address: string): Promise<number | undefined> =>
      waitFor(mails.consume(addressBucket(salt, address))),
  };
}
