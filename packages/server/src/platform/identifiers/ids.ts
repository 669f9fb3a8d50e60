// Creates identifiers and secrets. No other file draws random numbers.
import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import { createUuidV7 } from './uuid-v7.ts';

/** A secret needs at least 128 random bits. */
const minSecretBytes = 16;
const secretBytes = 32;
const jitterSteps = 1024;

export type Ids = {
  /** UUID version 7. Each is greater than the previous one of this process, also if the clock goes back. */
  uuid(): string;
  /** UUID version 4, which does not reveal its creation time (a user's `sub`). */
  uuidV4(): string;
  /** Random bytes in base64url, at least 16. */
  secret(bytes?: number): string;
};

export const systemIds: Ids = {
  uuid: createUuidV7(),
  uuidV4: () => randomUUID(),
  secret(bytes = secretBytes) {
    if (!Number.isInteger(bytes) || bytes < minSecretBytes) {
      throw new RangeError(`a secret needs at least ${minSecretBytes} bytes, not ${bytes}`);
    }
    return randomBytes(bytes).toString('base64url');
  },
};

/** A random delay between half of `ms` and `ms`, so that clients that failed together do not retry together. */
export function withJitter(ms: number): number {
  return Math.round(ms * (0.5 + randomInt(jitterSteps) / (2 * jitterSteps)));
}
