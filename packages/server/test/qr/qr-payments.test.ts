// QR payments from a terminal to a provider's server and back, over TLS and a real database.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { ErrorCode } from '@switchyard/contract';
import { assertProblem } from '../support/assert-problem-response.ts';
import { testDatabase } from '../support/database/test-database.ts';
import { openQr, type TestQr } from './test-qr-merchant.ts';
import { type Json, nameOf, qrBase, sampleCode } from './test-qr-provider.ts';

describe('a QR payment', () => {
  let qr: TestQr;
  before(async () => {
    qr = await openQr();
  });
  after(() => qr.close());

  // Spec: SVC-24 QRREQ-5 QRREQ-6 QRREQ-7 QRREQ-8 QR-2 EVT-1 EVT-3 VER-5
  test('is sent to the provider with the data of the merchant, and returns the code to display', async () => {
    const order = { orderId: randomUUID(), orderDescription: 'Table 12' };
    const request = qr.request({ order });
    const answer = await qr.call('POST', qrBase, request);
    assert.equal(answer.status, 200, answer.text);
    const { transactionId } = answer.body;
    assert.equal(answer.body.status, 'Pending');
    assert.equal(answer.body.answeredStatus, 'Pending');
    assert.equal(answer.body.effectiveScenario, 'consumerscan');
    assert.deepEqual(answer.body.display, { type: 'text/emvqr', data: sampleCode });
    assert.equal(answer.body.clientTransactionId, request['clientTransactionId']);
    const [sent] = qr.provider.of('create', transactionId);
    assert.ok(sent !== undefined);
    const { merchant } = sent.body;
    assert.equal(merchant.merchantId, qr.merchant.merchantId);
    assert.equal(merchant.acquirerId, qr.organization.organizationId);
    assert.equal(merchant.storeId, qr.merchant.storeId);
    assert.equal(merchant.terminalId, qr.merchant.deviceIds[0]);
    assert.equal(merchant.mcc, '5411');
    assert.equal(merchant.country, 'FR');
    assert.deepEqual(sent.body['amount'], { amount: 1050, currency: 'EUR' });
    assert.deepEqual(sent.body['order'], order);
    assert.equal(sent.body['scannedPaymentId'], undefined);
    assert.match(sent.body['eventsUrl'], new RegExp(`${transactionId}/events$`));
  });

  // Spec: EVT-5 EVT-6
  test('is completed by the events of its provider, each acknowledged once it is durable', async () => {
    const id = await qr.begun();
    for (const [sequence, type] of ['payment.scanned', 'payment.authorized'].entries()) {
      const response = await qr.tell(id, { type, sequence: sequence + 1 });
      assert.equal(response.status, 202, response.text);
      assert.equal(response.body.result, 'Stored');
    }
    const amount = { amount: 1050, currency: 'EUR' };
    const payer = { maskedId: 'a***@example.com' };
    await qr.tell(id, { type: 'payment.completed', sequence: 3, amount, payer });
    const payment = await qr.get(id);
    assert.equal(payment['status'], 'Completed');
    assert.equal(payment['paidAmount'], 1050);
    assert.equal(payment['display'], undefined);
    assert.equal(payment['providerTransactionId'], nameOf(id));
    assert.deepEqual(payment['payer'], payer);
    assert.deepEqual(
      payment['events'].map(({ sequence, type }: Json) => [sequence, type]),
      [
        [1, 'qr.created'],
        [2, 'qr.pending'],
        [3, 'qr.scanned'],
        [4, 'qr.authorized'],
        [5, 'qr.completed'],
      ],
    );
  });

  // Spec: QRREQ-3
  test('the platform sends the scanned code to the provider and does not store or log it', async () => {
    const scannedPaymentId = `4${'1'.repeat(15)}`;
    qr.provider.script = ({ kind, transactionId }) =>
      kind === 'create'
        ? { body: { providerTransactionId: nameOf(transactionId), status: 'Completed' } }
        : undefined;
    const answer = await qr.create({ scannedPaymentId, paymentScenario: 'ConsumerScan' });
    qr.provider.script = () => undefined;
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.body.status, 'Completed');
    assert.equal(answer.body.effectiveScenario, 'merchantscan');
    assert.equal(answer.body.paymentScenario, 'ConsumerScan');
    const { transactionId } = answer.body;
    const [sent] = qr.provider.of('create', transactionId);
    assert.equal(sent?.body['scannedPaymentId'], scannedPaymentId);
    assert.equal(sent?.body['paymentScenario'], 'merchantscan');
    const database = await testDatabase();
    const rows = await database.query<{ text: string }>(
      `SELECT to_jsonb(t)::text || coalesce((SELECT string_agg(to_jsonb(e)::text, ' ')
         FROM qr_events e WHERE e.bucket = t.bucket AND e.transaction_id = t.transaction_id), '') AS text
       FROM qr_transactions t WHERE transaction_id = $1`,
      [transactionId],
    );
    assert.equal(rows.length, 1);
    assert.ok(!JSON.stringify(rows).includes(scannedPaymentId));
    assert.ok(!qr.organization.logLines.join('').includes(scannedPaymentId));
  });

  test('a decline is no error, and a provider that answers later sends the code as an event', async () => {
    qr.provider.script = ({ kind, transactionId }) =>
      kind === 'create'
        ? {
            body: {
              providerTransactionId: nameOf(transactionId),
              status: 'Declined',
              failure: { code: 'insufficient_funds', text: 'Not enough money.' },
            },
          }
        : undefined;
    const declined = await qr.create();
    assert.equal(declined.status, 200, declined.text);
    assert.equal(declined.body.status, 'Declined');
    assert.equal(declined.body.failure.code, 'insufficient_funds');
    qr.provider.script = ({ kind, transactionId }) =>
      kind === 'create'
        ? { body: { providerTransactionId: nameOf(transactionId), status: 'Created' } }
        : undefined;
    const later = await qr.create();
    qr.provider.script = () => undefined;
    assert.equal(later.status, 202, later.text);
    assert.equal(later.body.status, 'Created');
    assert.equal(later.body.display, undefined);
    const { transactionId } = later.body;
    assert.equal(later.headers['location'], `${qrBase}/${transactionId}`);
    const display = { type: 'text/emvqr', data: sampleCode };
    const response = await qr.tell(transactionId, {
      type: 'payment.pending',
      sequence: 1,
      display,
    });
    assert.equal(response.status, 202, response.text);
    const { body } = await qr.call('GET', `${qrBase}/${transactionId}/events?after=2`);
    assert.deepEqual(
      body.events.map(({ type, display: shown }: Json) => [type, shown]),
      [['qr.pending', display]],
    );
    assert.deepEqual([body.nextAfter, body.isFinal], [3, false]);
  });

  test('the terminal waits for the next event, and can read missed events later', async () => {
    const id = await qr.begun();
    const waiting = qr.call('GET', `${qrBase}/${id}/events?after=2&wait=20`);
    await qr.tell(id, { type: 'payment.scanned', sequence: 1 });
    const { body } = await waiting;
    assert.deepEqual(
      body.events.map(({ type }: Json) => type),
      ['qr.scanned'],
    );
    await qr.tell(id, { type: 'payment.completed', sequence: 2 });
    const again = await qr.call('GET', `${qrBase}/${id}/events?after=${body.nextAfter}`);
    assert.deepEqual([again.body.events[0].type, again.body.isFinal], ['qr.completed', true]);
    const stream = await qr.organization.client.call('GET', `${qrBase}/${id}/events`, {
      token: qr.deviceToken,
      headers: { accept: 'text/event-stream', 'last-event-id': '2' },
    });
    assert.equal(stream.status, 200, stream.text);
    assert.match(stream.text, /id: 3\nevent: qr\.scanned\n/);
    assert.match(stream.text, /id: 4\nevent: qr\.completed\n/);
  });

  // Spec: QRPROV-2
  test('is refunded in parts up to the paid amount, by response or by event', async () => {
    const id = await qr.begun();
    await qr.tell(id, { type: 'payment.completed', sequence: 1 });
    const part = await qr.call('POST', `${qrBase}/${id}/refund`, { amount: 400 });
    assert.equal(part.status, 200, part.text);
    assert.equal(part.body.status, 'PartiallyRefunded');
    assert.equal(part.body.operation.status, 'Succeeded');
    const tooMuch = await qr.call('POST', `${qrBase}/${id}/refund`, { amount: 651 });
    assert.deepEqual(
      [tooMuch.status, tooMuch.body.code, tooMuch.body.maxAmount],
      [422, 'refund_amount_exceeded', 650],
    );
    qr.provider.script = ({ kind, body }) =>
      kind === 'refund'
        ? { body: { refundId: body['refundId'], status: 'Pending' } }
        : kind === 'refundStatus'
          ? { body: { refundId: body['refundId'], status: 'Pending' } }
          : undefined;
    const rest = await qr.call('POST', `${qrBase}/${id}/refund`);
    qr.provider.script = () => undefined;
    assert.equal(rest.status, 202, rest.text);
    assert.equal(rest.body.operation.amount, 650);
    const { operationId: refundId } = rest.body.operation;
    const response = await qr.tell(id, { type: 'refund.completed', sequence: 2, refundId });
    assert.equal(response.status, 202, response.text);
    const payment = await qr.get(id);
    assert.deepEqual([payment['status'], payment['refundedAmount']], ['Refunded', 1050]);
    const nothing = await qr.call('POST', `${qrBase}/${id}/refund`);
    assert.deepEqual([nothing.status, nothing.body.code], [422, 'already_refunded']);
  });

  test('the error of each refused operation contains the state and the allowed operations', async () => {
    const id = await qr.begun();
    const { clientTransactionId } = await qr.get(id);
    const refused = async (path: string, body: Json, code: ErrorCode, state: string) => {
      const answer = await qr.call('POST', `${qrBase}/${id}/${path}`, body, qr.merchant.token);
      assertProblem(answer, { code });
      assert.deepEqual(answer.body.transaction, { transactionId: id, clientTransactionId, state });
      return answer.body.allowedOperations.map((each: Json) => {
        assert.equal(each['currency'], 'EUR');
        return [each['operation'], each['allowed'], each['maxAmount'], each['reason']];
      });
    };
    const live = await refused('refund', {}, 'not_completed', 'Pending');
    assert.deepEqual(live, [
      ['Cancel', true, 1050, undefined],
      ['Refund', false, 0, 'not_completed'],
    ]);
    await qr.tell(id, { type: 'payment.completed', sequence: 1 });
    const paid = [
      ['Cancel', false, 0, 'already_completed'],
      ['Refund', true, 1050, undefined],
    ];
    const tooMuch = { amount: 1051 };
    const other = { currency: 'USD' };
    const all = [
      await refused('cancel', {}, 'already_completed', 'Completed'),
      await refused('refund', tooMuch, 'refund_amount_exceeded', 'Completed'),
      await refused('refund', other, 'currency_mismatch', 'Completed'),
      await refused('resolve', { resolution: 'Accept' }, 'payment_not_held', 'Completed'),
    ];
    for (const response of all) assert.deepEqual(response, paid);
    assert.equal((await qr.call('POST', `${qrBase}/${id}/refund`)).status, 200);
    for (const amount of [undefined, 1]) {
      const response = await refused('refund', { amount }, 'already_refunded', 'Refunded');
      assert.deepEqual(response[1], ['Refund', false, 0, 'already_refunded']);
    }
  });

  // Spec: QRPROV-2
  test('is cancelled, and a repeated cancel returns the same status without a second call to the provider', async () => {
    const id = await qr.begun();
    const answer = await qr.call('POST', `${qrBase}/${id}/cancel`);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(
      [answer.body.status, answer.body.operation.status],
      ['Cancelled', 'Succeeded'],
    );
    assert.equal(qr.provider.of('cancel', id)[0]?.body['reason'], 'Merchant');
    const again = await qr.call('POST', `${qrBase}/${id}/cancel`);
    assert.deepEqual([again.status, again.body.status], [200, 'Cancelled']);
    assert.equal(qr.provider.of('cancel', id).length, 1);
    const refund = await qr.call('POST', `${qrBase}/${id}/refund`);
    assert.deepEqual([refund.status, refund.body.code], [422, 'not_completed']);
  });
});
