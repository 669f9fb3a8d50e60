// Replays of QR requests return the original status, even if the payment has changed since.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { testDatabase } from '../support/database/test-database.ts';
import type { HttpResponse } from '../support/https-client.ts';
import { openQr, type TestQr } from './test-qr-merchant.ts';
import { type Json, nameOf, qrBase, type Reply } from './test-qr-provider.ts';

const completed = (sequence = 1) => ({ type: 'payment.completed', sequence });
const failing: Reply = { status: 500, body: {} };

function assertReplayed(answer: HttpResponse, status: number): void {
  assert.equal(answer.headers['idempotent-replayed'], 'true', answer.text);
  assert.equal(answer.status, status, answer.text);
}

describe('a repeated QR payment request', () => {
  let qr: TestQr;
  before(async () => {
    qr = await openQr();
  });
  after(() => qr.close());

  /**
   * The platform pauses calls to a provider that fails too often, so successful payments come
   * first.
   */
  const good = () => Promise.all([qr.begun(), qr.begun(), qr.begun(), qr.begun()]);

  async function paid(members: Json = {}): Promise<string> {
    await good();
    const id = await qr.begun(members);
    assert.equal((await qr.tell(id, completed())).status, 202);
    return id;
  }

  /** The test answers all calls of a kind about one payment. */
  function says(kind: string, id: string, reply: (body: Json) => Reply): void {
    qr.provider.script = (call) =>
      call.kind === kind && call.transactionId === id ? reply(call.body) : undefined;
  }

  // Spec: IDEM-14
  test('was answered later the first time, and is so again', async () => {
    await good();
    qr.provider.script = ({ kind }) => (kind === 'create' ? failing : undefined);
    const request = qr.request();
    const first = await qr.call('POST', qrBase, request);
    assert.deepEqual([first.status, first.body.status], [202, 'Created'], first.text);
    qr.provider.script = () => undefined;
    await qr.tell(first.body.transactionId, completed());
    const again = await qr.call('POST', qrBase, request);
    assertReplayed(again, 202);
    assert.deepEqual([again.body.status, again.body.answeredStatus], ['Completed', 'Created']);
    assert.equal(again.headers['location'], first.headers['location']);
    assert.equal(again.headers['retry-after'], undefined, 'nothing is left to wait for');
  });

  // Spec: IDEM-3
  test('is named by the header Idempotency-Key alone', async () => {
    await good();
    const { clientTransactionId: _id, ...body } = qr.request();
    const key = randomUUID();
    const create = (members: Json, name = key) =>
      qr.call('POST', qrBase, { ...body, ...members }, undefined, { 'idempotency-key': name });
    const first = await create({});
    assert.equal(first.body.clientTransactionId, key, first.text);
    const again = await create({});
    assertReplayed(again, first.status);
    assert.equal(again.body.answeredStatus, first.body.answeredStatus);
    assertReplayed(await create({ clientTransactionId: key }), first.status);
    const other = await create({ clientTransactionId: randomUUID() });
    assert.deepEqual([other.status, other.body.code], [422, 'idempotency_key_mismatch']);
    const withoutId = await qr.call('POST', qrBase, body);
    assert.deepEqual([withoutId.status, withoutId.body.code], [422, 'field_required']);
    assert.equal(withoutId.body.errors[0].pointer, '/clientTransactionId');
  });

  test('returns the first answered status if an event arrived before the create failed at the provider', async () => {
    await good();
    const reached = Promise.withResolvers<string>();
    const open = Promise.withResolvers<Reply>();
    qr.provider.script = ({ kind, transactionId }) => {
      if (kind !== 'create') return undefined;
      reached.resolve(transactionId);
      return open.promise;
    };
    const request = qr.request();
    const pending = qr.call('POST', qrBase, request);
    const id = await reached.promise;
    await qr.tell(id, { type: 'payment.pending', sequence: 1 });
    open.resolve(failing);
    const first = await pending;
    qr.provider.script = () => undefined;
    assert.deepEqual([first.status, first.body.status], [200, 'Pending'], first.text);
    await qr.tell(id, completed(2));
    const again = await qr.call('POST', qrBase, request);
    assertReplayed(again, 200);
    assert.deepEqual([again.body.status, again.body.answeredStatus], ['Completed', 'Pending']);
  });

  for (const [what, reply] of [
    ['no response', () => failing],
    ['is worked on', ({ refundId }: Json) => ({ body: { refundId, status: 'Pending' } })],
  ] as const) {
    // Spec: IDEM-14
    test(`as a refund that ${what} gets status 202 again, also after the refund has succeeded`, async () => {
      const id = await paid();
      const path = `${qrBase}/${id}/refund`;
      const body = { amount: 300, clientOperationId: randomUUID() };
      says('refund', id, reply);
      const first = await qr.call('POST', path, body);
      assert.deepEqual([first.status, first.body.operation.status], [202, 'Pending'], first.text);
      assertReplayed(await qr.call('POST', path, body), 202);
      const refundId = first.body.operation.operationId;
      const amount = { amount: 300, currency: 'EUR' };
      await qr.tell(id, { type: 'refund.completed', sequence: 2, refundId, amount });
      const again = await qr.call('POST', path, body);
      assertReplayed(again, 202);
      assert.equal(again.body.operation.status, 'Succeeded');
      assert.equal(again.headers['location'], first.headers['location']);
      assert.equal(again.headers['retry-after'], undefined);
    });
  }

  test('as a refund that was decided at once is so again', async () => {
    const id = await paid();
    const path = `${qrBase}/${id}/refund`;
    const body = { amount: 300, clientOperationId: randomUUID() };
    const first = await qr.call('POST', path, body);
    assert.deepEqual([first.status, first.body.operation.status], [200, 'Succeeded'], first.text);
    await qr.call('POST', path, { amount: 100 });
    const again = await qr.call('POST', path, body);
    assertReplayed(again, 200);
    assert.deepEqual(again.body.operation, first.body.operation);
    assert.equal(again.body.refundedAmount, 400);
  });

  test('as a cancel without an answer waits again, also once it is made', async () => {
    await good();
    const id = await qr.begun();
    const path = `${qrBase}/${id}/cancel`;
    const body = { clientOperationId: randomUUID() };
    says('cancel', id, () => failing);
    const first = await qr.call('POST', path, body);
    assert.deepEqual([first.status, first.body.operation.status], [202, 'Pending'], first.text);
    await qr.tell(id, { type: 'payment.cancelled', sequence: 1 });
    const again = await qr.call('POST', path, body);
    assertReplayed(again, 202);
    assert.deepEqual([again.body.status, again.body.operation.status], ['Cancelled', 'Succeeded']);
  });

  for (const verb of ['refund', 'cancel'] as const) {
    // Spec: IDEM-14
    test(`sent twelve times in parallel runs once and returns the same operation each time: ${verb}`, async () => {
      await good();
      const id = verb === 'refund' ? await paid() : await qr.begun();
      const body = { clientOperationId: randomUUID() };
      const all = await Promise.all(
        Array.from({ length: 12 }, () => qr.call('POST', `${qrBase}/${id}/${verb}`, body)),
      );
      for (const { status, body: told, text } of all) {
        assert.equal(status, 200, text);
        assert.deepEqual(told.operation, all[0]?.body.operation);
      }
      assert.equal(all[0]?.body.operation.status, 'Succeeded');
      const firstAnswers = all.filter(
        ({ headers }) => headers['idempotent-replayed'] === undefined,
      );
      assert.equal(firstAnswers.length, 1);
      assert.equal(qr.provider.of(verb, id).length, 1);
    });
  }

  /** Changes the currency, as if it had been valid when the payment was created. */
  async function madeIn(currency: string, id: string): Promise<void> {
    const database = await testDatabase();
    await database.query(
      `UPDATE qr_transactions SET currency = $3,
          facts = jsonb_set(facts, '{request,paymentAmount}', to_jsonb('1050 ' || $3::text))
        WHERE organization_id = $1 AND transaction_id = $2`,
      [qr.organization.organizationId, id, currency],
    );
  }

  // Spec: IDEM-15
  test('in a withdrawn currency is replayed, and a new payment in this currency is refused', async () => {
    const request = qr.request();
    const first = await qr.call('POST', qrBase, request);
    await madeIn('BGN', first.body.transactionId);
    const inLev = { ...request, paymentAmount: { amount: 1050, currency: 'BGN' } };
    const again = await qr.call('POST', qrBase, inLev);
    assertReplayed(again, 200);
    assert.equal(again.body.transactionId, first.body.transactionId);
    const other = await qr.call('POST', qrBase, { ...inLev, order: { orderDescription: 'x' } });
    assert.deepEqual([other.status, other.body.code], [422, 'client_id_reused']);
    const late = await qr.create({ paymentAmount: inLev.paymentAmount });
    assert.deepEqual([late.status, late.body.code], [422, 'currency_unknown']);
  });

  test('for a disabled store is replayed, and a new payment for this store is refused', async () => {
    const request = qr.request();
    const first = await qr.call('POST', qrBase, request);
    const { stores } = qr.organization.platform.provisioning;
    const { organizationId } = qr.organization;
    const { storeId } = qr.merchant;
    const become = async (status: 'Enabled' | 'Disabled') => {
      const { view } = await stores.get({ organizationId }, storeId);
      await stores.replace({ organizationId }, storeId, { ...view, status });
    };
    await become('Disabled');
    const again = await qr.call('POST', qrBase, request);
    assertReplayed(again, 200);
    assert.deepEqual(again.body, first.body);
    assert.equal(again.body.providerTransactionId, nameOf(first.body.transactionId));
    const late = await qr.create();
    assert.deepEqual([late.status, late.body.code], [403, 'store_not_active'], late.text);
    await become('Enabled');
  });
});
