// I8: state, event, outbox row, operation and job are in one commit.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import {
  createTransactionRepository,
  DuplicateOperationId,
  type TransactionRepository,
} from '../../../src/payments/repository/transaction-repository.ts';
import { zeroAmounts } from '../../../src/payments/transaction/state-machine.ts';
import type {
  StoredOperation,
  TransactionRow,
} from '../../../src/payments/transaction/transaction.ts';
import { applyTransition, type Transition } from '../../../src/payments/transaction/transition.ts';
import {
  bucketOf,
  createLog,
  type Database,
  migrate,
  openDatabase,
  systemClock,
  systemIdGenerator,
  unguardedNumbering,
} from '../../../src/platform/index.ts';
import { migrationsFolder, testDatabaseCopyUrl } from '../../support/database/test-database.ts';

const at = Date.parse('2026-03-01T12:00:00.000Z');
const iso = new Date(at).toISOString();
const organizationId = randomUUID();
const merchantId = randomUUID();

const newId = () => systemIdGenerator.uuid(bucketOf(merchantId));

const newRow = (clientTransactionId: string = randomUUID()): TransactionRow => ({
  organizationId,
  transactionId: newId(),
  merchantId,
  clientTransactionId,
  storeId: undefined,
  deviceId: undefined,
  contractId: randomUUID(),
  amount: 1000,
  currency: 'EUR',
  overCaptureAllowance: 0,
  position: { phase: 'Received', ...zeroAmounts },
  state: 'Received',
  version: 1,
  operationCount: 0,
  deadline: at,
  createdAt: iso,
  updatedAt: iso,
});

const received = {
  sequence: 1,
  type: 'transaction.received',
  at: iso,
  data: { state: 'Received' as const, changes: { phase: 'Received' as const } },
};

const authorized: Transition = {
  at,
  type: 'transaction.authorized',
  changes: { phase: 'Approved', authorized: 1000 },
};

const captureOf = (clientOperationId: string): Transition => {
  const operation: StoredOperation = {
    operationNumber: 1,
    operationId: randomUUID(),
    kind: 'Capture',
    status: 'Sent',
    amount: 400,
    clientOperationId,
    details: {
      request: {},
      reference: {
        mti: '0220',
        terminalId: 'T0000001',
        stan: '000001',
        rrn: '606012000001',
        transmittedAt: '0301120000',
        localTime: '130000',
        localDate: '0301',
      },
    },
    deadline: at,
    createdAt: iso,
    updatedAt: iso,
  };
  return {
    at,
    type: 'transaction.capture_pending',
    changes: { captureReserved: 400 },
    operation,
    job: { jobId: newId(), kind: 'payments.retry-operation', payload: {}, dueAt: iso },
  };
};

const approvedAndCapturing = (clientOperationId: string): Transition => ({
  ...captureOf(clientOperationId),
  changes: { phase: 'Approved', authorized: 1000, captureReserved: 400 },
});

