// Batch captures with hundreds of items: filtered, resumed, replayed, and each captured exactly
// once.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { defined } from '@switchyard/contract';
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
  on: TestOrganization,
  method: string,
  path: string,
  body?: unknown,
  token = on.merchant.token,
) {
  const options = { token, ...defined({ body }) };
  return on.client.call(method, base + path, options);
}

/**
 * Sends `count` sales in parallel groups and returns the responses in the order of the requests.
 */
async function sell(on: TestOrganization, count: number, members: Record<string, unknown> = {}) {
  const answers: HttpResponse[] = [];
  const one = () =>
    call(on, 'POST', '/process', keyedSale({ amount: 1000, captureMode: 'Deferred', ...members }));
  while (answers.length < count) {
    const length = Math.min(count - answers.length, 40);
    answers.push(...(await Promise.all(Array.from({ length }, one))));
  }
  for (const { body, text } of answers) assert.equal(body.state, 'Authorized', text);
  return answers.map(({ body }) => body as { transactionId: string; createdAt: string });
}

const completed = (on: TestOrganization, { body }: HttpResponse) =>
  until(
    async () => {
      const { body: now } = await call(on, 'GET', `/captureall/${body.batchId}`);
      return now.state === 'Completed' ? now : undefined;
    },
    'the batch to be completed',
    60_000,
  );

async function allItems(on: TestOrganization, batchId: string, limit: number): Promise<Item[]> {
  const items: Item[] = [];
  let cursor = '';
  for (;;) {
    const path = `/captureall/${batchId}?limit=${limit}${cursor}`;
    const { body, status, text } = await call(on, 'GET', path);
    assert.equal(status, 200, text);
    assert.ok(body.items.length <= limit);
    items.push(...body.items);
    if (body.nextCursor === null) return items;
    assert.equal(body.items.length, limit, 'a page that is not the last is full');
    cursor = `&cursor=${body.nextCursor}`;
  }
}

/** The captured amounts of the shop's original sales at the host. */
function capturedAtHost(on: TestOrganization): number[] {
  const { originals } = on.host.ledger();
  const own = originals.filter(({ merchant }) => merchant === on.merchant.merchantNumber);
  return own.map(({ captured }) => captured);
}

function capturesAtHost(on: TestOrganization): number {
  const { totals } = on.host.ledger();
  const own = totals.filter(({ merchant }) => merchant === on.merchant.merchantNumber);
  return own.reduce((sum, { captures }) => sum + captures, 0);
}

/** Reads a batch at the address in the response to its request. */
const readAt = (on: TestOrganization, address: string) =>
  on.client.call('GET', address, { token: on.merchant.token });

