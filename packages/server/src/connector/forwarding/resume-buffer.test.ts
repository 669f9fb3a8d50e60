import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type BufferedMessage, createBufferBudget, createResumeBuffer } from './resume-buffer.ts';

const message = (length: number): BufferedMessage => ({
  data: Buffer.alloc(length),
  isBinary: true,
});

describe('the resume buffer of a disconnected point of sale', () => {
  it('is little in messages and in bytes', () => {
    const buffer = createResumeBuffer(createBufferBudget());
    for (let n = 0; n < 32; n += 1) assert.ok(buffer.add(message(1)));
    assert.equal(buffer.add(message(1)), false);
    assert.equal(buffer.takeAll().length, 32);
    assert.ok(buffer.add(message(256 * 1024)));
    assert.equal(buffer.add(message(1)), false);
  });

  it('shares a total number of bytes with other buffers, and reading it frees its bytes', () => {
    const budget = createBufferBudget(100);
    const [one, other] = [createResumeBuffer(budget), createResumeBuffer(budget)];
    assert.ok(one.add(message(60)));
    assert.equal(other.add(message(60)), false);
    assert.ok(other.add(message(40)));
    assert.equal(budget.freeBytes, 0);
    assert.equal(one.takeAll().length, 1);
    assert.ok(other.add(message(60)));
    for (const buffer of [one, other]) buffer.takeAll();
    assert.equal(budget.freeBytes, 100);
  });
});
