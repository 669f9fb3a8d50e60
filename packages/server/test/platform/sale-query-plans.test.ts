// The query plans of the hot statements use whole index keys, in small and in large tables.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { defined } from '@switchyard/contract';
import { listTransactionIdsText } from '../../src/payments/reporting-queries.ts';
import type { Database } from '../../src/platform/index.ts';
import { sizeOfRun } from '../faults/fault-size.ts';
import { openScratchDatabase } from '../support/database/test-database.ts';
import { signAccessToken } from '../support/identity/signed-access-tokens.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';
import { until } from '../support/wait-for-result.ts';

const base = '/payment/v1/transactions';
/** The number of sales; with events, operations and cards there are three times as many rows. */
const fullSales = sizeOfRun({ small: 20_000, whole: 80_000, full: 80_000 });
const youngSales = 300;

/** One table access in the output of EXPLAIN. */
type Access = { how: string; index: string; table: string; condition: string };

/** Tables that grow with every sale, card or terminal. */
const growing = new Set([
  'transactions',
  'offline_sale_identifiers',
  'transaction_events',
  'operations',
  'vault_cards',
  'acquirer_terminals',
  'logical_devices',
  'stores',
  'merchants',
  'acquirer_contracts',
]);

/** The statements that rightly use only a part of the index key, with this part. */
const shorter: Readonly<Record<string, readonly string[]>> = {
  // All events and all operations of one transaction.
  transaction_events: ['bucket', 'transaction_id'],
  operations: ['bucket', 'transaction_id'],
  // A client identifier may occur once for each merchant.
  'payments-find-by-client-id transactions': ['bucket', 'client_transaction_id'],
  'payments-find-by-client-id offline_sale_identifiers': ['bucket', 'client_transaction_id'],
  // Overdue rows, oldest first, in an index that contains only unanswered rows.
  'payments-sales-without-outcome transactions': ['deadline'],
  'payments-operations-without-outcome operations': ['deadline'],
  // The oldest enabled contract of the merchant.
  'provisioning-resolve acquirer_contracts': ['organization_id', 'merchant_id'],
};

/** This statement runs once for each new terminal and reads all terminals of the contract. */
const rare = new Set(['acquiring-count-terminals']);

const accessForm =
  /^\W*((?:Parallel )?[A-Z][A-Za-z ]*Scan(?: Backward)?)(?: using (\w+))? on (\w+)/;

/** The table accesses of a plan, with their index conditions. */
function accessesOf(lines: readonly string[]): Access[] {
  return lines.flatMap((line, lineNumber) => {
    const [, how, index = '', table] = accessForm.exec(line) ?? [];
    if (how === undefined || table === undefined) return [];
    const next = lines[lineNumber + 1] ?? '';
    const condition = /^\W*Index Cond: (.*)$/.exec(next)?.[1] ?? '';
    return [{ how, index, table, condition }];
  });
}

