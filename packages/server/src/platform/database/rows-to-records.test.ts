// Tests that rows become records: names in camelCase, times in milliseconds, no NULLs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testDatabase } from '../../../test/support/database/test-database.ts';
import { toRecords } from './rows-to-records.ts';

test('a record has the names of the code, no NULLs, and times in epoch milliseconds', async () => {
  const database = await testDatabase();
  const rows = await database.query(`SELECT 1 AS operation_count, NULL AS merchant_id,
      timestamptz '2026-01-02T03:04:05.678Z' AS created_at, timestamptz 'infinity' AS ends_at,
      '{"some_name": null}'::jsonb AS facts, '\\x01'::bytea AS secret_hash
    UNION ALL SELECT 2, 'm', NULL, NULL, NULL, NULL`);
  assert.deepEqual(toRecords(rows), [
    {
      operationCount: 1,
      createdAt: Date.parse('2026-01-02T03:04:05.678Z'),
      endsAt: Number.POSITIVE_INFINITY,
      facts: { some_name: null },
      secretHash: Buffer.from([1]),
    },
    { operationCount: 2, merchantId: 'm' },
  ]);
  assert.deepEqual(toRecords([]), []);
});
