// The cache of recent sales returns committed sales of the same organisation only, and forgets them after a short time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TransactionRecord } from '../transaction/transaction.ts';
import { createRecentTransactions } from './transaction-repository.ts';

const saleOf = (transactionId: string, version: number, events = version) =>
  ({
    row: { organizationId: 'o', transactionId, version },
    events: Array.from({ length: events }, (_, index) => ({ sequence: index + 1 })),
    operations: [],
  }) as unknown as TransactionRecord;

test('finds the last version with the requested number of events', () => {
  const recent = createRecentTransactions();
  const later = saleOf('a', 3);
  recent.add(saleOf('a', 2));
  recent.add(later);
  assert.equal(recent.find('o', 'a', 2), later);
  assert.equal(recent.find('o', 'a', 3), later);
  assert.equal(recent.find('o', 'a', 4), undefined);
  assert.equal(recent.find('other', 'a', 2), undefined);
  recent.remove('a');
  assert.equal(recent.find('o', 'a', 2), undefined);
});

test('does not return a transaction with a missing event', () => {
  const recent = createRecentTransactions();
  recent.add(saleOf('a', 2));
  recent.add(saleOf('a', 4, 2));
  assert.equal(recent.find('o', 'a', 1), undefined);
});

test('removes the oldest entries', () => {
  const recent = createRecentTransactions(2);
  for (const name of ['a', 'b', 'a', 'c']) recent.add(saleOf(name, 2));
  assert.equal(recent.find('o', 'b', 2), undefined);
  assert.ok(recent.find('o', 'a', 2) && recent.find('o', 'c', 2));
});