describe('one commit for several changes', () => {
  let database: Database;
  let store: TransactionRepository;

  before(async () => {
    const log = createLog({ logLevel: 'warn', instanceName: 'one-commit' });
    database = openDatabase({ url: await testDatabaseCopyUrl(), log });
    await migrate(database, migrationsFolder, { log, clock: systemClock, ids: systemIdGenerator });
    store = createTransactionRepository({
      database,
      ids: systemIdGenerator,
      clock: systemClock,
      numbering: unguardedNumbering,
    });
  });
  after(() => database.close());

  async function rows(): Promise<Record<string, number>> {
    const tables = ['transactions', 'transaction_events', 'outbox', 'operations', 'jobs'];
    const counts = tables.map((table) => `(SELECT count(*)::int FROM ${table}) AS ${table}`);
    const [row] = await database.query<Record<string, number>>(`SELECT ${counts.join(', ')}`);
    return row ?? {};
  }

  /** The number of rows that the work added to each table. */
  async function written(work: () => Promise<void>): Promise<Record<string, number>> {
    const before = await rows();
    await work();
    const now = await rows();
    return Object.fromEntries(Object.keys(now).map((t) => [t, (now[t] ?? 0) - (before[t] ?? 0)]));
  }

  const nothing = { transactions: 0, transaction_events: 0, outbox: 0, operations: 0, jobs: 0 };

  test('concurrent inserts of one sale store it once, with its event', async () => {
    const id = randomUUID();
    const made = await written(async () => {
      const twins = [newRow(id), newRow(id), newRow(id)];
      const begun = await Promise.all(twins.map((row) => store.insert(row, received)));
      assert.equal(begun.filter(Boolean).length, 1);
    });
    assert.deepEqual(made, { ...nothing, transactions: 1, transaction_events: 1 });
  });

  // Spec: INV-8
  test('a change stores its event, jobs and operations together', async () => {
    const row = newRow();
    await store.insert(row, received);
    const first = applyTransition(row, authorized);
    const made = await written(async () => assert.equal(await store.update(first), true));
    assert.deepEqual(made, { ...nothing, transaction_events: 1, outbox: 1 });
    const second = applyTransition(first.after, captureOf('c-1'));
    const more = await written(async () => assert.equal(await store.update(second), true));
    const all = { ...nothing, transaction_events: 1, outbox: 1, operations: 1, jobs: 1 };
    assert.deepEqual(more, all);
  });

  test('a change of an outdated version stores nothing, and does not affect others in the batch', async () => {
    const row = newRow();
    const other = newRow();
    await Promise.all([store.insert(row, received), store.insert(other, received)]);
    const change = applyTransition(row, authorized);
    await store.update(change);
    const made = await written(async () => {
      const late = applyTransition(row, captureOf('late'));
      const done = await Promise.all([
        store.update(late),
        store.update(applyTransition(other, authorized)),
        store.update(late),
      ]);
      assert.deepEqual(done, [false, true, false]);
    });
    assert.deepEqual(made, { ...nothing, transaction_events: 1, outbox: 1 });
    const stored = await store.findById(organizationId, row.transactionId);
    assert.equal(stored?.row.version, 2);
  });

  test('intents and outcomes of one batch have their own results', async () => {
    const [taken, open, outdated, failed] = [newRow(), newRow(), newRow(), newRow()];
    const rows = [taken, open, outdated, failed];
    await Promise.all(rows.map((row) => store.insert(row, received)));
    await store.update(applyTransition(outdated, authorized));
    const made = await written(async () => {
      const done = await Promise.all([
        store.insert(newRow(), received),
        store.update(applyTransition(open, authorized)),
        store.insert(newRow(taken.clientTransactionId), received),
        store.update(applyTransition(outdated, authorized)),
      ]);
      assert.deepEqual(done, [true, true, false, false]);
    });
    assert.deepEqual(made, { ...nothing, transactions: 1, transaction_events: 2, outbox: 1 });
    // A row that violates a check undoes the batch; then each row is written alone.
    const invalid = { ...authorized, changes: { captureReserved: 1 } };
    const more = await written(async () => {
      const [refused, ...done] = await Promise.allSettled([
        store.update(applyTransition(failed, invalid)),
        store.insert(newRow(), received),
        store.update(applyTransition(taken, authorized)),
      ]);
      assert.equal(refused?.status === 'rejected' && refused.reason.code, '23514');
      assert.deepEqual(done, Array(2).fill({ status: 'fulfilled', value: true }));
    });
    assert.deepEqual(more, { ...nothing, transactions: 1, transaction_events: 2, outbox: 1 });
  });

  test('an operation with a used identifier stores nothing, and does not affect others in the batch', async () => {
    const [first, second, third] = [newRow(), newRow(), newRow()];
    await Promise.all([first, second, third].map((row) => store.insert(row, received)));
    assert.equal(await store.update(applyTransition(first, approvedAndCapturing('taken'))), true);
    const made = await written(async () => {
      const [conflicting, successful] = await Promise.allSettled([
        store.update(applyTransition(second, approvedAndCapturing('taken'))),
        store.update(applyTransition(third, authorized)),
      ]);
      assert.ok(
        conflicting?.status === 'rejected' && conflicting.reason instanceof DuplicateOperationId,
      );
      assert.deepEqual(successful, { status: 'fulfilled', value: true });
    });
    assert.deepEqual(made, { ...nothing, transaction_events: 1, outbox: 1 });
    const stored = await store.findById(organizationId, second.transactionId);
    assert.deepEqual([stored?.row.version, stored?.row.state], [1, 'Received']);
  });

  test('the database refuses amounts outside their limits (I1, I2)', async () => {
    const row = newRow();
    await store.insert(row, received);
    const wrong: Transition['changes'][] = [
      { captureReserved: 1 },
      { phase: 'Approved', authorized: 1000, captured: 600, captureReserved: 300, cancelled: 101 },
      { phase: 'Approved', authorized: 1000, captured: 1000, refunded: 1, refundReserved: 1000 },
      { phase: 'Approved', authorized: 1000, captured: -1 },
      { phase: 'Approved', authorized: 1000, cancelReserved: -1 },
    ];
    const made = await written(async () => {
      for (const changes of wrong) {
        await assert.rejects(store.update(applyTransition(row, { ...authorized, changes })), {
          code: '23514',
        });
      }
    });
    assert.deepEqual(made, nothing);
  });
});
