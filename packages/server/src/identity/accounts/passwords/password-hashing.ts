// Hashes passwords with argon2id: a bounded number at once, and as much work for users who do not exist.
import { hash, parseOptions, verify } from '@node-rs/argon2';
import { refuse } from '@switchyard/contract';
import { preparedPassword } from './rules.ts';

/** ADR 0016. The package's own default algorithm and version are argon2id, version 19. */
const parameters = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;
/** Half of libuv's four threads: files and name look-ups go through the same ones. */
const hashesAtOnce = 2;
/** About a second of work; who comes later is told so at once. */
const hashesWaitingMax = 128;
const retryAfterMs = 1_000;

export type Passwords = {
  hash(password: string): Promise<string>;
  /** Without a hash it does the same work, and the answer is no. */
  verify(passwordHash: string | undefined, password: string): Promise<boolean>;
  /** Made with other parameters than today's. */
  isOutdated(passwordHash: string): boolean;
};

/** @param unguessable becomes the password of nobody */
export function createPasswords(unguessable: string, waitingMax = hashesWaitingMax): Passwords {
  const line = createLine(hashesAtOnce, waitingMax);
  const nobody = hash(unguessable, parameters);
  // Told to whoever verifies; the process must not end over it before.
  nobody.catch(() => {});

  return {
    hash: (password) => line(() => hash(preparedPassword(password), parameters)),
    async verify(passwordHash, password) {
      const nobodysHash = await nobody;
      const fits = await line(() =>
        verify(passwordHash ?? nobodysHash, preparedPassword(password)),
      );
      return fits && passwordHash !== undefined;
    },
    isOutdated(passwordHash) {
      const made = parseOptions(passwordHash);
      return Object.entries(parameters).some(
        ([name, value]) => made[name as keyof typeof parameters] !== value,
      );
    },
  };
}

/** First come, first served; beyond the limit of those who wait the answer is 503. */
function createLine(atOnceMax: number, waitingMax: number) {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (running >= atOnceMax) {
      if (waiting.length >= waitingMax) {
        refuse('overloaded', 'Too many people sign in at this moment.', { retryAfterMs });
      }
      // Whoever ends hands on the place, so that nobody slips in between.
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else {
      running += 1;
    }
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
