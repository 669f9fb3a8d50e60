// Tests that payment lines are written in their current state, and never return to an older one.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { testDatabase } from '../../../test/support/database/test-database.ts';
import { createPaymentLine } from './payment-line.fixture.ts';
import { writeLines } from './payment-line-sql.ts';
import type { SettlementMovement } from './reported-payment-types.ts';

const clientName = ' "a,b" {\\} NULL \'é漢\' ';

const moveOf = (number: number, amount: number): SettlementMovement => ({
  date: '2026-03-01',
  kind: 'Capture',
  count: 1,
  amount,
  references: {
    number,
    merchantNumber: 'M "1"',
    terminal: 'T,1',
    trace: '000001',
    retrievalReference: '12',
  },
});

const linesStored = `SELECT payment_id AS id, counted, class_id AS class, captured, client_transaction_id AS client,
    retrieval_reference AS reference, authorization_code AS code, right(masked_number, 4) AS last, order_id AS "order", amount,
    created_at AS at FROM report_payments WHERE organization_id = $1 ORDER BY counted, payment_id`;
const movesStored = `SELECT number, amount, payment_id AS id, link_id AS link, merchant_id AS merchant,
    authorization_code AS code, masked_number AS card, terminal, acquirer_merchant_number AS theirs
  FROM report_movements WHERE organization_id = $1 ORDER BY number`;

test('a line is stored with its exact texts, and the write returns the earlier state of the payment', async () => {
  const database = await testDatabase();
  const organizationId = randomUUID();
  const line = createPaymentLine({ clientTransactionId: clientName });
  const moves = new Map([[2, [moveOf(0, 5)]]]);
  const first = await writeLines(database, organizationId, [
    { line, movements: moves, classId: 7, rareClassId: 7 },
  ]);
  assert.equal(first.size, 0);

  const later = { ...line, captured: 9, version: 4, authorizationCode: 'ABC' };
  const more = new Map([...moves, [4, [moveOf(1, 4)]]]);
  const other = createPaymentLine({
    clientTransactionId: clientName,
    linkId: undefined,
    maskedNumber: undefined,
    version: 9,
  });
  const earlierStates = await writeLines(database, organizationId, [
    { line: other, movements: new Map(), classId: 8, rareClassId: undefined },
    { line: later, movements: more, classId: 8, rareClassId: undefined },
  ]);
  assert.deepEqual(
    [...earlierStates.values()],
    [{ paymentId: line.paymentId, classId: 7, counted: 2 }],
  );

  const shared = { client: clientName, reference: 'null', order: null, amount: 999_999_999_999 };
  assert.deepEqual(await database.query(linesStored, [organizationId]), [
    {
      id: line.paymentId,
      counted: 4,
      class: 8,
      captured: 9,
      code: 'ABC',
      last: '1111',
      ...shared,
      at: new Date(line.createdAt),
    },
    {
      id: other.paymentId,
      counted: 9,
      class: 8,
      captured: 5,
      code: '',
      last: null,
      ...shared,
      at: new Date(line.createdAt),
    },
  ]);
  const ofLine = { id: line.paymentId, link: line.linkId, merchant: line.merchantId };
  const alike = { ...ofLine, card: '411111******1111', terminal: 'T,1', theirs: 'M "1"' };
  assert.deepEqual(await database.query(movesStored, [organizationId]), [
    { number: 0, amount: 5, code: '', ...alike },
    { number: 1, amount: 4, code: 'ABC', ...alike },
  ]);
});

test('a repeated or older version of a line changes nothing', async () => {
  const database = await testDatabase();
  const organizationId = randomUUID();
  const line = createPaymentLine({ version: 3 });
  await writeLines(database, organizationId, [
    { line, movements: new Map(), classId: 1, rareClassId: 1 },
  ]);
  const before = await database.query(linesStored, [organizationId]);
  for (const version of [3, 2]) {
    const old = { ...line, version, captured: 1 };
    const moves = new Map([[2, [moveOf(0, 1)]]]);
    const earlierStates = await writeLines(database, organizationId, [
      { line: old, movements: moves, classId: 2, rareClassId: 2 },
    ]);
    assert.equal(earlierStates.get(line.paymentId)?.counted, 3);
  }
  assert.deepEqual(await database.query(linesStored, [organizationId]), before);
  assert.deepEqual(await database.query(movesStored, [organizationId]), []);
});
