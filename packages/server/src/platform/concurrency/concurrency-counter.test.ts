import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createConcurrencyCounter } from './concurrency-counter.ts';

describe('counts of running work', () => {
  it('limit each key and all keys, and count an end once', () => {
    const running = createConcurrencyCounter({ perKey: 2, total: 3 });
    const begin = (key: string) => {
      const end = running.tryBegin(key);
      assert.ok(typeof end === 'function', String(end));
      return end;
    };
    const first = begin('a');
    begin('a');
    assert.equal(running.tryBegin('a'), 'KeyLimit');
    const third = begin('b');
    assert.equal(running.tryBegin('b'), 'TotalLimit');
    first();
    first();
    assert.equal(running.total(), 2);
    begin('b');
    assert.equal(running.tryBegin('a'), 'TotalLimit');
    third();
    begin('a');
    assert.equal(running.total(), 3);
    assert.deepEqual([running.count('a'), running.count('b'), running.count('c')], [2, 1, 0]);
    assert.deepEqual(running.keysWith(2), ['a']);
  });
});
