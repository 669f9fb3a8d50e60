// Random messages survive the round trip; random bytes are refused with our error and no other.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  compileDialect,
  type DialectTable,
  type FieldFormat,
  Iso8583Error,
  iso1987Ascii,
  iso1987Binary,
  iso1987BinaryEmv,
  iso1993Ascii,
  type Message,
} from './index.ts';

const ebcdic: DialectTable = {
  ...iso1987Ascii,
  name: 'EBCDIC',
  mti: 'ebcdic',
  text: 'ebcdic',
  numerics: 'ebcdic',
  lengths: 'ebcdic',
  bitmapSize: 'fixed16',
};
const tables = [iso1987Ascii, iso1987Binary, iso1987BinaryEmv, iso1993Ascii, ebcdic];
const runs = { numRuns: 150, seed: randomInt(2 ** 31) } as const;

const characters = (text: string) => fc.constantFrom(...text);
const printable = Array.from({ length: 95 }, (_, index) => String.fromCharCode(index + 0x20));
const units: Record<string, fc.Arbitrary<string>> = {
  n: characters('0123456789'),
  an: characters('ABCxyz019 '),
  ans: fc.constantFrom(...printable, '\u00e9', '\u00df'),
  z: characters('0123456789='),
  b: characters('0123456789ABCDEF'),
};

function fieldValue(format: FieldFormat): fc.Arbitrary<string> {
  const binary = format.content === 'b' || format.content === 'tlv';
  const min = format.size === 'fixed' ? format.max : 0;
  const max = format.size === 'fixed' ? format.max : Math.min(format.max, 60);
  const text = (unit: string, from: number, to: number) =>
    fc.string({ unit: units[unit] as fc.Arbitrary<string>, minLength: from, maxLength: to });
  if (format.content === 'x+n') {
    return fc.tuple(characters('CD0'), text('n', min - 1, max - 1)).map(([a, b]) => a + b);
  }
  if (!binary) return text(format.content, min, max);
  return fc
    .uint8Array({ minLength: min, maxLength: max })
    .map((bytes) => Buffer.from(bytes).toString('hex').toUpperCase());
}

function messages(table: DialectTable): fc.Arbitrary<Message> {
  const values: Record<string, fc.Arbitrary<string>> = {};
  for (const [field, format] of Object.entries(table.fields)) values[field] = fieldValue(format);
  const mti = fc.string({ unit: units['n'] as fc.Arbitrary<string>, minLength: 4, maxLength: 4 });
  return fc.subarray(Object.keys(values), { maxLength: 40 }).chain((present) => {
    const entries = present.map((field) => [field, values[field] as fc.Arbitrary<string>] as const);
    const fields = fc.record(Object.fromEntries(entries), { noNullPrototype: true });
    return fc.record({ mti, fields }, { noNullPrototype: true });
  }) as fc.Arbitrary<Message>;
}

function decodesOrRefuses(decode: (bytes: Buffer) => Message, bytes: Buffer): void {
  try {
    decode(bytes);
  } catch (error) {
    assert.ok(error instanceof Iso8583Error, `seed ${runs.seed}: ${String(error)}`);
  }
}

describe(`random messages, seed ${runs.seed}`, () => {
  for (const table of tables) {
    const dialect = compileDialect(table);

    it(`${table.name}: a written message is read back unchanged`, () => {
      fc.assert(
        fc.property(messages(table), (message) => {
          assert.deepEqual(dialect.decode(dialect.encode(message)), message);
        }),
        runs,
      );
    });

    it(`${table.name}: no truncation passes`, () => {
      fc.assert(
        fc.property(messages(table), fc.double({ min: 0, max: 1, noNaN: true }), (message, cut) => {
          const bytes = dialect.encode(message);
          const shorter = bytes.subarray(0, Math.min(bytes.length - 1, cut * bytes.length));
          assert.throws(
            () => dialect.decode(shorter),
            (error) => error instanceof Iso8583Error && error.code === 'message_truncated',
          );
        }),
        runs,
      );
    });

    it(`${table.name}: mutations and noise are read or refused`, () => {
      const change = fc.record({ at: fc.nat(), to: fc.nat(255) });
      fc.assert(
        fc.property(messages(table), fc.array(change, { minLength: 1 }), (message, changes) => {
          const bytes = dialect.encode(message);
          for (const { at, to } of changes) bytes[at % bytes.length] = to;
          decodesOrRefuses(dialect.decode, bytes);
        }),
        runs,
      );
      fc.assert(
        fc.property(fc.uint8Array({ maxLength: 400 }), (noise) => {
          decodesOrRefuses(dialect.decode, Buffer.from(noise));
        }),
        runs,
      );
    });
  }
});
