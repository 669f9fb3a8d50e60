import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testDatabase } from '../../../../test/support/database/test-database.ts';
import { encodeLines, encodeSimpleArray, encodeTextArray } from './array-encoding.ts';

test('simple arrays are read as they were written', async () => {
  const database = await testDatabase();
  const ids = ['019823f0-5d2c-7a31-9a53-0c6f1f2e9b11', null];
  const [row] = await database.query(
    'SELECT $1::uuid[] AS ids, $2::integer[] AS numbers, $3::text[] AS words, $4::text[] AS none',
    [
      encodeSimpleArray(ids),
      encodeSimpleArray([1, 2_147_483_647, -3]),
      encodeSimpleArray(['a.b_c']),
      encodeSimpleArray([]),
    ],
  );
  assert.deepEqual(row, {
    ids,
    numbers: [1, 2_147_483_647, -3],
    words: ['a.b_c'],
    none: [],
  });
});

test('a simple array refuses an element that needs quotes', () => {
  for (const text of ['a,b', '{', '}', 'a"b', 'a\\b', 'a b', '', 'NULL', 'null', 'a\nb']) {
    assert.throws(() => encodeSimpleArray(['good', text]), RangeError, text);
  }
});

test('lines are read as they were written', async () => {
  const database = await testDatabase();
  const texts = ['{"a":"\\n \\" \\\\ {}"}', '', 'é漢字 ,\t', 'NULL'];
  const [row] = await database.query(`SELECT string_to_array($1, E'\\n') AS texts`, [
    encodeLines(texts),
  ]);
  assert.deepEqual(row, { texts });
  assert.throws(() => encodeLines(['a\nb']), RangeError);
  assert.throws(() => encodeLines([]), RangeError);
});

test('texts of any form are read as they were written', async () => {
  const database = await testDatabase();
  const texts = [
    'a',
    '',
    ' a ',
    'NULL',
    'null',
    'a,b',
    '{}',
    '"',
    '\\',
    'a\\"b',
    '\n',
    'é漢\u00a0字',
    null,
  ];
  const [row] = await database.query('SELECT $1::text[] AS texts, $2::text[] AS none', [
    encodeTextArray([...texts, undefined]),
    encodeTextArray([]),
  ]);
  assert.deepEqual(row, { texts: [...texts, null], none: [] });
});
