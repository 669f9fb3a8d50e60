// Creates identifiers and secrets. No other file draws random numbers.
import { randomBytes, randomFillSync, randomInt, randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../time/clock.ts';

/** A secret needs at least 128 random bits. */
const minSecretBytes = 16;
const secretBytes = 32;
const jitterSteps = 1024;

export type Ids = {
  /**
   * UUID version 7. Each is greater than the previous one of this process, also if the clock goes back.
   *
   * @param bucket of the merchant whose row it identifies, see `bucketOf`; default: a random one
   */
  uuid(bucket?: number): string;
  /** UUID version 4, which does not reveal its creation time (a user's `sub`). */
  uuidV4(): string;
  /** Random bytes in base64url, at least 16. */
  secret(bytes?: number): string;
};

/** 42 random bits for each identifier, and a random start of the counter for each millisecond. */
const randomBytesEach = 6;
const drawsPerPool = 512;
const counterLimit = 2 ** 32;

const hexPairs = Buffer.from(
  Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0')).join(''),
);

type UuidSource = Clock & { fill(bytes: Buffer): void };

const systemSource: UuidSource = {
  ...systemClock,
  fill: (bytes) => {
    randomFillSync(bytes);
  },
};

/**
 * Each identifier is greater than the previous one: within a millisecond by a counter of 32 bits
 * with a random start, and if the clock goes back, by continuing the last millisecond. The package `uuid`
 * took 2 µs and 1 kB of memory each, and a sale needs several. Source: RFC 9562, 5.7 and 6.2 (method 1).
 *
 * @example const uuid = createUuidV7(); uuid();
 */
export function createUuidV7(source: UuidSource = systemSource): Ids['uuid'] {
  const pool = Buffer.alloc(randomBytesEach * drawsPerPool);
  let poolOffset = pool.length;
  // Reused for every identifier: the time bytes stay between two calls.
  const text = Buffer.from('00000000-0000-7000-8000-000000000000');
  let time = 0;
  let counter = 0;

  function write(offset: number, byte: number): void {
    text[offset] = hexPairs[byte * 2] as number;
    text[offset + 1] = hexPairs[byte * 2 + 1] as number;
  }

  /** The offset of the next random bytes. */
  function drawRandomBytes(): number {
    if (poolOffset === pool.length) {
      source.fill(pool);
      poolOffset = 0;
    }
    poolOffset += randomBytesEach;
    return poolOffset - randomBytesEach;
  }

  function startMillisecond(millisecond: number): void {
    time = millisecond;
    counter = pool.readUInt32BE(drawRandomBytes());
    const high = Math.floor(time / 0x10000);
    write(0, high >>> 24);
    write(2, (high >>> 16) & 0xff);
    write(4, (high >>> 8) & 0xff);
    write(6, high & 0xff);
    write(9, (time >>> 8) & 0xff);
    write(11, time & 0xff);
  }

  return (bucket) => {
    const now = source.now();
    counter += 1;
    if (now > time) startMillisecond(now);
    else if (counter === counterLimit) startMillisecond(time + 1);
    const random = drawRandomBytes();
    // 4 bits after the version, 8, 6 after the variant, 8, and the last 6 before the random bits.
    text[15] = hexPairs[(counter >>> 28) * 2 + 1] as number;
    write(16, (counter >>> 20) & 0xff);
    write(19, 0x80 | ((counter >>> 14) & 0x3f));
    write(21, (counter >>> 6) & 0xff);
    write(24, ((counter << 2) & 0xff) | ((pool[random] as number) & 0x03));
    for (let next = 1; next < randomBytesEach; next += 1) {
      write(24 + next * 2, pool[random + next] as number);
    }
    if (bucket !== undefined) {
      write(32, ((pool[random + 4] as number) & 0xfc) | (bucket >>> 8));
      write(34, bucket & 0xff);
    }
    return text.toString('latin1');
  };
}

export const systemIdGenerator: Ids = {
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
