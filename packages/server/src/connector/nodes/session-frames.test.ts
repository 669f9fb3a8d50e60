// Tests that a node reads each frame as another node wrote it, and rejects all other bytes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Frame,
  readCount,
  readFrame,
  splitMessage,
  writeCount,
  writeFrame,
} from './session-frames.ts';

test('each kind of frame is read as it was written', () => {
  for (const kind of ['text', 'binary', 'taken', 'close', 'open'] as const) {
    for (const hasMore of [false, true]) {
      for (const sequence of [0, 1, 2 ** 31, 2 ** 32 - 1]) {
        const frame: Frame = { kind, sequence, hasMore, body: Buffer.from('body') };
        assert.deepEqual(readFrame(writeFrame(frame)), frame);
      }
    }
  }
});

test('the count of frames goes round after the last number', () => {
  const bytes = writeFrame({ kind: 'open', sequence: 2 ** 32, hasMore: false, body: Buffer.of() });
  assert.equal(readFrame(bytes)?.sequence, 0);
});

test('readFrame returns undefined for a frame that is too short or of an unknown kind', () => {
  const good = writeFrame({ kind: 'text', sequence: 7, hasMore: false, body: Buffer.from('x') });
  for (let length = 0; length < 5; length += 1) {
    assert.equal(readFrame(good.subarray(0, length)), undefined);
  }
  for (const kind of [5, 6, 0x7f, 0x85, 0xff]) {
    const bytes = Buffer.from(good);
    bytes[0] = kind;
    assert.equal(readFrame(bytes), undefined, `kind ${kind}`);
  }
  assert.deepEqual(readFrame(good.subarray(0, 5))?.body, Buffer.of());
});

test('a frame in the middle of other memory is read where it lies', () => {
  const frame = writeFrame({
    kind: 'binary',
    sequence: 3,
    hasMore: true,
    body: Buffer.from('abc'),
  });
  const around = new Uint8Array(frame.length + 20).fill(0xee);
  around.set(frame, 7);
  const read = readFrame(around.subarray(7, 7 + frame.length));
  assert.equal(read?.body.toString(), 'abc');
});

test('splitMessage cuts a message into parts of at most 256 KiB without data loss', () => {
  const part = 256 * 1024;
  for (const size of [0, 1, part - 1, part, part + 1, 4 * part, 4 * part + 5]) {
    const data = Buffer.alloc(size, size % 251);
    const parts = splitMessage(data);
    assert.equal(parts.length, Math.max(1, Math.ceil(size / part)));
    assert.ok(parts.every(({ length }) => length <= part));
    assert.ok(Buffer.concat(parts).equals(data));
  }
});

test('a byte count is exact up to 2^47, and an invalid count is read as 0', () => {
  for (const count of [0, 1, 2 ** 32, 2 ** 47]) assert.equal(readCount(writeCount(count)), count);
  assert.equal(readCount(Buffer.from('short')), 0);
});
