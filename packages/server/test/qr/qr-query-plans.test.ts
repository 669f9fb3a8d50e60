// The query plans of QR payments use whole index keys, so the size of an organisation does not
// matter.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Database } from '../../src/platform/index.ts';
import * as statements from '../../src/qr/repository/statements-sql.ts';
import { openScratchDatabase } from '../support/database/test-database.ts';

const tables = ['qr_transactions', 'qr_events', 'qr_operations'];
const accessForm = /Scan(?: Backward)?(?: using (\w+))? on (\w+)/;

/** The indexes of each statement; all other statements use the primary key. */
const others: Readonly<Record<string, readonly string[]>> = {
  'qr-find': ['qr_transactions_pkey', 'qr_transactions_client', 'qr_operations_pkey'],
  'qr-find-by-client-id': ['qr_transactions_client', 'qr_operations_pkey'],
  'qr-find-for-provider': ['qr_transactions_pkey', 'qr_operations_pkey', 'qr_events_provider'],
  'qr-find-operation': ['qr_operations_bucket_client_operation_id_merchant_id_kind_key'],
  'qr-claim': ['qr_transactions_due', 'qr_transactions_pkey'],
  'qr-due': ['qr_transactions_due'],
  'qr-list-held': ['qr_transactions_held', 'qr_operations_pkey'],
  'qr-list-any': ['qr_transactions_organization', 'qr_operations_pkey'],
  'qr-list-any-merchant': ['qr_transactions_merchant', 'qr_operations_pkey'],
};
const plain = new Set(tables.map((table) => `${table}_pkey`));

describe('the plans of QR payments', () => {
  let scratch: Database;
  let drop: () => Promise<void>;

  before(async () => {
    ({ scratch, drop } = await openScratchDatabase());
  });

  after(() => drop());

  const all = () => [
    ...Object.values(statements).filter((each) => typeof each === 'object'),
    statements.listPayments('held', false),
    statements.listPayments('any', true),
    statements.listPayments('any', false),
  ];

  async function assertPlans(): Promise<void> {
    for (const { name, text } of all()) {
      const lines = await scratch.explain(text);
      const plan = `${name}:\n${lines.join('\n')}`;
      assert.doesNotMatch(plan, /Hash Join|Merge Join|Bitmap/);
      for (const line of lines) {
        const [, index = '', table = ''] = accessForm.exec(line) ?? [];
        if (!tables.includes(table)) continue;
        const expectedIndexes = others[name];
        const isRight =
          expectedIndexes === undefined ? plain.has(index) : expectedIndexes.includes(index);
        assert.ok(isRight, `${index || 'no index'} in ${plan}`);
      }
    }
  }

  test('name whole keys in tables that are empty', () => assertPlans());

  test('name whole keys in full tables', async () => {
    await scratch.query(
      `INSERT INTO qr_transactions SELECT n % 1024, '0198c0de-0000-7000-8000-000000000001',
         gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), n::text,
         gen_random_uuid(), gen_random_uuid(), NULL, 'Completed', 'Completed', 100, 'EUR', 100, 0,
         0, NULL, NULL, 0, 0, 1, 0, 0, now(), NULL, '{}', now(), now()
       FROM generate_series(1, 20000) n`,
    );
    await scratch.query(
      `INSERT INTO qr_events SELECT bucket, organization_id, transaction_id, n, 'qr.noted', now(), '{}', NULL
       FROM qr_transactions, generate_series(1, 3) n`,
    );
    await scratch.query('ANALYZE qr_transactions, qr_events');
    await assertPlans();
  });
});
