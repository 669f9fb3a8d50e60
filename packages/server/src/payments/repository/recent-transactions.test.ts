// Sales that are remembered for a moment: never younger than the commit, never of somebody else, never without end.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoadedTransaction } from '../transaction/transaction.ts';
import { createRecentSales } from './recent-transactions.ts';

const saleOf = (transactionId: string, version: number, events = version) =>
  ({
    row: { organizationId: 'o', transactionId, version },
    events: Array.from({ length: events }, (_, place) => ({ sequence: place + 1 })),
    operations: [],
  }) as unknown as LoadedTransaction;

test('a sale is found as it stood last, with the events that are asked for', () => {
  const recent = createRecentSales();
  const later = saleOf('a', 3);
  recent.note(saleOf('a', 2));
  recent.note(later);
  assert.equal(recent.find('o', 'a', 2), later);
  assert.equal(recent.find('o', 'a', 3), later);
  assert.equal(recent.find('o', 'a', 4), undefined);
  assert.equal(recent.find('other', 'a', 2), undefined);
  recent.forget('a');
  assert.equal(recent.find('o', 'a', 2), undefined);
});

test('a sale of which an event is missing is read, also where it was whole before', () => {
  const recent = createRecentSales();
  recent.note(saleOf('a', 2));
  recent.note(saleOf('a', 4, 2));
  assert.equal(recent.find('o', 'a', 1), undefined);
});

test('the oldest are forgotten', () => {
  const recent = createRecentSales(2);
  for (const name of ['a', 'b', 'a', 'c']) recent.note(saleOf(name, 2));
  assert.equal(recent.find('o', 'b', 2), undefined);
  assert.ok(recent.find('o', 'a', 2) && recent.find('o', 'c', 2));
});
