// Whole run: much is made, or waited for, before it shows.
// A refund without a response from the provider is held after one day; a user then asks again,
// retries or settles it.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { testDatabase } from '../support/database/test-database.ts';
import { until } from '../support/wait-for-result.ts';
import { openQr, type TestQr } from './test-qr-merchant.ts';
import { type Json, qrBase } from './test-qr-provider.ts';

const reason = 'RefundUnanswered';
const refundOf = ({ operations }: Json): Json =>
  operations.find(({ kind }: Json) => kind === 'Refund');

describe('a refund without an answer', () => {
  let qr: TestQr;
  before(async () => {
    qr = await openQr();
  });
  after(() => qr.close());

  const resolve = (id: string, decision: Json, token = qr.merchant.token) =>
    qr.call('POST', `${qrBase}/${id}/resolve`, decision, token);

  /** Sets the refund's age so that the server asks once more and then stops. */
  async function age(id: string): Promise<void> {
    const database = await testDatabase();
    await database.query(
      `UPDATE qr_operations SET created_at = now() - interval '25 hours'
        WHERE organization_id = $1 AND transaction_id = $2`,
      [qr.organization.organizationId, id],
    );
    await database.query(
      `UPDATE qr_transactions SET due_at = now() WHERE organization_id = $1 AND transaction_id = $2`,
      [qr.organization.organizationId, id],
    );
  }

  /** The provider gives no usable response about the refunds of one payment. */
  function silentAbout(id: string, says: Partial<Record<'refund' | 'refundStatus', Json>> = {}) {
    qr.provider.script = ({ kind, transactionId }) => {
      if (transactionId !== id || (kind !== 'refund' && kind !== 'refundStatus')) return undefined;
      return { status: 500, body: {}, ...says[kind] };
    };
  }

  async function createUnansweredRefund(
    amount = 400,
  ): Promise<{ id: string; refund: Json; request: Json }> {
    // The platform pauses calls to a provider that fails too often, so successful payments come
    // first.
    await Promise.all([qr.begun(), qr.begun(), qr.begun(), qr.begun()]);
    const id = await qr.begun();
    const paid = { amount: 1050, currency: 'EUR' };
    await qr.tell(id, { type: 'payment.completed', amount: paid, sequence: 1 });
    silentAbout(id);
    const request = { amount, clientOperationId: randomUUID() };
    const { status, body } = await qr.call('POST', `${qrBase}/${id}/refund`, request);
    assert.deepEqual([status, body.operation.status], [202, 'Pending']);
    await age(id);
    const payment = await qr.becomes(id, (each) => each['hold'] !== undefined, 'the hold');
    assert.deepEqual(payment['hold'], { reason, amount, currency: 'EUR' });
    return { id, refund: refundOf(payment), request };
  }

  test('puts the payment under review, appears in the list and in the feed, and blocks further refunds', async () => {
    const { id, refund, request } = await createUnansweredRefund();
    assert.equal(refund['status'], 'Unanswered');
    const payment = await qr.get(id);
    assert.equal(payment['status'], 'Completed');
    const { type, reason: why, operation } = payment['events'].at(-1);
    assert.deepEqual([type, why], ['qr.refund_unanswered', 'Unanswered']);
    assert.equal(operation.operationId, refund['operationId']);
    const again = await qr.call('POST', `${qrBase}/${id}/refund`, request);
    assert.deepEqual([again.status, again.body.operation.status], [202, 'Unanswered'], again.text);
    assert.equal(again.headers['idempotent-replayed'], 'true');
    const other = await qr.call('POST', `${qrBase}/${id}/refund`, { amount: 100 });
    assert.deepEqual([other.status, other.body.code], [409, 'payment_held']);
    const { body } = await qr.call('GET', `${qrBase}?held=true`, undefined, qr.merchant.token);
    assert.ok(body.items.some(({ transactionId }: Json) => transactionId === id));
    const feedEvent = await until(async () => {
      const feed = '/events/v1?types=qr.refund_unanswered';
      const { body: page, text } = await qr.call(
        'GET',
        feed,
        undefined,
        qr.organization.acquirerToken,
      );
      assert.ok(Array.isArray(page.items), text);
      return page.items.find(({ data }: Json) => data.transactionId === id);
    }, 'the event in the feed');
    assert.deepEqual([feedEvent.data.refundAmount, feedEvent.data.paidAmount], [400, undefined]);
    const alarm = qr.organization.logLines.find(
      (line) => line.includes(id) && line.includes('unanswered'),
    );
    assert.match(String(alarm), /needs manual review/);
  });

  test('succeeds if the status query finds it completed, although the provider refuses its retry', async () => {
    await Promise.all([qr.begun(), qr.begun(), qr.begun(), qr.begun()]);
    const id = await qr.begun();
    await qr.tell(id, { type: 'payment.completed', sequence: 1 });
    silentAbout(id, { refundStatus: { status: 422, body: {} } });
    const { body } = await qr.call('POST', `${qrBase}/${id}/refund`, { amount: 400 });
    const { operationId: refundId, status } = body.operation;
    assert.equal(status, 'Pending');
    silentAbout(id, {
      refund: { status: 413, body: {} },
      refundStatus: { status: 200, body: { refundId, status: 'Completed' } },
    });
    const isOver = (each: Json) => refundOf(each)['status'] !== 'Pending';
    const payment = await qr.becomes(id, isOver, 'the end of the refund');
    assert.deepEqual([refundOf(payment)['status'], payment['refundedAmount']], ['Succeeded', 400]);
  });

  test('is no matter of the device, and takes no decision that is not its own', async () => {
    const { id } = await createUnansweredRefund();
    const device = await resolve(id, { resolution: 'Retry' }, qr.deviceToken);
    assert.equal(device.status, 403);
    for (const resolution of ['Accept', 'Refund']) {
      const { status, body } = await resolve(id, { resolution });
      assert.deepEqual([status, body.code], [409, 'resolution_not_possible']);
      assert.deepEqual(body.allowedResolutions, ['Ask', 'Retry', 'Settle']);
    }
    const unsaid = await resolve(id, { resolution: 'Settle' });
    assert.deepEqual([unsaid.status, unsaid.body.errors[0].pointer], [422, '/note']);
  });

  // Spec: QRPROV-19
  test('is looked at with its provider, whose word counts and whose silence does not', async () => {
    const { id, refund } = await createUnansweredRefund();
    const silent = await resolve(id, { resolution: 'Ask' });
    assert.deepEqual([silent.status, silent.body.code], [504, 'provider_timeout'], silent.text);
    silentAbout(id, { refundStatus: { status: 404, body: { code: 'refund_not_found' } } });
    const unknown = await resolve(id, { resolution: 'Ask' });
    assert.deepEqual([unknown.status, unknown.body.hold.reason], [200, reason], unknown.text);
    const { operationId: refundId } = refund;
    const other = { refundId, status: 'Completed', amount: { amount: 399, currency: 'EUR' } };
    silentAbout(id, { refundStatus: { status: 200, body: other } });
    const differs = await resolve(id, { resolution: 'Ask' });
    assert.deepEqual([differs.status, differs.body.hold.reason], [200, reason], differs.text);
    const noted = (await qr.get(id))['events'].at(-1);
    assert.deepEqual([noted.type, noted.reason, noted.amount], ['qr.noted', 'AmountDiffers', 399]);
    silentAbout(id, { refundStatus: { status: 200, body: { refundId, status: 'Completed' } } });
    const refundCalls = qr.provider.of('refund', id).length;
    const { status, body } = await resolve(id, { resolution: 'Ask' });
    assert.deepEqual([status, body.status, body.hold], [200, 'PartiallyRefunded', undefined]);
    assert.equal(body.refundedAmount, 400);
    assert.equal(qr.provider.of('refund', id).length, refundCalls, 'looking asks for nothing');
    const event = (await qr.get(id))['events'].at(-1);
    assert.equal(event.type, 'qr.refunded');
    assert.ok(event.actor.length > 0, 'the user who requested the query');
  });

  test('that is worked on after all is waited for again', async () => {
    const { id, refund } = await createUnansweredRefund();
    const { operationId: refundId } = refund;
    silentAbout(id, { refundStatus: { status: 200, body: { refundId, status: 'Pending' } } });
    const { body } = await resolve(id, { resolution: 'Ask' });
    assert.deepEqual([body.hold, refundOf(body)['status']], [undefined, 'Pending']);
    silentAbout(id, { refundStatus: { status: 200, body: { refundId, status: 'Completed' } } });
    await qr.becomes(id, (each) => each['refundedAmount'] === 400, 'the refund');
  });

  // Spec: QRPROV-19
  test('is retried under the same refund id, and only one of six parallel retry requests succeeds', async () => {
    const { id, refund } = await createUnansweredRefund();
    qr.provider.script = () => undefined;
    const all = await Promise.all(
      Array.from({ length: 6 }, () => resolve(id, { resolution: 'Retry' })),
    );
    const codes = all.map(({ status, body }) => (status === 200 ? 'done' : body.code));
    assert.equal(codes.filter((each) => each === 'done').length, 1, codes.join());
    assert.ok(
      codes.every((each) => each === 'done' || each === 'payment_not_held'),
      codes.join(),
    );
    const payment = await qr.becomes(id, (each) => each['refundedAmount'] === 400, 'the refund');
    assert.equal(payment['hold'], undefined);
    const names = new Set(qr.provider.of('refund', id).map(({ body }) => body['refundId']));
    assert.deepEqual([...names], [refund['operationId']]);
    const decided = payment['events'].find(({ type }: Json) => type === 'qr.resolved');
    assert.deepEqual([decided.reason, decided.actor.length > 0], ['Retry', true]);
    const path = `/audit/v1/records?action=qrPayment.resolved&entityId=${id}`;
    const { body } = await qr.call('GET', path, undefined, qr.organization.acquirerToken);
    assert.equal(body.items.length, 1, JSON.stringify(body));
    const { before: stood, after: stands, actor } = body.items[0];
    assert.deepEqual([stood.hold, stands.hold, stands.resolution], [reason, null, 'Retry']);
    assert.equal(actor.subject, decided.actor);
  });

  test('goes under review again if a retry has no response for a day', async () => {
    const { id } = await createUnansweredRefund();
    await resolve(id, { resolution: 'Retry' });
    const database = await testDatabase();
    const since = new Date(Date.now() - 25 * 3_600_000).toISOString();
    await database.query(
      `UPDATE qr_operations SET details = details || jsonb_build_object('askedSince', $3::text)
        WHERE organization_id = $1 AND transaction_id = $2`,
      [qr.organization.organizationId, id, since],
    );
    await age(id);
    await qr.becomes(id, (each) => each['hold'] !== undefined, 'the second hold');
  });

  test('can be settled with a note, and later provider events then change no amount', async () => {
    const { id, refund } = await createUnansweredRefund();
    const note = 'Paid back by a transfer of 22 November.';
    const { status, body } = await resolve(id, { resolution: 'Settle', note });
    assert.equal(status, 200);
    assert.deepEqual([body.hold, body.settledAmount, body.refundedAmount], [undefined, 400, 0]);
    assert.equal(refundOf(body)['status'], 'Failed');
    const { operationId: refundId } = refund;
    await qr.tell(id, { type: 'refund.declined', refundId, sequence: 2 });
    await qr.tell(id, { type: 'refund.completed', refundId, sequence: 3 });
    const rest = await qr.call('POST', `${qrBase}/${id}/refund`, { amount: 651 });
    assert.deepEqual([rest.body.code, rest.body.maxAmount], ['refund_amount_exceeded', 650]);
    const payment = await qr.get(id);
    assert.deepEqual([payment['settledAmount'], payment['refundedAmount']], [400, 0]);
  });

  test('is ended by an event of its provider, however late', async () => {
    const { id, refund } = await createUnansweredRefund();
    const { operationId: refundId } = refund;
    const response = await qr.tell(id, { type: 'refund.completed', refundId, sequence: 2 });
    assert.equal(response.status, 202, response.text);
    const { hold, status, refundedAmount } = await qr.get(id);
    assert.deepEqual([hold, status, refundedAmount], [undefined, 'PartiallyRefunded', 400]);
  });
});
