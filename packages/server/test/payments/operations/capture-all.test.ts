// Whole run: many sales are prepared, or a process is started, for each test.
// Batch captures with hundreds of items: filtered, resumed, replayed, and each captured exactly
// once.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { defined } from '@switchyard/contract';
import { bucketSql } from '../../../src/platform/index.ts';
import { startAcquirerRelay } from '../../support/acquirers/acquirer-relay.ts';
import { assertProblem, countRows } from '../../support/assert-problem-response.ts';
import { testDatabase } from '../../support/database/test-database.ts';
import type { HttpResponse } from '../../support/https-client.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import { createTestOrganization, type TestOrganization } from '../../support/test-organization.ts';
import { testPlatform } from '../../support/test-platform.ts';
import { until } from '../../support/wait-for-result.ts';
import { assertAgreement } from '../ledger/ledger-invariants.ts';

const base = '/payment/v1/transactions';
const batches = '/payment/v1/capture-batches';
const many = 310;

type Item = { transactionId: string; status: string; amount?: number; code?: string };

function call(
  setup: TestOrganization,
  method: string,
  path: string,
  body?: unknown,
  token = setup.merchant.token,
) {
  const options = { token, ...defined({ body }) };
  return setup.client.call(method, base + path, options);
}

/**
 * Sends `count` sales in parallel groups and returns the responses in the order of the requests.
 */
async function sell(setup: TestOrganization, count: number, members: Record<string, unknown> = {}) {
  const answers: HttpResponse[] = [];
  const one = () =>
    call(
      setup,
      'POST',
      '/process',
      keyedSale({ amount: 1000, captureMode: 'Deferred', ...members }),
    );
  while (answers.length < count) {
    const length = Math.min(count - answers.length, 40);
    answers.push(...(await Promise.all(Array.from({ length }, one))));
  }
  for (const { body, text } of answers) assert.equal(body.state, 'Authorized', text);
  return answers.map(({ body }) => body as { transactionId: string; createdAt: string });
}

const completed = (setup: TestOrganization, { body }: HttpResponse) =>
  until(
    async () => {
      const { body: now } = await call(setup, 'GET', `/captureall/${body.batchId}`);
      return now.state === 'Completed' ? now : undefined;
    },
    'the batch to be completed',
    60_000,
  );

async function allItems(setup: TestOrganization, batchId: string, limit: number): Promise<Item[]> {
  const items: Item[] = [];
  let cursor = '';
  for (;;) {
    const path = `/captureall/${batchId}?limit=${limit}${cursor}`;
    const { body, status, text } = await call(setup, 'GET', path);
    assert.equal(status, 200, text);
    assert.ok(body.items.length <= limit);
    items.push(...body.items);
    if (body.nextCursor === null) return items;
    assert.equal(body.items.length, limit, 'a page that is not the last is full');
    cursor = `&cursor=${body.nextCursor}`;
  }
}

/** The captured amounts of the merchant's original sales at the host. */
function capturedAtHost(setup: TestOrganization): number[] {
  const { originals } = setup.host.ledger();
  const ownTotals = originals.filter(({ merchant }) => merchant === setup.merchant.merchantNumber);
  return ownTotals.map(({ captured }) => captured);
}

function capturesAtHost(setup: TestOrganization): number {
  const { totals } = setup.host.ledger();
  const ownTotals = totals.filter(({ merchant }) => merchant === setup.merchant.merchantNumber);
  return ownTotals.reduce((sum, { captures }) => sum + captures, 0);
}

/** Reads a batch at the address in the response to its request. */
const readAt = (setup: TestOrganization, address: string) =>
  setup.client.call('GET', address, { token: setup.merchant.token });

