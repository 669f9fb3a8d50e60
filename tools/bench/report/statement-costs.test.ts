import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statementNameOf } from './statement-costs.ts';

test('a statement is named by the table that it uses', () => {
  const text = `WITH r AS (SELECT * FROM jsonb_to_recordset($1)), tx AS (
    INSERT INTO sales (a) SELECT a FROM r), ev AS (INSERT INTO events SELECT a FROM r)
    SELECT id FROM tx`;
  assert.equal(statementNameOf(text), 'INSERT INTO sales, INSERT INTO events, FROM tx');
  assert.equal(statementNameOf('BEGIN'), 'BEGIN');
});
