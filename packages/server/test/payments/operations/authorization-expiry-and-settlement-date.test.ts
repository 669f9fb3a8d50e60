// Whole run: many sales are prepared, or a process is started, for each test.
// Expired authorisations and settlement dates, on the complete platform.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defined } from '@switchyard/contract';
import { settlementDayForTime } from '../../../src/payments/transaction/settlement-and-expiry.ts';
import { assertProblem } from '../../support/assert-problem-response.ts';
import { testDatabase } from '../../support/database/test-database.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import { createTestOrganization, type TestOrganization } from '../../support/test-organization.ts';
import { until } from '../../support/wait-for-result.ts';

const base = '/payment/v1/transactions';
const zone = 'Europe/Paris';

async function call(setup: TestOrganization, method: string, path: string, body?: unknown) {
  const options = { token: setup.merchant.token, ...defined({ body }) };
  return setup.client.call(method, base + path, options);
}

async function authorize(setup: TestOrganization, amount = 1000): Promise<string> {
  const sale = keyedSale({ amount, captureMode: 'Deferred' });
  const { body, text } = await call(setup, 'POST', '/process', sale);
  assert.equal(body.state, 'Authorized', text);
  return body.transactionId;
}

/** Sets the expiry of the authorisation to the past. */
async function expireHold(setup: TestOrganization, transactionId: string): Promise<void> {
  const database = await testDatabase();
  const key = [setup.organizationId, transactionId];
  await database.query(
    `UPDATE transaction_events SET data = jsonb_set(data::jsonb, '{context,holdDays}', '0')::json
      WHERE organization_id = $1 AND transaction_id = $2 AND sequence = 1`,
    key,
  );
  await database.query(
    `UPDATE transactions SET authorization_expires_at = created_at
      WHERE organization_id = $1 AND transaction_id = $2`,
    key,
  );
}

const waitForState = (setup: TestOrganization, id: string, state: string) =>
  until(async () => {
    const { body } = await call(setup, 'GET', `/${id}`);
    return body.state === state ? body : undefined;
  }, `the state ${state}`);

test('a hold expires after the configured number of days, and a sale does not expire', async () => {
  const setup = await createTestOrganization({ holdDays: 3 });
  const id = await authorize(setup);
  const database = await testDatabase();
  const [row] = await database.query<{ days: number }>(
    `SELECT extract(epoch FROM authorization_expires_at - created_at)::int / 86400 AS days FROM transactions
      WHERE organization_id = $1 AND transaction_id = $2`,
    [setup.organizationId, id],
  );
  assert.equal(row?.days, 3);
  const sale = await call(setup, 'POST', '/process', keyedSale());
  const [firstOperation] = await database.query<{ authorization_expires_at: Date | null }>(
    'SELECT authorization_expires_at FROM transactions WHERE organization_id = $1 AND transaction_id = $2',
    [setup.organizationId, sale.body.transactionId],
  );
  assert.equal(firstOperation?.authorization_expires_at, null);
});

// Spec: CARD-42
test('a hold without a capture expires, and a late capture is refused', async () => {
  const setup = await createTestOrganization();
  const id = await authorize(setup);
  const other = await authorize(setup);
  await expireHold(setup, id);
  const late = await call(setup, 'POST', `/${id}/capture`, {});
  assertProblem(late, { code: 'authorization_expired', pointer: null });
  const expired = await waitForState(setup, id, 'Expired');
  assert.equal(expired.approved, false);
  const { type, data } = expired.events.at(-1);
  assert.deepEqual([type, data.amount, data.state], ['transaction.expired', 1000, 'Expired']);
  const { body: allowed } = await call(setup, 'GET', `/${id}/allowedoperations`);
  assert.deepEqual(
    allowed.operations.map(({ operation, reason }: Record<string, string>) => [operation, reason]),
    [
      ['Capture', 'authorization_expired'],
      ['Refund', 'not_captured'],
      ['Cancel', 'authorization_expired'],
      ['Reversal', 'authorization_expired'],
    ],
  );
  const cancel = { cancelReason: 'Functional' };
  assertProblem(await call(setup, 'POST', `/${id}/cancel`, cancel), {
    code: 'authorization_expired',
    pointer: null,
  });
  const batch = await call(setup, 'POST', '/captureall', { dryRun: true });
  assert.deepEqual(
    batch.body.items.map(({ transactionId }: Record<string, string>) => transactionId),
    [other],
  );
});

test('the rest of a partly captured hold is released at its expiry, and the captured part can be refunded', async () => {
  const setup = await createTestOrganization();
  const id = await authorize(setup);
  await call(setup, 'POST', `/${id}/capture`, { amount: 400 });
  await expireHold(setup, id);
  const now = await waitForState(setup, id, 'Captured');
  assert.deepEqual([now.capturedAmount, now.cancelledAmount], [400, 600]);
  assert.equal(now.events.at(-1).type, 'transaction.expired');
  const refund = await call(setup, 'POST', `/${id}/refund`, {});
  assert.equal(refund.body.state, 'Refunded', refund.text);
});

// Spec: CARD-42
test('a capture without a response is decided before the hold expires', async () => {
  const setup = await createTestOrganization();
  const id = await authorize(setup, 20_000);
  const open = await call(setup, 'POST', `/${id}/capture`, { amount: 9091 });
  assert.equal(open.status, 202, open.text);
  await expireHold(setup, id);
  const now = await waitForState(setup, id, 'Captured');
  assert.deepEqual([now.capturedAmount, now.cancelledAmount], [9091, 20_000 - 9091]);
});

test('a capture belongs to the day in the time zone of the store', async () => {
  const setup = await createTestOrganization();
  const today = () => settlementDayForTime(Date.now(), zone).date;
  const before = today();
  const sale = await call(setup, 'POST', '/process', keyedSale());
  const id = await authorize(setup);
  const capture = await call(setup, 'POST', `/${id}/capture`, {});
  const days = [before, today()];
  assert.ok(days.includes(sale.body.settlementDate), sale.text);
  assert.ok(days.includes(capture.body.operation.settlementDate), capture.text);
  assert.equal(capture.body.settlementDate, undefined);
});

// Spec: CARD-43
test('a capture after the cut-over time belongs to the next day', async () => {
  // A minute ago in the store's time zone; after midnight this is the previous day, which has also
  // ended.
  const ago = new Date(Date.now() - 60_000);
  const clock = { timeZone: zone, hourCycle: 'h23', hour: '2-digit', minute: '2-digit' } as const;
  const cutOverTime = new Intl.DateTimeFormat('en-GB', clock).format(ago);
  const setup = await createTestOrganization({ cutOverTime });
  const sale = await call(setup, 'POST', '/process', keyedSale());
  const expected = settlementDayForTime(Date.parse(sale.body.updatedAt), zone, cutOverTime).date;
  assert.equal(sale.body.settlementDate, expected);
  const plain = settlementDayForTime(ago.getTime(), zone).date;
  assert.ok(expected > plain || cutOverTime === '00:00', `${expected} ${plain}`);
});
