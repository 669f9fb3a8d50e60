// The items, dry run and results of a batch capture, on the complete platform.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { keyedSale } from '../../support/keyed-sale.ts';
import { createTestOrganization, type TestOrganization } from '../../support/test-organization.ts';
import { until } from '../../support/wait-for-result.ts';

const base = '/payment/v1/transactions';

async function sell(
  on: TestOrganization,
  token = on.merchant.token,
): Promise<Record<string, string>> {
  const body = keyedSale({ amount: 10_000, captureMode: 'Deferred' });
  const answer = await on.client.call('POST', `${base}/process`, { token, body });
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}

const captureAll = (on: TestOrganization, body: Record<string, unknown>) =>
  on.client.call('POST', `${base}/captureall`, { token: on.merchant.token, body });

test('a dry run of named items plans those alone, with their amounts', async () => {
  const on = await createTestOrganization();
  const [first, second] = [await sell(on), await sell(on), await sell(on)];
  const items = [
    { transactionId: first?.['clientTransactionId'], amount: 4000 },
    { transactionId: second?.['transactionId']?.toUpperCase() },
  ];
  const { status, body } = await captureAll(on, { items, dryRun: true });
  assert.equal(status, 200);
  assert.equal(body.total, 2);
  assert.deepEqual(body.items, [
    { transactionId: first?.['transactionId'], amount: 4000, currency: 'EUR', status: 'Planned' },
    {
      transactionId: second?.['transactionId'],
      amount: 10_000,
      currency: 'EUR',
      status: 'Planned',
    },
  ]);
});

test('a dry run is answered without a batch, and its clientOperationId stays free', async () => {
  const on = await createTestOrganization();
  const { transactionId } = await sell(on);
  const clientOperationId = randomUUID();
  const dry = await captureAll(on, { clientOperationId, dryRun: true });
  assert.equal(dry.status, 200, dry.text);
  assert.deepEqual(dry.body, {
    dryRun: true,
    total: 1,
    items: [{ transactionId, amount: 10_000, currency: 'EUR', status: 'Planned' }],
  });
  const batch = await captureAll(on, { clientOperationId });
  assert.equal(batch.status, 202, batch.text);
  assert.equal(batch.headers['idempotent-replayed'], undefined);
  assert.equal(batch.body.total, 1);
  const path = `${base}/captureall/${batch.body.batchId}`;
  assert.equal((await on.client.call('GET', path, { token: on.merchant.token })).status, 200);
});

test('the unknown one among many named items is pointed at, also one of another merchant', async () => {
  const on = await createTestOrganization();
  const mine = await sell(on);
  const other = await sell(on, on.otherMerchant.token);
  for (const transactionId of [randomUUID(), 'never-sold', other['transactionId']]) {
    for (const dryRun of [true, false]) {
      const items = [{ transactionId: mine['transactionId'] }, { transactionId }];
      const { status, body } = await captureAll(on, { items, dryRun });
      assert.equal(status, 404);
      assert.equal(body.code, 'transaction_not_found');
      assert.equal(body.errors[0].pointer, '/items/1/transactionId');
    }
  }
  const twice = [mine['transactionId'], mine['clientTransactionId']].map((transactionId) => ({
    transactionId,
  }));
  assert.equal((await captureAll(on, { items: twice })).body.errors[0].pointer, '/items');
});

test('a capture of all leaves no identifier in answers but the client’s', async () => {
  const on = await createTestOrganization();
  const { transactionId } = await sell(on);
  const { body: batch } = await captureAll(on, {});
  await until(async () => {
    const path = `${base}/captureall/${batch.batchId}`;
    const { body } = await on.client.call('GET', path, { token: on.merchant.token });
    return body.state === 'Completed' ? true : undefined;
  }, 'the batch');
  const shown = await on.client.call('GET', `${base}/${transactionId}`, {
    token: on.merchant.token,
  });
  assert.equal(shown.status, 200, shown.text);
  assert.equal(shown.body.operations[0].status, 'Succeeded');
  assert.equal(shown.body.operations[0].clientOperationId, undefined);
});
