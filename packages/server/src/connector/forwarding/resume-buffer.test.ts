import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createHeld, createHeldRoom, type HeldMessage } from './resume-buffer.ts';

const message = (length: number): HeldMessage => ({ data: Buffer.alloc(length), isBinary: true });

describe('what is kept for a point of sale that is away', () => {
  it('is little in messages and in bytes', () => {
    const held = createHeld(createHeldRoom());
    for (let n = 0; n < 32; n += 1) assert.ok(held.keep(message(1)));
    assert.equal(held.keep(message(1)), false);
    assert.equal(held.take().length, 32);
    assert.ok(held.keep(message(256 * 1024)));
    assert.equal(held.keep(message(1)), false);
  });

  it('is not much for all together, and what is taken makes room', () => {
    const room = createHeldRoom(100);
    const [one, other] = [createHeld(room), createHeld(room)];
    assert.ok(one.keep(message(60)));
    assert.equal(other.keep(message(60)), false);
    assert.ok(other.keep(message(40)));
    assert.equal(room.free, 0);
    assert.equal(one.take().length, 1);
    assert.ok(other.keep(message(60)));
    for (const held of [one, other]) held.take();
    assert.equal(room.free, 100);
  });
});
