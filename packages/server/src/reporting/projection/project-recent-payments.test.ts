// Tests which payments are read from the database and which from memory.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createRecentTransactions,
  selectTransactionsText,
  type TransactionRecord,
} from '../../payments/index.ts';
import type { Queries } from '../../platform/index.ts';
import { insertLinesSql } from './payment-line-sql.ts';
import { projectPayments, withoutFeedEvents } from './project-payments.ts';

const organizationId = '0198c0de-0000-7000-8000-000000000000';
const at = '2026-03-01T10:00:00.000Z';

/** A sale with immediate capture, in the form that its process has committed. */
function captured(transactionId: string): TransactionRecord {
  const reference = { terminalId: 'T', stan: '1', rrn: '2' };
  const context = {
    card: { scheme: 'Visa', maskedNumber: 'x', token: '' },
    entryMode: 'Chip',
    request: {},
    timeZone: 'UTC',
    acquirerMerchantId: 'M',
    linkId: organizationId,
    reference,
  };
  const event = (sequence: number, state: string, changes: object) => ({
    sequence,
    at,
    type: `transaction.${state.toLowerCase()}`,
    data: { state, changes, ...(sequence === 1 ? { context } : { response: { code: '00' } }) },
  });
  const position = { phase: 'Approved', authorized: 5, captured: 5, cancelled: 0, refunded: 0 };
  return {
    row: {
      organizationId,
      transactionId,
      merchantId: organizationId,
      state: 'Captured',
      position,
      amount: 5,
      currency: 'EUR',
      createdAt: at,
      updatedAt: at,
      version: 2,
      clientTransactionId: 'c',
    },
    events: [
      event(1, 'Received', { phase: 'Received' }),
      event(2, 'Captured', { phase: 'Approved', authorized: 5, captured: 5 }),
    ],
    operations: [],
  } as unknown as TransactionRecord;
}

/** Returns the payments that were read and those that were written. */
async function projected(cards: ReadonlyMap<string, number>, recentIds: readonly string[]) {
  const valuesByText: Record<string, unknown> = {};
  const queries: Queries = {
    shards: async () => undefined,
    async query(statement, values) {
      valuesByText[typeof statement === 'string' ? statement : statement.text] ??= values;
      return [];
    },
  };
  const recent = createRecentTransactions();
  for (const id of recentIds) recent.add(captured(id));
  const dictionary = {
    assignIds: async (_queries: Queries, all: readonly unknown[]) =>
      all.map(() => ({ groupId: 1, classId: 1, rareClassId: 1 })),
    addFrequentClasses: () => {},
    cacheAfterCommit: () => {},
  };
  await projectPayments(queries, { organizationId, dictionary, at, recent }, { cards, qr: [] });
  const idsIn = (text: string, index: number) => {
    const values = valuesByText[text];
    return Array.isArray(values) ? String(values[index]) : undefined;
  };
  return { read: idsIn(selectTransactionsText, 1), written: idsIn(insertLinesSql.text, 2), recent };
}

test('the projection takes a committed sale from memory, and then removes it there', async () => {
  const { read, written, recent } = await projected(new Map([['a', 2]]), ['a', 'b']);
  assert.equal(read, undefined);
  assert.equal(written, '{a}');
  assert.equal(recent.find(organizationId, 'a', 2), undefined);
  assert.ok(recent.find(organizationId, 'b', 2));
});

test('the projection reads a payment from the database when its copy in memory is older or missing', async () => {
  const sequences = new Map([
    ['a', 3],
    ['b', 2],
    ['c', 1],
  ]);
  assert.deepEqual((await projected(sequences, ['a', 'c'])).read, '{a,b}');
});

test('a projection of all payments reads every payment from the database', async () => {
  assert.deepEqual((await projected(withoutFeedEvents(['a', 'b']), ['a', 'b'])).read, '{a,b}');
});