describe('query plans of the hot statements', () => {
  let setup: TestOrganization;
  let scratch: Database;
  let drop: () => Promise<void>;

  before(async () => {
    setup = await createTestOrganization();
    ({ scratch, drop } = await openScratchDatabase());
    await useEverything();
  });

  after(() => drop());

  /**
   * Sends a sale of each kind with its operations, so that the platform uses all hot statements.
   */
  async function useEverything(): Promise<void> {
    const call = (method: string, path: string, body?: unknown) =>
      setup.client.call(method, base + path, {
        token: setup.merchant.token,
        ...defined({ body }),
      });
    const ofOrganization = await signAccessToken(setup, {
      um_scope: { entityType: 'tenant', entityId: setup.organizationId },
      permissions: ['pay.read'],
    });
    const first = await call('POST', '/process', keyedSale({ captureMode: 'Deferred' }));
    const { transactionId, clientTransactionId, card } = first.body;
    await call('GET', `/${transactionId}`);
    await call('GET', `/${clientTransactionId}`);
    const path = `${base}/${clientTransactionId}`;
    const transaction = await setup.client.call('GET', path, { token: ofOrganization });
    assert.equal(transaction.status, 200, transaction.text);
    await call('POST', `/${transactionId}/capture`, { amount: 5, clientOperationId: 'c-1' });
    await call('POST', `/${transactionId}/refund`, { amount: 1 });
    const again = keyedSale({ clientTransactionId, instrument: { token: card.token } });
    await call('POST', '/process', again);
    await call('POST', '/process', keyedSale({ deviceId: setup.merchant.deviceIds[0] }));
    await until(
      () => (setup.hotStatements.has('payments-sales-without-outcome') ? true : undefined),
      'a sweep',
    );
  }

  async function keysOf(index: string): Promise<string[]> {
    const rows = await scratch.query<{ column: string }>(
      `SELECT a.attname AS column FROM pg_index i
        JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
        WHERE i.indexrelid = $1::regclass
        ORDER BY array_position(i.indkey::int2[], a.attnum)`,
      [index],
    );
    return rows.map(({ column }) => column);
  }

  async function assertKeyed(name: string, text: string): Promise<number> {
    const lines = await scratch.explain(text);
    const message = `${name}:\n${lines.join('\n')}`;
    assert.doesNotMatch(message, /Hash Join|Merge Join|Bitmap/);
    let count = 0;
    for (const { how, index, table, condition } of accessesOf(lines)) {
      if (!growing.has(table)) continue;
      assert.match(how, /^Index (?:Only )?Scan$/, message);
      const keys = await keysOf(index);
      assert.ok(keys.length > 0, message);
      const keysInCondition = keys.filter((key) =>
        new RegExp(`(?:^|[ (.])${key} [=<]`).test(condition),
      );
      const least = shorter[`${name} ${table}`] ?? shorter[table];
      const isEnough =
        keysInCondition.length === keys.length || String(keysInCondition) === String(least);
      assert.ok(isEnough, `${index} is asked for ${keysInCondition} of ${keys}\n${message}`);
      count += 1;
    }
    return count;
  }

  async function assertAllKeyed(): Promise<void> {
    let accesses = 0;
    for (const [name, text] of setup.hotStatements) {
      if (!rare.has(name)) accesses += await assertKeyed(name, text);
    }
    assert.ok(accesses >= 15, `${accesses} accesses`);
  }

  test('the platform has executed the statements that matter', () => {
    for (const name of [
      'payments-insert-transaction',
      'payments-update-with-event',
      'payments-update-with-operation',
      'payments-find-transactions',
      'payments-find-by-client-id',
      'payments-find-operation',
      'payments-sales-without-outcome',
      'payments-operations-without-outcome',
      'vault-protect',
      'vault-reveal',
      'acquiring-reserve-stan-block',
      'provisioning-resolve',
      'provisioning-contract',
    ]) {
      assert.ok(setup.hotStatements.has(name), `${name} of ${[...setup.hotStatements.keys()]}`);
    }
  });

  test('plans use complete keys in empty tables', () => assertAllKeyed());

  test('plans use complete keys in new tables without statistics', async () => {
    await scratch.session(async (queries) => {
      for (const statement of fill) await queries.query(statement, [1, youngSales]);
    });
    await assertAllKeyed();
  });

  test(`plans use complete keys in tables of ${fullSales} sales`, {
    timeout: 300_000,
  }, async () => {
    await scratch.session(async (queries) => {
      for (const statement of fill) await queries.query(statement, [youngSales + 1, fullSales]);
      for (const table of growing) await queries.query(`ANALYZE ${table}`);
    });
    await assertAllKeyed();
    // Reports of one organisation read no transactions of others, except in the same buckets.
    const walk = (await scratch.explain(listTransactionIdsText)).join('\n');
    assert.match(
      walk,
      /using transactions_pkey on transactions\s.*\n\W*Index Cond: \(\(bucket = .*\) AND \(transaction_id > /,
    );
  });
});

const organizations = `('00000000-0000-7000-8000-00000000000' || (n % 5))::uuid`;
const idOf = (kind: string) => `md5('${kind}' || n)::uuid`;

/** Five organisations; the number of a sale gives the keys of its rows. */
const fill = [
  `INSERT INTO transactions SELECT n % 50, ${organizations}, ${idOf('t')}, md5('m' || n % 50)::uuid, 'c' || n,
      NULL, NULL, md5('k' || n % 50)::uuid, 'Captured', 'Approved', 1000, 'EUR', 0, 1000, 1000, 0, 0,
      0, 0, 0, 2, n % 2, now(), now(), now()
    FROM generate_series($1::int, $2::int) AS n`,
  `INSERT INTO transaction_events SELECT n % 50, ${organizations}, ${idOf('t')}, 1 + n % 2,
      'transaction.captured', now(), '{}' FROM generate_series($1::int, $2::int) AS n`,
  `INSERT INTO operations SELECT n % 50, ${organizations}, ${idOf('t')}, 1, ${idOf('o')},
      md5('m' || n % 50)::uuid, 'Refund', 'Succeeded', 10, 'o' || n, '{}', now(), now(), now()
    FROM generate_series($1::int, $2::int, 2) AS n`,
  `INSERT INTO vault_cards SELECT ${organizations}, ${idOf('v')}, decode(md5('f' || n), 'hex'),
      decode(md5('s' || n), 'hex'), now() FROM generate_series($1::int, $2::int, 2) AS n`,
  `INSERT INTO acquirer_terminals SELECT ${organizations}, md5('k' || n % 50)::uuid, 'T' || n,
      ${idOf('d')}, 1, now() FROM generate_series($1::int, $2::int, 10) AS n`,
];
