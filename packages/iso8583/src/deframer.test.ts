// Frames come out whole, however the stream is cut, and never above the limit.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createDeframer, encodeFrame, type FrameFormat, Iso8583Error } from './index.ts';

const formats: FrameFormat[] = (['binary2', 'bcd2', 'ascii4', 'vml4'] as const).flatMap(
  (length) => [
    { length },
    { length, inclusive: true },
    { length, tpduBytes: 5 },
    { length, inclusive: true, tpduBytes: 5 },
  ],
);
const limits = { maxBytes: 1000 };
const runs = { numRuns: 100, seed: randomInt(2 ** 31) } as const;

function refusal(code: string) {
  return { name: 'Iso8583Error', code };
}

describe(`frames, seed ${runs.seed}`, () => {
  for (const format of formats) {
    it(`${JSON.stringify(format)} survive any cutting`, () => {
      const payloads = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 6 });
      const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 });
      fc.assert(
        fc.property(payloads, cuts, (bodies, sizes) => {
          const tpdu = Buffer.alloc(format.tpduBytes ?? 0, 0x60);
          const stream = Buffer.concat(
            bodies.map((body) => encodeFrame(format, Buffer.from(body), { tpdu })),
          );
          const deframer = createDeframer(format, limits);
          const receivedPayloads: Buffer[] = [];
          for (let at = 0, step = 0; at < stream.length; step++) {
            const size = sizes[step % sizes.length] as number;
            for (const frame of deframer.push(Buffer.from(stream.subarray(at, at + size)))) {
              assert.deepEqual(frame.tpdu, tpdu);
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
        fc.constantFrom(...formats),
        fc.array(fc.uint8Array({ maxLength: 60 })),
        (format, chunks) => {
          const deframer = createDeframer(format, limits);
          try {
            for (const chunk of chunks) deframer.push(Buffer.from(chunk));
          } catch (error) {
            assert.ok(error instanceof Iso8583Error);
          }
          assert.ok(deframer.heldBytes() <= limits.maxBytes + 4);
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
    assert.throws(() => push({ length: 'binary2', tpduBytes: 5 }, Buffer.from([0, 4])), invalid);
    const withTpdu: FrameFormat = { length: 'binary2', tpduBytes: 5 };
    assert.throws(() => encodeFrame(withTpdu, Buffer.alloc(1)), invalid);
  });

  it('hands out empty frames: they are heartbeats', () => {
    const frames = createDeframer({ length: 'binary2' }, limits).push(Buffer.alloc(4));
    assert.deepEqual(
      frames.map((frame) => frame.payload.length),
      [0, 0],
    );
  });
});
