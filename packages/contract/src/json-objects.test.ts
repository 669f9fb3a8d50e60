import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isObject, parseJsonObject } from './json-objects.ts';

test('only a JSON object is an object', () => {
  for (const value of [{}, { amount: 1 }]) assert.ok(isObject(value));
  for (const value of [null, undefined, [], [{}], 'text', 1, true]) assert.ok(!isObject(value));
});

test('a JSON object is read, and every other text is undefined', () => {
  assert.deepEqual(parseJsonObject('{"amount":1250}'), { amount: 1250 });
  for (const text of ['[1250]', 'null', '1', '"text"', '{', '']) {
    assert.equal(parseJsonObject(text), undefined, text);
  }
});
