import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readStatementName, withStatementName } from './statement-name.ts';

test('a named SQL text contains its statement name, and other texts contain no name', () => {
  assert.equal(readStatementName(withStatementName('report-lines', 'SELECT 1')), 'report-lines');
  assert.equal(readStatementName('SELECT 1'), undefined);
  assert.equal(readStatementName('SELECT 1 /* prepared report-lines */ '), undefined);
});

test('a name that PostgreSQL would truncate or that ends the comment is refused', () => {
  for (const name of ['', 'a'.repeat(64), 'Report', 'a */ DROP', 'a b', '1a']) {
    assert.throws(() => withStatementName(name, 'SELECT 1'), RangeError, name);
  }
});