describe('a capture of all', { concurrency: 4 }, () => {
  test(`captures ${many} sales once each, and shows them page by page`, async () => {
    const setup = await createTestOrganization();
    const sold = await sell(setup, many);
    const before = await countRows(setup.organizationId);
    const dry = await call(setup, 'POST', '/captureall', { dryRun: true });
    assert.equal(dry.status, 200, dry.text);
    assert.deepEqual([dry.body.total, dry.body.items.length], [many, 200]);
    assert.ok(!('nextCursor' in dry.body), 'it does not say that this is all of it');
    for (const { status, amount, currency } of dry.body.items) {
      assert.deepEqual([status, amount, currency], ['Planned', 1000, 'EUR']);
    }
    const after = await countRows(setup.organizationId);
    assert.deepEqual(after, before);
    assert.equal(capturesAtHost(setup), 0);

    const request = { clientOperationId: 'day-1' };
    // Two concurrent requests create one batch.
    const [first, second] = await Promise.all([
      call(setup, 'POST', '/captureall', request),
      call(setup, 'POST', '/captureall', request),
    ]);
    assert.ok(first && second);
    assert.deepEqual([first.status, second.status], [202, 202], first.text + second.text);
    assert.equal(first.body.batchId, second.body.batchId);
    assert.equal(first.headers['location'], `${batches}/${first.body.batchId}`);
    const replayed = [first, second].filter((each) => each.headers['idempotent-replayed']);
    assert.equal(replayed.length, 1);
    const done = await completed(setup, first);
    assert.deepEqual([done.total, done.succeeded, done.failed], [many, many, 0]);
    assert.ok(done.completedAt >= done.createdAt);
    for (const limit of [37, 200]) {
      const items = await allItems(setup, done.batchId, limit);
      assert.deepEqual(
        items.map(({ transactionId }) => transactionId),
        sold.map(({ transactionId }) => transactionId).sort(),
      );
      assert.ok(items.every(({ status }) => status === 'Succeeded'));
    }
    const again = await call(setup, 'POST', '/captureall', request);
    assert.equal(again.body.batchId, done.batchId);
    assert.equal(again.headers['idempotent-replayed'], 'true');
    const other = await call(setup, 'POST', '/captureall', { ...request, currency: 'EUR' });
    assertProblem(other, { code: 'client_id_reused', pointer: '/currency' });
    const emptyBatch = await call(setup, 'POST', '/captureall', { clientOperationId: 'day-2' });
    assert.deepEqual([emptyBatch.body.state, emptyBatch.body.total], ['Completed', 0]);
    assert.deepEqual(capturedAtHost(setup), Array(many).fill(1000));
    assert.equal(capturesAtHost(setup), many);
    await assertAgreement(setup);
  });

  // Spec: SVC-10 PAY-8 IDEM-10 CARD-38
  test('store, currency and time select the sales; others are not captured', async () => {
    const setup = await createTestOrganization();
    const scope = { organizationId: setup.organizationId };
    const { merchantId, storeId } = setup.merchant;
    const branch = await setup.platform.provisioning.stores.create(scope, {
      merchantId,
      name: 'Branch',
    });
    const branchId = branch.view.storeId;
    await sell(setup, 3, { storeId });
    await sell(setup, 2, { storeId: branchId });
    const [last] = await sell(setup, 1, { storeId, currency: 'JPY' });
    const plan = async (body: Record<string, unknown>) =>
      (await call(setup, 'POST', '/captureall', { ...body, dryRun: true })).body.total;
    assert.equal(await plan({}), 6);
    assert.equal(await plan({ storeId: branchId.toUpperCase() }), 2);
    assert.equal(await plan({ storeId, currency: 'EUR' }), 3);
    assert.equal(await plan({ currency: 'JPY', merchantId }), 1);
    assert.equal(await plan({ currency: 'USD' }), 0);
    assert.equal(await plan({ authorizedBefore: last?.createdAt }), 5);
    assert.equal(await plan({ authorizedBefore: '2020-01-01T00:00:00+01:00' }), 0);
    const foreign = { storeId: setup.otherMerchant.storeId, dryRun: true };
    assert.equal((await call(setup, 'POST', '/captureall', foreign)).body.code, 'store_not_found');

    const token = await setup.tokenFor({
      name: 'till of the branch',
      entityType: 'merchant',
      entityId: merchantId,
      merchantId,
      storeId: branchId,
      roles: ['PointOfSaleTerminal'],
    });
    const elsewhere = await call(setup, 'POST', '/captureall', { storeId }, token);
    assertProblem(elsewhere, { code: 'entity_out_of_scope' });
    const ownTotals = await call(setup, 'POST', '/captureall', { clientOperationId: 'b-1' }, token);
    const done = await completed(setup, ownTotals);
    assert.deepEqual([done.total, done.succeeded], [2, 2]);
    const rest = await completed(setup, await call(setup, 'POST', '/captureall', {}));
    assert.deepEqual([rest.total, rest.succeeded], [4, 4]);
    // A till cannot see a batch of the whole merchant.
    const hidden = await call(setup, 'GET', `/captureall/${rest.batchId}`, undefined, token);
    assertProblem(hidden, { code: 'batch_not_found' });
    assert.equal(
      (await call(setup, 'GET', `/captureall/${done.batchId}`, undefined, token)).status,
      200,
    );
    await assertAgreement(setup);
  });

  // Spec: PAY-8 CARD-38
  test('named sales are captured by their amounts, and each failure belongs to its item', async () => {
    const setup = await createTestOrganization();
    const amount = 20_000;
    const sold = (await sell(setup, 8, { amount })).map(({ transactionId }) => transactionId);
    const [whole, part, slow, declined, tooMuch, unanswered, captured, open] = sold;
    assert.ok(captured !== undefined && open !== undefined);
    await call(setup, 'POST', `/${captured}/capture`);
    const sale = await call(setup, 'POST', '/process', keyedSale({ amount: 9051 }));
    const items = [
      { transactionId: whole },
      { transactionId: part, amount: 7000 },
      { transactionId: slow, amount: 9098 },
      { transactionId: declined, amount: 9005 },
      { transactionId: tooMuch, amount: amount + 1 },
      { transactionId: unanswered, amount: 9091 },
      { transactionId: captured },
      { transactionId: sale.body.transactionId },
    ];
    const done = await completed(setup, await call(setup, 'POST', '/captureall', { items }));
    assert.deepEqual([done.total, done.succeeded, done.failed], [8, 4, 4]);
    const codeByTransaction = Object.fromEntries(
      done.items.map((each: Item) => [each.transactionId, each.code ?? each.status]),
    );
    assert.deepEqual(
      items.map(({ transactionId }) => codeByTransaction[String(transactionId)]),
      [
        'Succeeded',
        'Succeeded',
        'Succeeded',
        '05',
        'capture_amount_exceeded',
        'Succeeded',
        'nothing_to_capture',
        'transaction_declined',
      ],
    );
    const amounts = await Promise.all(
      sold.map(async (id) => (await call(setup, 'GET', `/${id}`)).body.capturedAmount),
    );
    assert.deepEqual(amounts, [amount, 7000, 9098, 0, 0, 9091, amount, 0]);
    await assertAgreement(setup);
  });

  test('if a named sale is outside the selection, no sale is captured', async () => {
    const setup = await createTestOrganization();
    const scope = { organizationId: setup.organizationId };
    const { merchantId, storeId } = setup.merchant;
    const branch = await setup.platform.provisioning.stores.create(scope, {
      merchantId,
      name: 'Branch',
    });
    const [inStore] = await sell(setup, 1, { storeId });
    const [yen] = await sell(setup, 1, { storeId, currency: 'JPY' });
    assert.ok(inStore !== undefined && yen !== undefined);
    const items = [inStore, yen].map(({ transactionId }) => ({ transactionId }));
    const before = await countRows(setup.organizationId);
    for (const [selection, code, index] of [
      [{ currency: 'EUR' }, 'currency_mismatch', 1],
      [{ storeId: branch.view.storeId }, 'transaction_not_found', 0],
      [{ authorizedBefore: yen.createdAt }, 'field_invalid', 1],
      [{ authorizedBefore: '2020-01-01T00:00:00Z' }, 'field_invalid', 0],
    ] as const) {
      for (const dryRun of [true, false]) {
        const refused = await call(setup, 'POST', '/captureall', { items, ...selection, dryRun });
        assertProblem(refused, { code, pointer: `/items/${index}/transactionId` });
      }
    }
    assert.deepEqual(await countRows(setup.organizationId), before);
    const selection = { storeId, currency: 'EUR', authorizedBefore: yen.createdAt };
    const request = { ...selection, items: items.slice(0, 1) };
    const done = await completed(setup, await call(setup, 'POST', '/captureall', request));
    assert.deepEqual([done.total, done.succeeded], [1, 1]);
    await assertAgreement(setup);
  });

  // Spec: CARD-39
  test('an interrupted batch continues, and captures no sale twice', async (t) => {
    const relay = await startAcquirerRelay((await testPlatform()).host.port);
    t.after(relay.close);
    const setup = await createTestOrganization({}, { acquirerPort: relay.port });
    await sell(setup, 240);
    const batch = await call(setup, 'POST', '/captureall', {});
    // The link goes down during the batch.
    await until(() => (capturesAtHost(setup) > 20 ? true : undefined), 'some captures');
    await relay.close();
    const half = (await call(setup, 'GET', `/captureall/${batch.body.batchId}`)).body;
    assert.equal(half.state, 'Running');
    await relay.startListening();
    const done = await completed(setup, batch);
    assert.deepEqual([done.total, done.succeeded, done.failed], [240, 240, 0]);
    assert.equal(capturesAtHost(setup), 240);

    // The state after a process that died between the captures and their record.
    const database = await testDatabase();
    const key = [setup.organizationId, done.batchId];
    await database.query(
      `UPDATE capture_batch_items SET status = 'Pending', code = NULL
        WHERE organization_id = $1 AND batch_id = $2`,
      key,
    );
    await database.query(
      `UPDATE capture_batches SET state = 'Running', succeeded = 0, failed = 0
        WHERE organization_id = $1 AND batch_id = $2`,
      key,
    );
    // Two jobs run at once, as after a lease that expired too early.
    for (let run = 0; run < 2; run += 1) {
      await database.query(
        `INSERT INTO jobs (bucket, organization_id, job_id, kind, payload, due_at, attempts, created_at)
          VALUES (${bucketSql('$3::uuid')}, $1, $3, 'payments.batch-capture', jsonb_build_object('batchId', $2::uuid), now(), 0,
            now())`,
        [...key, randomUUID()],
      );
    }
    const again = await completed(setup, batch);
    assert.deepEqual([again.total, again.succeeded, again.failed], [240, 240, 0]);
    assert.equal(capturesAtHost(setup), 240);
    assert.deepEqual(capturedAtHost(setup), Array(240).fill(1000));
    await assertAgreement(setup);
  });

  // Spec: CARD-40
  test('a batch has two addresses, and no transaction has the same identifier', async () => {
    const setup = await createTestOrganization();
    const clientTransactionId = 'captureall';
    const saleBody = keyedSale({ captureMode: 'Deferred', clientTransactionId });
    assert.equal((await call(setup, 'POST', '/process', saleBody)).body.state, 'Authorized');
    const allowed = await call(setup, 'GET', `/${clientTransactionId}/allowedoperations`);
    assert.equal(allowed.status, 200, allowed.text);
    assert.equal((await call(setup, 'GET', `/${clientTransactionId}`)).body.state, 'Authorized');
    const captured = await call(setup, 'POST', `/${clientTransactionId}/capture`);
    assert.equal(captured.body.state, 'Captured', captured.text);
    const batch = await call(setup, 'POST', '/captureall');
    await completed(setup, batch);
    const [first, second] = [
      await readAt(setup, String(batch.headers['location'])),
      await call(setup, 'GET', `/captureall/${batch.body.batchId.toUpperCase()}`),
    ];
    assert.deepEqual([first?.status, second?.status], [200, 200], second?.text);
    assert.equal(first?.body.batchId, batch.body.batchId);
    assert.deepEqual(first?.body, second?.body);
  });

  test('a batch of another merchant is not found', async () => {
    const setup = await createTestOrganization();
    const abroad = await createTestOrganization();
    await sell(setup, 1);
    const batch = await completed(setup, await call(setup, 'POST', '/captureall', {}));
    const path = `/captureall/${batch.batchId}`;
    const otherMerchantRead = await call(setup, 'GET', path, undefined, setup.otherMerchant.token);
    assertProblem(otherMerchantRead, { code: 'batch_not_found', pointer: null });
    assertProblem(await call(abroad, 'GET', path), { code: 'batch_not_found', pointer: null });
    const same = { clientOperationId: 'shared' };
    const [ownItem, otherItem] = await Promise.all([
      call(setup, 'POST', '/captureall', same),
      call(setup, 'POST', '/captureall', same, setup.otherMerchant.token),
    ]);
    assert.notEqual(ownItem.body.batchId, otherItem.body.batchId);
  });
});
