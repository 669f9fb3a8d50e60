// Makes identifiers and secrets: the only place that draws random numbers.
import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import { createUuidV7 } from './uuid-v7.ts';

/** What grants access must hold at least 128 random bits. */
const minSecretBytes = 16;
const secretBytes = 32;
const jitterSteps = 1024;

export type Ids = {
  /** UUID version 7; never smaller than the one before it in this process, also when the clock goes back. */
  uuid(): string;
  /** UUID version 4, where the time of making must not show (a user's `sub`). */
  uuidV4(): string;
  /** Random bytes in base64url; at least 16 of them. */
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

/** Between half of the time and all of it, so that those who failed together do not return together. */
export function withJitter(ms: number): number {
  return Math.round(ms * (0.5 + randomInt(jitterSteps) / (2 * jitterSteps)));
}
