// The items, dry run and results of a batch capture, on the complete platform.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { keyedSale } from '../../support/keyed-sale.ts';
import { createTestOrganization, type TestOrganization } from '../../support/test-organization.ts';
import { until } from '../../support/wait-for-result.ts';

const base = '/payment/v1/transactions';

async function sell(
  setup: TestOrganization,
  token = setup.merchant.token,
): Promise<Record<string, string>> {
  const body = keyedSale({ amount: 10_000, captureMode: 'Deferred' });
  const answer = await setup.client.call('POST', `${base}/process`, { token, body });
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}

const captureAll = (setup: TestOrganization, body: Record<string, unknown>) =>
  setup.client.call('POST', `${base}/captureall`, { token: setup.merchant.token, body });

test('a dry run of named items plans only these items, with their amounts', async () => {
  const setup = await createTestOrganization();
  const [first, second] = [await sell(setup), await sell(setup), await sell(setup)];
  const items = [
    { transactionId: first?.['clientTransactionId'], amount: 4000 },
    { transactionId: second?.['transactionId']?.toUpperCase() },
  ];
  const { status, body } = await captureAll(setup, { items, dryRun: true });
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

// Spec: PAY-8 CARD-38
test('a dry run creates no batch, and its clientOperationId stays free', async () => {
  const setup = await createTestOrganization();
  const { transactionId } = await sell(setup);
  const clientOperationId = randomUUID();
  const dry = await captureAll(setup, { clientOperationId, dryRun: true });
  assert.equal(dry.status, 200, dry.text);
  assert.deepEqual(dry.body, {
    dryRun: true,
    total: 1,
    items: [{ transactionId, amount: 10_000, currency: 'EUR', status: 'Planned' }],
  });
  const batch = await captureAll(setup, { clientOperationId });
  assert.equal(batch.status, 202, batch.text);
  assert.equal(batch.headers['idempotent-replayed'], undefined);
  assert.equal(batch.body.total, 1);
  const path = `${base}/captureall/${batch.body.batchId}`;
  assert.equal((await setup.client.call('GET', path, { token: setup.merchant.token })).status, 200);
});

test('the pointer names the unknown item among many, also an item of another merchant', async () => {
  const setup = await createTestOrganization();
  const ownSale = await sell(setup);
  const other = await sell(setup, setup.otherMerchant.token);
  for (const transactionId of [randomUUID(), 'never-sold', other['transactionId']]) {
    for (const dryRun of [true, false]) {
      const items = [{ transactionId: ownSale['transactionId'] }, { transactionId }];
      const { status, body } = await captureAll(setup, { items, dryRun });
      assert.equal(status, 404);
      assert.equal(body.code, 'transaction_not_found');
      assert.equal(body.errors[0].pointer, '/items/1/transactionId');
    }
  }
  const twice = [ownSale['transactionId'], ownSale['clientTransactionId']].map((transactionId) => ({
    transactionId,
  }));
  assert.equal((await captureAll(setup, { items: twice })).body.errors[0].pointer, '/items');
});

test('after a capture of all, responses contain only the client’s identifiers', async () => {
  const setup = await createTestOrganization();
  const { transactionId } = await sell(setup);
  const { body: batch } = await captureAll(setup, {});
  await until(async () => {
    const path = `${base}/captureall/${batch.batchId}`;
    const { body } = await setup.client.call('GET', path, { token: setup.merchant.token });
    return body.state === 'Completed' ? true : undefined;
  }, 'the batch');
  const transaction = await setup.client.call('GET', `${base}/${transactionId}`, {
    token: setup.merchant.token,
  });
  assert.equal(transaction.status, 200, transaction.text);
  assert.equal(transaction.body.operations[0].status, 'Succeeded');
  assert.equal(transaction.body.operations[0].clientOperationId, undefined);
});
