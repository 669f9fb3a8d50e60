// The page on QR payments says what the tables do: every status has its row, and late money goes back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { qrStatuses } from '@switchyard/contract';
import { qrHoldsTable, qrStatesTable, qrTransitionsTable } from './qr-states.ts';

test('every status of a QR payment has its row', () => {
  for (const status of qrStatuses) {
    assert.match(qrStatesTable(), new RegExp(`^\\| \`${status}\` \\|`, 'm'));
  }
  assert.match(qrStatesTable(), /hold.*payment_held.*payment_held/);
});

test('a completion after the end of a payment is refunded, and nothing reopens a payment', () => {
  const lines = qrTransitionsTable().split('\n');
  for (const end of ['Declined', 'Cancelled', 'Expired', 'Failed']) {
    const line = lines.find((each) => each.startsWith(`| \`${end}\``));
    assert.match(String(line), /refunded by itself/);
    assert.doesNotMatch(String(line), /goes there/);
  }
});

test('an ended QR payment accepts no new operation, and every hold can be settled', () => {
  const lines = qrHoldsTable().split('\n').slice(2);
  assert.equal(lines.length, 4);
  for (const line of lines) {
    const [, , , , live = '', ended = ''] = line.split('|');
    assert.match(live, /`Settle`/);
    assert.match(ended, /`Settle`/);
    assert.doesNotMatch(ended, /Accept/);
  }
});