describe('a capture of all', { concurrency: 4 }, () => {
  test(`captures ${many} sales once each, and shows them page by page`, async () => {
    const on = await createTestOrganization();
    const sold = await sell(on, many);
    const before = await countRows(on.organizationId);
    const dry = await call(on, 'POST', '/captureall', { dryRun: true });
    assert.equal(dry.status, 200, dry.text);
    assert.deepEqual([dry.body.total, dry.body.items.length], [many, 200]);
    assert.ok(!('nextCursor' in dry.body), 'it does not say that this is all of it');
    for (const { status, amount, currency } of dry.body.items) {
      assert.deepEqual([status, amount, currency], ['Planned', 1000, 'EUR']);
    }
    const after = await countRows(on.organizationId);
    assert.deepEqual(after, before);
    assert.equal(capturesAtHost(on), 0);

    const request = { clientOperationId: 'day-1' };
    // Two concurrent requests create one batch.
    const [first, second] = await Promise.all([
      call(on, 'POST', '/captureall', request),
      call(on, 'POST', '/captureall', request),
    ]);
    assert.ok(first && second);
    assert.deepEqual([first.status, second.status], [202, 202], first.text + second.text);
    assert.equal(first.body.batchId, second.body.batchId);
    assert.equal(first.headers['location'], `${batches}/${first.body.batchId}`);
    const replayed = [first, second].filter((each) => each.headers['idempotent-replayed']);
    assert.equal(replayed.length, 1);
    const done = await completed(on, first);
    assert.deepEqual([done.total, done.succeeded, done.failed], [many, many, 0]);
    assert.ok(done.completedAt >= done.createdAt);
    for (const limit of [37, 200]) {
      const items = await allItems(on, done.batchId, limit);
      assert.deepEqual(
        items.map(({ transactionId }) => transactionId),
        sold.map(({ transactionId }) => transactionId).sort(),
      );
      assert.ok(items.every(({ status }) => status === 'Succeeded'));
    }
    const again = await call(on, 'POST', '/captureall', request);
    assert.equal(again.body.batchId, done.batchId);
    assert.equal(again.headers['idempotent-replayed'], 'true');
    const other = await call(on, 'POST', '/captureall', { ...request, currency: 'EUR' });
    assertProblem(other, { code: 'client_id_reused', pointer: '/currency' });
    const none = await call(on, 'POST', '/captureall', { clientOperationId: 'day-2' });
    assert.deepEqual([none.body.state, none.body.total], ['Completed', 0]);
    assert.deepEqual(capturedAtHost(on), Array(many).fill(1000));
    assert.equal(capturesAtHost(on), many);
    await assertAgreement(on);
  });

  test('takes what store, currency and time select, and leaves the rest', async () => {
    const on = await createTestOrganization();
    const scope = { organizationId: on.organizationId };
    const { merchantId, storeId } = on.merchant;
    const branch = await on.platform.provisioning.stores.create(scope, {
      merchantId,
      name: 'Branch',
    });
    const branchId = branch.view.storeId;
    await sell(on, 3, { storeId });
    await sell(on, 2, { storeId: branchId });
    const [last] = await sell(on, 1, { storeId, currency: 'JPY' });
    const plan = async (body: Record<string, unknown>) =>
      (await call(on, 'POST', '/captureall', { ...body, dryRun: true })).body.total;
    assert.equal(await plan({}), 6);
    assert.equal(await plan({ storeId: branchId.toUpperCase() }), 2);
    assert.equal(await plan({ storeId, currency: 'EUR' }), 3);
    assert.equal(await plan({ currency: 'JPY', merchantId }), 1);
    assert.equal(await plan({ currency: 'USD' }), 0);
    assert.equal(await plan({ authorizedBefore: last?.createdAt }), 5);
    assert.equal(await plan({ authorizedBefore: '2020-01-01T00:00:00+01:00' }), 0);
    const foreign = { storeId: on.otherMerchant.storeId, dryRun: true };
    assert.equal((await call(on, 'POST', '/captureall', foreign)).body.code, 'store_not_found');

    const token = await on.tokenFor({
      name: 'till of the branch',
      entityType: 'merchant',
      entityId: merchantId,
      merchantId,
      storeId: branchId,
      roles: ['PointOfSaleTerminal'],
    });
    const elsewhere = await call(on, 'POST', '/captureall', { storeId }, token);
    assertProblem(elsewhere, { code: 'entity_out_of_scope' });
    const own = await call(on, 'POST', '/captureall', { clientOperationId: 'b-1' }, token);
    const done = await completed(on, own);
    assert.deepEqual([done.total, done.succeeded], [2, 2]);
    const rest = await completed(on, await call(on, 'POST', '/captureall', {}));
    assert.deepEqual([rest.total, rest.succeeded], [4, 4]);
    // A till cannot see a batch of the whole merchant.
    const hidden = await call(on, 'GET', `/captureall/${rest.batchId}`, undefined, token);
    assertProblem(hidden, { code: 'batch_not_found' });
    assert.equal(
      (await call(on, 'GET', `/captureall/${done.batchId}`, undefined, token)).status,
      200,
    );
    await assertAgreement(on);
  });

  test('what is named is captured by its amount, and each failure is the item’s own', async () => {
    const on = await createTestOrganization();
    const amount = 20_000;
    const sold = (await sell(on, 8, { amount })).map(({ transactionId }) => transactionId);
    const [whole, part, slow, declined, tooMuch, unanswered, captured, open] = sold;
    assert.ok(captured !== undefined && open !== undefined);
    await call(on, 'POST', `/${captured}/capture`);
    const sale = await call(on, 'POST', '/process', keyedSale({ amount: 9051 }));
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
    const done = await completed(on, await call(on, 'POST', '/captureall', { items }));
    assert.deepEqual([done.total, done.succeeded, done.failed], [8, 4, 4]);
    const told = Object.fromEntries(
      done.items.map((each: Item) => [each.transactionId, each.code ?? each.status]),
    );
    assert.deepEqual(
      items.map(({ transactionId }) => told[String(transactionId)]),
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
      sold.map(async (id) => (await call(on, 'GET', `/${id}`)).body.capturedAmount),
    );
    assert.deepEqual(amounts, [amount, 7000, 9098, 0, 0, 9091, amount, 0]);
    await assertAgreement(on);
  });

  test('what is named has to be what the request selects, or nothing is captured', async () => {
    const on = await createTestOrganization();
    const scope = { organizationId: on.organizationId };
    const { merchantId, storeId } = on.merchant;
    const branch = await on.platform.provisioning.stores.create(scope, {
      merchantId,
      name: 'Branch',
    });
    const [here] = await sell(on, 1, { storeId });
    const [yen] = await sell(on, 1, { storeId, currency: 'JPY' });
    assert.ok(here !== undefined && yen !== undefined);
    const items = [here, yen].map(({ transactionId }) => ({ transactionId }));
    const before = await countRows(on.organizationId);
    for (const [selection, code, index] of [
      [{ currency: 'EUR' }, 'currency_mismatch', 1],
      [{ storeId: branch.view.storeId }, 'transaction_not_found', 0],
      [{ authorizedBefore: yen.createdAt }, 'field_invalid', 1],
      [{ authorizedBefore: '2020-01-01T00:00:00Z' }, 'field_invalid', 0],
    ] as const) {
      for (const dryRun of [true, false]) {
        const refused = await call(on, 'POST', '/captureall', { items, ...selection, dryRun });
        assertProblem(refused, { code, pointer: `/items/${index}/transactionId` });
      }
    }
    assert.deepEqual(await countRows(on.organizationId), before);
    const selection = { storeId, currency: 'EUR', authorizedBefore: yen.createdAt };
    const request = { ...selection, items: items.slice(0, 1) };
    const done = await completed(on, await call(on, 'POST', '/captureall', request));
    assert.deepEqual([done.total, done.succeeded], [1, 1]);
    await assertAgreement(on);
  });

  test('goes on where it was interrupted, and captures nothing twice', async (t) => {
    const tap = await startAcquirerRelay((await testPlatform()).host.port);
    t.after(tap.close);
    const on = await createTestOrganization({}, { acquirerPort: tap.port });
    await sell(on, 240);
    const batch = await call(on, 'POST', '/captureall', {});
    // The link goes down during the batch.
    await until(() => (capturesAtHost(on) > 20 ? true : undefined), 'some captures');
    await tap.close();
    const half = (await call(on, 'GET', `/captureall/${batch.body.batchId}`)).body;
    assert.equal(half.state, 'Running');
    await tap.startListening();
    const done = await completed(on, batch);
    assert.deepEqual([done.total, done.succeeded, done.failed], [240, 240, 0]);
    assert.equal(capturesAtHost(on), 240);

    // The state after a process that died between the captures and their record.
    const database = await testDatabase();
    const key = [on.organizationId, done.batchId];
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
        `INSERT INTO jobs (organization_id, job_id, kind, payload, due_at, attempts, created_at)
          VALUES ($1, $3, 'payments.batch-capture', jsonb_build_object('batchId', $2::uuid), now(), 0,
            now())`,
        [...key, randomUUID()],
      );
    }
    const again = await completed(on, batch);
    assert.deepEqual([again.total, again.succeeded, again.failed], [240, 240, 0]);
    assert.equal(capturesAtHost(on), 240);
    assert.deepEqual(capturedAtHost(on), Array(240).fill(1000));
    await assertAgreement(on);
  });

  test('a batch is read at both of its addresses, and no transaction is hidden behind one', async () => {
    const on = await createTestOrganization();
    const clientTransactionId = 'captureall';
    const named = keyedSale({ captureMode: 'Deferred', clientTransactionId });
    assert.equal((await call(on, 'POST', '/process', named)).body.state, 'Authorized');
    const allowed = await call(on, 'GET', `/${clientTransactionId}/allowedoperations`);
    assert.equal(allowed.status, 200, allowed.text);
    assert.equal((await call(on, 'GET', `/${clientTransactionId}`)).body.state, 'Authorized');
    const captured = await call(on, 'POST', `/${clientTransactionId}/capture`);
    assert.equal(captured.body.state, 'Captured', captured.text);
    const batch = await call(on, 'POST', '/captureall');
    await completed(on, batch);
    const [first, second] = [
      await readAt(on, String(batch.headers['location'])),
      await call(on, 'GET', `/captureall/${batch.body.batchId.toUpperCase()}`),
    ];
    assert.deepEqual([first?.status, second?.status], [200, 200], second?.text);
    assert.equal(first?.body.batchId, batch.body.batchId);
    assert.deepEqual(first?.body, second?.body);
  });

  test('a batch of somebody else is not there', async () => {
    const on = await createTestOrganization();
    const abroad = await createTestOrganization();
    await sell(on, 1);
    const batch = await completed(on, await call(on, 'POST', '/captureall', {}));
    const path = `/captureall/${batch.batchId}`;
    const rival = await call(on, 'GET', path, undefined, on.otherMerchant.token);
    assertProblem(rival, { code: 'batch_not_found', pointer: null });
    assertProblem(await call(abroad, 'GET', path), { code: 'batch_not_found', pointer: null });
    const same = { clientOperationId: 'shared' };
    const [mine, theirs] = await Promise.all([
      call(on, 'POST', '/captureall', same),
      call(on, 'POST', '/captureall', same, on.otherMerchant.token),
    ]);
    assert.notEqual(mine.body.batchId, theirs.body.batchId);
  });
});
