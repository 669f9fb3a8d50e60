// Every published message: decoded to its published fields, written again byte for byte.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import {
  compileDialect,
  createDeframer,
  type DialectTable,
  encodeFrame,
  type FrameFormat,
  fieldsOfBitmap,
  Iso8583Error,
  iso1987Ascii,
  iso1987Binary,
  iso1987BinaryEmv,
  iso1993Ascii,
} from './index.ts';

type MessageVector = {
  id: string;
  dialect: string;
  packedHex: string;
  bitmapHex?: string;
  fields: Record<string, string>;
};
type Vectors = {
  vectors: MessageVector[];
  computed: MessageVector[];
  frames: { id: string; header: string; length: number; hex: string }[];
  bitmaps: { id: string; hex: string; fields: number[] }[];
  negative: { id: string; dialect: string; packedHex: string }[];
};

const file = new URL('../vectors/iso8583.json', import.meta.url);
const { vectors, computed, frames, bitmaps, negative } = JSON.parse(
  readFileSync(file, 'utf8'),
) as Vectors;

function tableOf(dialect: string): DialectTable {
  if (dialect.startsWith('ISO8583:1993 ASCII')) return iso1993Ascii;
  if (dialect.startsWith('ISO8583:1987 ASCII')) return iso1987Ascii;
  assert.ok(dialect.startsWith('ISO8583:1987 binary'), dialect);
  return dialect.includes('DE55 binary') ? iso1987BinaryEmv : iso1987Binary;
}

describe('published messages', () => {
  it('are all here', () => {
    assert.equal(vectors.length, 9);
    assert.equal(computed.length, 4);
    assert.equal(frames.length, 5);
    assert.equal(bitmaps.length, 1);
    assert.equal(negative.length, 1);
  });

  for (const vector of [...vectors, ...computed]) {
    it(`${vector.id} decodes and encodes`, () => {
      const dialect = compileDialect(tableOf(vector.dialect));
      const bytes = Buffer.from(vector.packedHex, 'hex');
      const { 0: mti, ...fields } = vector.fields;
      const message = dialect.decode(bytes);
      assert.equal(message.mti, mti);
      assert.deepEqual(message.fields, fields);
      assert.equal(dialect.encode(message).toString('hex').toUpperCase(), vector.packedHex);
      if (vector.bitmapHex === undefined) return;
      // Some sources print the sixteen bytes of a message that has only eight.
      const bitmapFields = fieldsOfBitmap(vector.bitmapHex.padEnd(32, '0'));
      assert.deepEqual(bitmapFields, Object.keys(fields).map(Number));
    });
  }

  for (const vector of negative) {
    it(`${vector.id} is refused by field and offset`, () => {
      const dialect = compileDialect(tableOf(vector.dialect));
      assert.throws(
        () => dialect.decode(Buffer.from(vector.packedHex, 'hex')),
        (error) =>
          error instanceof Iso8583Error &&
          error.code === 'message_truncated' &&
          error.field === 55 &&
          error.offset === 185,
      );
    });
  }

  for (const vector of bitmaps) {
    it(`${vector.id} names its fields`, () => {
      assert.deepEqual(fieldsOfBitmap(vector.hex), vector.fields);
    });
  }
});

const frameFormats: Record<string, { format: FrameFormat; sessionControl?: boolean }> = {
  '2-byte binary big-endian': { format: { length: 'binary2' } },
  '2-byte BCD': { format: { length: 'bcd2' } },
  '4 ASCII digits': { format: { length: 'ascii4' } },
  '4-byte VML (2 length + 2 indicator)': { format: { length: 'vml4' } },
  'VML session-control flag': { format: { length: 'vml4' }, sessionControl: true },
};

describe('published frame headers', () => {
  for (const vector of frames) {
    it(`${vector.id} ${vector.header}`, () => {
      const frameFormat = frameFormats[vector.header];
      assert.ok(frameFormat);
      const { format, sessionControl = false } = frameFormat;
      const payload = Buffer.alloc(vector.length, 0x5a);
      const bytes = encodeFrame(format, payload, { sessionControl });
      const header = bytes.subarray(0, bytes.length - vector.length);
      assert.equal(header.toString('hex').toUpperCase(), vector.hex);
      const [frame] = createDeframer(format, { maxBytes: vector.length }).push(bytes);
      assert.deepEqual(frame, { payload, header: Buffer.alloc(0), sessionControl });
    });
  }
});
