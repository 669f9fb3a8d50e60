import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readStatementName, withStatementName } from './statement-name.ts';

test('a text tells the name that it was given, and another text has none', () => {
  assert.equal(readStatementName(withStatementName('report-lines', 'SELECT 1')), 'report-lines');
  assert.equal(readStatementName('SELECT 1'), undefined);
  assert.equal(readStatementName('SELECT 1 /* prepared report-lines */ '), undefined);
});

test('what would be cut off, or end the comment, is no name', () => {
  for (const name of ['', 'a'.repeat(64), 'Report', 'a */ DROP', 'a b', '1a']) {
    assert.throws(() => withStatementName(name, 'SELECT 1'), RangeError, name);
  }
});
