// The interface of a fuzzed parser, and the mutations of its input.
import type { SeededRandom } from './seeded-input.ts';

/** A parser read a wrong value; the message names the fault and no value. */
export class MisreadError extends Error {}

export type FuzzTarget = {
  readonly name: string;
  makeInput(random: SeededRandom): Buffer;
  /**
   * Reads the input.
   *
   * @returns false where the parser refused it by an error of its own
   * @throws MisreadError where it was read and says something else than the bytes do; any other error is
   *   one that the parser must not throw
   */
  readInput(input: Buffer): boolean;
};

const noiseBytesMax = 300;
const changesMax = 3;

export function randomBytes(random: SeededRandom, bytesMax = noiseBytesMax): Buffer {
  const bytes = Buffer.allocUnsafe(random.below(bytesMax));
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = random.below(256);
  return bytes;
}

/** Bytes that parsers treat in a way of their own: lengths at their limits, padding, more to come. */
const boundaryBytes = [
  0x00, 0x01, 0x0f, 0x1f, 0x30, 0x39, 0x3f, 0x7f, 0x80, 0x81, 0x84, 0x99, 0xff,
];

function mutateBytes(bytes: Buffer, random: SeededRandom): Buffer {
  const at = random.below(bytes.length + 1);
  const head = bytes.subarray(0, at);
  const tail = bytes.subarray(Math.min(bytes.length, at + 1));
  const byte = () => (random.oneIn(2) ? random.pick(boundaryBytes) : random.below(256));
  switch (random.below(6)) {
    case 0:
      return Buffer.concat([head, Buffer.of(byte()), tail]);
    case 1:
      return Buffer.concat([head, Buffer.of(byte()), bytes.subarray(at)]);
    case 2:
      return Buffer.concat([head, tail]);
    case 3:
      return Buffer.from(head);
    case 4: {
      const from = random.below(bytes.length + 1);
      return Buffer.concat([head, bytes.subarray(from, from + random.below(8)), tail]);
    }
    default: {
      const copy = Buffer.from(bytes);
      if (at < copy.length) copy[at] = (copy[at] ?? 0) ^ (1 << random.below(8));
      return copy;
    }
  }
}

/** One of the sound inputs: as it is, a little spoilt, or drowned in noise. */
export function mutateInput(validInputs: readonly Buffer[], random: SeededRandom): Buffer {
  if (random.oneIn(12)) return randomBytes(random);
  let bytes: Buffer = random.pick(validInputs);
  for (let changesLeft = random.below(changesMax + 1); changesLeft > 0; changesLeft -= 1)
    bytes = mutateBytes(bytes, random);
  return bytes;
}

/** An error that a parser may throw: its own, with a code and a place, and never a value. */
export function isParserError(
  error: unknown,
  ParserError: new (...given: never[]) => Error,
): boolean {
  if (!(error instanceof ParserError)) return false;
  if (/\d{6}/.test(error.message)) throw new MisreadError('an error that repeats what it met');
  return true;
}
