// Hashes passwords with argon2id: limited concurrency, and equal work for users that do not exist.
import { hash, parseOptions, verify } from '@node-rs/argon2';
import { ProblemError } from '@switchyard/contract';
import { createConcurrencyLimit } from '../../../platform/index.ts';
import { normalizePassword } from './rules.ts';

/** ADR 0016. The default algorithm and version of the package are argon2id, version 19. */
const argon2Parameters: HashParameters = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
/** Half of libuv's four threads: file access and DNS lookups use the same threads. */
const maxConcurrentHashes = 2;
/** About one second of work; further calls fail at once with `overloaded`. */
const maxWaitingHashes = 128;
const retryAfterMs = 1_000;

type HashParameters = {
  readonly memoryCost: number;
  readonly timeCost: number;
  readonly parallelism: number;
};

export type PasswordHasher = {
  hash(password: string): Promise<string>;
  /** Without a hash it does the same work and returns false. */
  verify(passwordHash: string | undefined, password: string): Promise<boolean>;
  /** True if the hash has other parameters than new hashes. */
  isOutdated(passwordHash: string): boolean;
};

/**
 * @param dummyPassword random; passwords of unknown users are verified against its hash
 * @param parameters others than the default are for tests that hash hundreds of passwords
 */
export function createPasswordHasher(
  dummyPassword: string,
  maxWaiting = maxWaitingHashes,
  parameters = argon2Parameters,
): PasswordHasher {
  const limit = createConcurrencyLimit({
    maxConcurrent: maxConcurrentHashes,
    waitLimit: {
      maxWaiting,
      error: () =>
        new ProblemError(
          'overloaded',
          'Too many sign-ins at the same time. Retry the request later.',
          { retryAfterMs },
        ),
    },
  });
  const dummyHashReady = hash(dummyPassword, parameters);
  // `verify` reports the error; an unhandled rejection would end the process before that.
  dummyHashReady.catch(() => {});

  return {
    hash: (password) => limit.run(() => hash(normalizePassword(password), parameters)),
    async verify(passwordHash, password) {
      const dummyHash = await dummyHashReady;
      const matches = await limit.run(() =>
        verify(passwordHash ?? dummyHash, normalizePassword(password)),
      );
      return matches && passwordHash !== undefined;
    },
    isOutdated(passwordHash) {
      const parsedParameters = parseOptions(passwordHash);
      return Object.entries(parameters).some(
        ([name, value]) => parsedParameters[name as keyof HashParameters] !== value,
      );
    },
  };
}
