import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { depthMax, messageBytesMax, valuesMax } from '../limits.ts';
import { JsonError, parseBounded } from './parse-bounded-json.ts';

const refuses = (problem: RegExp, pointer?: string) => (error: unknown) =>
  error instanceof JsonError &&
  problem.test(error.message) &&
  (pointer === undefined || error.pointer === pointer);

test('a text that JSON.parse accepts gives the same value', () => {
  fc.assert(
    fc.property(fc.json({ noUnicodeString: false }), fc.constantFrom(0, 1, 3), (text, indent) => {
      const value: unknown = JSON.parse(text);
      if (text.includes('"__proto__"')) return;
      const written = JSON.stringify(value, null, indent);
      if (!written.isWellFormed() || /\\ud[89a-f]/i.test(written)) return;
      assert.deepEqual(parseBounded(written).value, value);
      assert.deepEqual(parseBounded(Buffer.from(written)).value, value);
    }),
    { numRuns: 150 },
  );
});

test('a text that JSON.parse rejects is rejected', () => {
  const mutated = fc
    .tuple(fc.json(), fc.nat(), fc.constantFrom('"', '{', ',', '\\', '0', '', '\u0000', '}', 'e'))
    .map(([text, at, mark]) => {
      const index = at % (text.length + 1);
      return text.slice(0, index) + mark + text.slice(index + 1);
    });
  fc.assert(
    fc.property(mutated, (text) => {
      let valid = true;
      try {
        JSON.parse(text);
      } catch {
        valid = false;
      }
      if (valid) return;
      assert.throws(() => parseBounded(text), JsonError);
    }),
    { numRuns: 300 },
  );
  for (const text of [
    '',
    ' ',
    '{',
    '[1,]',
    '{"a":1,}',
    '01',
    '1.',
    '"\n"',
    '"\\x"',
    'nul',
    '1 2',
  ]) {
    assert.throws(() => parseBounded(text), JsonError, text);
  }
});

test('the parser enforces limits of size, depth and number of values, and accepts values at the limit', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
  assert.ok(parseBounded(nested(depthMax)));
  assert.throws(() => parseBounded(nested(depthMax + 1)), refuses(/deeper/));
  assert.throws(() => parseBounded('['.repeat(messageBytesMax)), refuses(/deeper/));
  const list = (items: number) => `[${'0,'.repeat(items - 1)}0]`;
  assert.ok(parseBounded(list(valuesMax - 1)));
  assert.throws(() => parseBounded(list(valuesMax)), refuses(/values/));
  assert.ok(parseBounded(`"${'a'.repeat(messageBytesMax - 2)}"`));
  assert.throws(() => parseBounded(`"${'a'.repeat(messageBytesMax - 1)}"`), refuses(/larger/));
  assert.throws(() => parseBounded(`"${'é'.repeat(messageBytesMax / 2)}"`), refuses(/larger/));
  assert.ok(parseBounded(`"${'\\n'.repeat(messageBytesMax / 2 - 1)}"`));
  assert.throws(
    () => parseBounded(`"${'\\n'.repeat(messageBytesMax / 2 - 1)}`),
    refuses(/not JSON/),
  );
});

test('ambiguous JSON that JSON.parse accepts is rejected', () => {
  assert.throws(() => parseBounded('{"a":{"b":1,"b":2}}'), refuses(/twice/, '/a/b'));
  assert.throws(() => parseBounded('{"a":1,"\\u0061":2}'), refuses(/twice/, '/a'));
  assert.throws(() => parseBounded('[{"__proto__":{}}]'), refuses(/name/, '/0/__proto__'));
  assert.throws(() => parseBounded('"\\ud800"'), refuses(/half/));
  assert.throws(() => parseBounded('"\ud800"'), refuses(/half/));
  assert.throws(() => parseBounded(Buffer.from([0x22, 0xff, 0x22])), refuses(/UTF-8/));
  assert.throws(() => parseBounded(Buffer.from('\ufeff{}')), refuses(/not JSON/));
  assert.throws(() => parseBounded('1e999'), refuses(/number/));
  assert.equal(parseBounded('"\\ud83d\\ude42"').value, '🙂');
});

test('inherited names are members like others', () => {
  const { value } = parseBounded('{"constructor":1,"toString":{"a/b~c":[1]},"":2}');
  assert.deepEqual(value, { constructor: 1, toString: { 'a/b~c': [1] }, '': 2 });
});

test('numbers of more digits than a double holds are reported with their position', () => {
  const text = '{"a/b":[12345678901234567,0.1,123456789012345],"c":0.1000000000000000055,"d":1e3}';
  assert.deepEqual([...parseBounded(text).inexact], ['/a~1b/0', '/c']);
});
