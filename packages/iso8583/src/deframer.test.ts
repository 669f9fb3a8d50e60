// Frames come out whole, however the stream is cut, and never above the limit.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { lengthForms } from './frame.ts';
import { createDeframer, encodeFrame, type FrameFormat, Iso8583Error } from './index.ts';

const formats: FrameFormat[] = lengthForms
  .filter((length) => length !== 'none')
  .flatMap((length): FrameFormat[] => [
    { length },
    { length, inclusive: true },
    { length, headerBytes: 5 },
    { length, inclusive: true, headerBytes: 12, beforeLength: '0000', afterLength: 'A1B2' },
    { length, end: 'ETX' },
    { length, headerBytes: 5, start: 'STX', end: 'ETX', lrc: true },
  ]);
const delimitedFormats: FrameFormat[] = [
  { length: 'none', end: 'ETX' },
  { length: 'none', start: 'STX', end: 'ETX' },
  { length: 'none', headerBytes: 5, start: 'STX', end: 'ETX', lrc: true },
];
const limits = { maxBytes: 1000 };
const runs = { numRuns: 100, seed: randomInt(2 ** 31) } as const;

function refusal(code: string) {
  return { name: 'Iso8583Error', code };
}

describe(`frames, seed ${runs.seed}`, () => {
  for (const format of [...formats, ...delimitedFormats]) {
    it(`${JSON.stringify(format)} survive any cutting`, () => {
      // Two digits count up to 99 bytes, with header and delimiters.
      const maxLength = /2$/.test(format.length) ? 70 : 300;
      // The end of a frame without a length is the first ETX.
      const min = format.length === 'none' ? 4 : 0;
      const payloads = fc.array(fc.array(fc.integer({ min, max: 255 }), { maxLength }), {
        maxLength: 6,
      });
      const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 });
      fc.assert(
        fc.property(payloads, cuts, (bodies, sizes) => {
          const header = Buffer.alloc(format.headerBytes ?? 0, 0x60);
          const stream = Buffer.concat(
            bodies.map((body) => encodeFrame(format, Buffer.from(body), { header })),
          );
          const deframer = createDeframer(format, limits);
          const receivedPayloads: Buffer[] = [];
          for (let at = 0, step = 0; at < stream.length; step++) {
            const size = sizes[step % sizes.length] as number;
            for (const frame of deframer.push(Buffer.from(stream.subarray(at, at + size)))) {
              if (frame.payload.length > 0) assert.deepEqual(frame.header, header);
              receivedPayloads.push(frame.payload);
            }
            at += size;
          }
          assert.deepEqual(
            receivedPayloads,
            bodies.map((body) => Buffer.from(body)),
          );
          assert.equal(deframer.heldBytes(), 0);
        }),
        runs,
      );
    });
  }

  it('noise is framed or refused', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...formats, ...delimitedFormats),
        fc.array(fc.uint8Array({ maxLength: 60 })),
        (format, chunks) => {
          const deframer = createDeframer(format, limits);
          try {
            for (const chunk of chunks) deframer.push(Buffer.from(chunk));
          } catch (error) {
            assert.ok(error instanceof Iso8583Error);
          }
          assert.ok(deframer.heldBytes() <= limits.maxBytes + 10);
        },
      ),
      runs,
    );
  });

  it('refuses a frame over the size limit before its content arrives', () => {
    const deframer = createDeframer({ length: 'binary2' }, { maxBytes: 100 });
    assert.throws(() => deframer.push(Buffer.from([0, 101])), refusal('frame_too_large'));
    const slow = createDeframer({ length: 'binary2' }, { maxBytes: 100 });
    slow.push(Buffer.from([0]));
    assert.throws(() => slow.push(Buffer.from([101])), refusal('frame_too_large'));
    const large = Buffer.alloc(10_000);
    assert.throws(() => encodeFrame({ length: 'bcd2' }, large), refusal('frame_too_large'));
    assert.throws(
      () => encodeFrame({ length: 'binary2', inclusive: true }, Buffer.alloc(0xffff)),
      refusal('frame_too_large'),
    );
  });

  it('refuses headers that are no length', () => {
    const push = (format: FrameFormat, header: Buffer) =>
      createDeframer(format, limits).push(header);
    const invalid = refusal('frame_length_invalid');
    assert.throws(() => push({ length: 'ascii4' }, Buffer.from('01x5')), invalid);
    assert.throws(() => push({ length: 'bcd2' }, Buffer.from([0x01, 0xf5])), invalid);
    assert.throws(() => push({ length: 'binary2', inclusive: true }, Buffer.from([0, 1])), invalid);
    assert.throws(() => push({ length: 'binary2', headerBytes: 5 }, Buffer.from([0, 4])), invalid);
    const withTpdu: FrameFormat = { length: 'binary2', headerBytes: 5 };
    assert.throws(() => encodeFrame(withTpdu, Buffer.alloc(1)), invalid);
    assert.throws(() => push({ length: 'hex4' }, Buffer.from('00G1')), invalid);
    assert.throws(() => push({ length: 'ebcdic2' }, Buffer.from('01')), invalid);
    const gicc: FrameFormat = { length: 'binary2', beforeLength: '0000' };
    assert.throws(() => push(gicc, Buffer.from([0, 1, 0, 4])), invalid);
    const withoutStx: FrameFormat = { length: 'none', start: 'STX', end: 'ETX' };
    assert.throws(() => push(withoutStx, Buffer.from('0200')), invalid);
    assert.throws(
      () => push({ length: 'binary2', end: 'ETX' }, Buffer.from([0, 2, 0, 0])),
      invalid,
    );
  });

  it('writes each framing as its hosts do', () => {
    const [message, header] = [Buffer.from('0800'), Buffer.from('6000010002', 'hex')];
    const written = (format: FrameFormat, extra = {}) =>
      encodeFrame(format, message, extra).toString('latin1');
    assert.equal(written({ length: 'binary3' }), '\0\0\x040800');
    assert.equal(written({ length: 'binary4' }), '\0\0\0\x040800');
    assert.equal(written({ length: 'binary4le' }), '\x04\0\0\x000800');
    assert.equal(written({ length: 'binary2le', inclusive: true }), '\x06\x000800');
    assert.equal(written({ length: 'ascii6' }), '0000040800');
    assert.equal(
      written({ length: 'hex4', headerBytes: 12 }, { header: Buffer.from('ISO026000050') }),
      '0010ISO0260000500800',
    );
    assert.equal(written({ length: 'ebcdic3' }), '\xf0\xf0\xf40800');
    assert.equal(written({ length: 'binary2', afterLength: '0000' }), '\0\x04\0\x000800');
    assert.equal(written({ length: 'binary2', beforeLength: '0000' }), '\0\0\0\x040800');
    assert.equal(
      written({ length: 'binary2', headerBytes: 5 }, { header }),
      '\0\x09`\0\x01\0\x020800',
    );
    // BASE24 over TCP counts the trailer.
    assert.equal(written({ length: 'binary2', end: 'ETX' }), '\0\x050800\x03');
    assert.equal(
      written({ length: 'none', start: 'STX', end: 'ETX', lrc: true }),
      '\x020800\x03\x0b',
    );
  });

  it('refuses a wrong check byte, and a frame without an end', () => {
    const format: FrameFormat = { length: 'none', start: 'STX', end: 'ETX', lrc: true };
    const bytes = encodeFrame(format, Buffer.from('0800'));
    bytes.set([0], bytes.length - 1);
    assert.throws(() => createDeframer(format, limits).push(bytes), refusal('frame_check_invalid'));
    const deframer = createDeframer(format, { maxBytes: 100 });
    deframer.push(Buffer.from('\x020800'));
    assert.throws(() => deframer.push(Buffer.alloc(100, 0x30)), refusal('frame_too_large'));
    assert.ok(deframer.heldBytes() <= 100);
  });

  it('hands out empty frames: they are heartbeats, also with a header and with an inclusive length', () => {
    for (const format of formats) {
      const empty = encodeFrame(format, Buffer.alloc(0));
      const frames = createDeframer(format, limits).push(Buffer.concat([empty, empty]));
      assert.deepEqual(
        frames.map(({ payload, header }) => payload.length + header.length),
        [0, 0],
        JSON.stringify(format),
      );
    }
    const inclusive = createDeframer({ length: 'binary2', inclusive: true }, limits);
    assert.equal(inclusive.push(Buffer.from([0, 2]))[0]?.payload.length, 0);
  });
});
