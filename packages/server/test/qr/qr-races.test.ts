// Whole run: much is made, or waited for, before it shows.
// Crossing messages between terminal, platform and provider, and the final state of each case.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { testDatabase } from '../support/database/test-database.ts';
import { openQr, type TestQr } from './test-qr-merchant.ts';
import { type Json, nameOf, qrBase, type Reply, sampleCode } from './test-qr-provider.ts';

const types = (payment: Json): string[] => payment['events'].map(({ type }: Json) => type);
const completed = (amount = 1050, currency = 'EUR') => ({
  type: 'payment.completed',
  amount: { amount, currency },
});

/** Holds a response until the test releases it. */
function gate() {
  const reached = Promise.withResolvers<string>();
  const open = Promise.withResolvers<Reply>();
  return { reached, open };
}

describe('races of a QR payment', () => {
  let qr: TestQr;
  before(async () => {
    qr = await openQr();
  });
  after(() => qr.close());

  /** The provider reports that the cancel was too late, and the paid amount. */
  function tooLate(id: string, status: number, member: string, amount = 1050): void {
    qr.provider.script = ({ kind, transactionId }) => {
      if (transactionId !== id) return undefined;
      const providerTransactionId = nameOf(transactionId);
      if (kind === 'cancel') {
        return { status, body: { providerTransactionId, [member]: 'Completed' } };
      }
      if (kind !== 'status') return undefined;
      const paid = { amount, currency: 'EUR' };
      return { body: { providerTransactionId, status: 'Completed', amount: paid } };
    };
  }

  /** The test answers one call of a kind; the provider answers all others as usual. */
  function once(kind: string, reply: (id: string) => Reply | Promise<Reply>): void {
    let isOver = false;
    qr.provider.script = (call) => {
      if (call.kind !== kind || isOver) return undefined;
      isOver = true;
      return reply(call.transactionId);
    };
  }

  function begunWhile() {
    const { reached, open } = gate();
    once('create', (id) => {
      reached.resolve(id);
      return open.promise;
    });
    const answer = qr.create();
    return { answer, id: reached.promise, reply: open.resolve };
  }

  // Spec: QRPROV-1
  test('events that overtake the answer count, and the answer brings nothing back', async () => {
    const { answer, id: begun, reply } = begunWhile();
    const id = await begun;
    await qr.tell(id, { type: 'payment.scanned', sequence: 1 });
    const response = await qr.tell(id, { ...completed(), sequence: 2 });
    assert.equal(response.status, 202, response.text);
    const display = { type: 'text/emvqr', data: sampleCode };
    reply({ body: { providerTransactionId: nameOf(id), status: 'Pending', display } });
    const { status, body } = await answer;
    assert.deepEqual([status, body.status, body.paidAmount], [200, 'Completed', 1050]);
    assert.equal(body.display, undefined);
    const payment = await qr.get(id);
    assert.deepEqual(types(payment).slice(0, 3), ['qr.created', 'qr.scanned', 'qr.completed']);
    assert.equal(payment['providerTransactionId'], nameOf(id));
  });

  // Spec: QRPROV-12
  test('the platform refunds a payment that completes after its cancel, exactly once', async () => {
    const id = await qr.begun();
    const cancelled = await qr.call('POST', `${qrBase}/${id}/cancel`);
    assert.equal(cancelled.body.status, 'Cancelled');
    await qr.tell(id, { ...completed(), sequence: 1 });
    const payment = await qr.becomes(id, (each) => each['refundedAmount'] === 1050, 'the refund');
    assert.equal(payment['status'], 'Cancelled');
    const refunds = qr.provider.of('refund', id);
    assert.equal(refunds.length, 1);
    assert.equal(refunds[0]?.body['reason'], 'CompletedAfterCancel');
    assert.deepEqual(refunds[0]?.body['amount'], { amount: 1050, currency: 'EUR' });
    const [operation] = payment['operations'].filter(({ kind }: Json) => kind === 'Refund');
    assert.deepEqual([operation.cause, operation.status], ['LateCompletion', 'Succeeded']);
    // A second event repeats the completion; the refund was already sent.
    const again = await qr.tell(id, { ...completed(), sequence: 2 });
    assert.equal(again.status, 202);
    assert.equal(qr.provider.of('refund', id).length, 1);
    assert.equal((await qr.get(id))['paidAmount'], 1050);
  });

  // Spec: QRPROV-12
  test('a cancel that is on its way wins over a completion that crosses it', async () => {
    const id = await qr.begun();
    const { reached, open } = gate();
    once('cancel', (paymentId) => {
      reached.resolve(paymentId);
      return open.promise;
    });
    const cancel = qr.call('POST', `${qrBase}/${id}/cancel`);
    await reached.promise;
    await qr.tell(id, { ...completed(), sequence: 1 });
    // The provider reports that the cancel was too late.
    open.resolve({ status: 409, body: { code: 'already_final', paymentStatus: 'Completed' } });
    const { status, body } = await cancel;
    assert.deepEqual([status, body.status, body.operation.status], [200, 'Cancelled', 'Succeeded']);
    const payment = await qr.becomes(id, (each) => each['refundedAmount'] === 1050, 'the refund');
    assert.equal(payment['status'], 'Cancelled');
    assert.equal(qr.provider.of('refund', id).length, 1);
  });

  test('the platform refuses a cancel once the completion is stored, without a call to the provider', async () => {
    const id = await qr.begun();
    await qr.tell(id, { ...completed(), sequence: 1 });
    const { status, body } = await qr.call('POST', `${qrBase}/${id}/cancel`);
    assert.deepEqual([status, body.code], [422, 'already_completed']);
    assert.equal(body.transaction.state, 'Completed');
    assert.equal(qr.provider.of('cancel', id).length, 0);
  });

  test('the platform refunds the paid amount when the provider answers a cancel with Completed', async () => {
    const id = await qr.begun();
    tooLate(id, 200, 'status', 500);
    const { body } = await qr.call('POST', `${qrBase}/${id}/cancel`);
    assert.equal(body.status, 'Cancelled');
    const payment = await qr.becomes(id, (each) => each['refundedAmount'] > 0, 'the refund');
    assert.deepEqual([payment['paidAmount'], payment['refundedAmount']], [500, 500]);
    assert.equal(qr.provider.of('refund', id)[0]?.body['amount'].amount, 500);
  });

  // Spec: EVT-6 QRPROV-11
  test('the platform counts a repeated event once, also when ten copies arrive at the same time', async () => {
    const id = await qr.begun();
    const eventId = randomUUID();
    const event = { ...completed(), sequence: 1, eventId };
    const all = await Promise.all(Array.from({ length: 10 }, () => qr.tell(id, event)));
    assert.equal(all.filter(({ status }) => status === 202).length, 1);
    assert.equal(all.filter(({ status }) => status === 200).length, 9);
    const again = await qr.tell(id, event);
    assert.deepEqual([again.status, again.body.result], [200, 'Duplicate']);
    const payment = await qr.get(id);
    assert.equal(types(payment).filter((type) => type === 'qr.completed').length, 1);
    assert.equal(payment['paidAmount'], 1050);
  });

  // Spec: QRPROV-11
  test('the platform records events that arrive out of order, and only a newer event changes the payment', async () => {
    const id = await qr.begun();
    await qr.tell(id, { ...completed(), sequence: 3 });
    await qr.tell(id, { type: 'payment.scanned', sequence: 1 });
    await qr.tell(id, { type: 'payment.cancelled', sequence: 2 });
    const payment = await qr.get(id);
    assert.equal(payment['status'], 'Completed');
    assert.deepEqual(
      payment['events'].slice(-2).map(({ type, reason }: Json) => [type, reason]),
      [
        ['qr.noted', 'Older'],
        ['qr.noted', 'Older'],
      ],
    );
    // The event is newer but comes after the final state, so it changes nothing.
    await qr.tell(id, { type: 'payment.declined', sequence: 4 });
    assert.equal((await qr.get(id))['status'], 'Completed');
  });

  // Spec: QRPROV-11 QRPROV-12
  test('after an older completion of an ended payment the platform asks the provider, and refunds only what was paid', async () => {
    const id = await qr.begun();
    await qr.tell(id, { type: 'payment.scanned', sequence: 9 });
    const cancelled = await qr.call('POST', `${qrBase}/${id}/cancel`);
    assert.equal(cancelled.body.status, 'Cancelled');
    tooLate(id, 200, 'status');
    const older = await qr.tell(id, { ...completed(), sequence: 2 });
    assert.deepEqual([older.status, older.body.result], [202, 'Stored']);
    const paid = await qr.becomes(id, (each) => each['refundedAmount'] === 1050, 'the refund');
    assert.deepEqual([paid['status'], paid['paidAmount']], ['Cancelled', 1050]);
    assert.equal(qr.provider.of('refund', id).length, 1);
    const again = await qr.tell(id, { ...completed(), sequence: 3 });
    assert.equal(again.body.result, 'Ignored');
    // The provider withdrew this payment, and its two events arrive in the wrong order.
    const withdrawn = await qr.begun();
    await qr.tell(withdrawn, { type: 'payment.cancelled', sequence: 2 });
    await qr.tell(withdrawn, { ...completed(), sequence: 1 });
    const isAnswered = ({ operations }: Json) => operations[0]?.status === 'Succeeded';
    const ended = await qr.becomes(withdrawn, isAnswered, 'the answer');
    assert.deepEqual([ended['status'], ended['paidAmount']], ['Cancelled', 0]);
    assert.equal(qr.provider.of('cancel', withdrawn).length, 1);
    assert.equal(qr.provider.of('refund', withdrawn).length, 0);
  });

  test('an event of an unknown type or for an unknown refund does not make later events outdated', async () => {
    const id = await qr.begun();
    await qr.tell(id, { type: 'loyalty.awarded', sequence: 4 });
    await qr.tell(id, { type: 'refund.completed', refundId: randomUUID(), sequence: 5 });
    await qr.tell(id, { ...completed(), sequence: 3 });
    assert.equal((await qr.get(id))['status'], 'Completed');
  });

  // Spec: QRPROV-13 NEXO-67
  test('the platform holds a completion with a different amount, logs an alarm and refunds it after a manual decision', async () => {
    const id = await qr.begun();
    assert.ok((await qr.get(id))['display']);
    const response = await qr.tell(id, { ...completed(1049), sequence: 1 });
    assert.deepEqual([response.status, response.body.result], [202, 'UnderReview']);
    const heldPayment = await qr.get(id);
    assert.deepEqual([heldPayment['status'], heldPayment['display']], ['Pending', undefined]);
    assert.deepEqual(heldPayment['hold'], {
      reason: 'AmountDiffers',
      amount: 1049,
      currency: 'EUR',
    });
    const token = qr.merchant.token;
    for (const verb of ['cancel', 'refund']) {
      const { status, body } = await qr.call('POST', `${qrBase}/${id}/${verb}`);
      assert.deepEqual([status, body.code], [409, 'payment_held'], verb);
    }
    const list = await qr.call('GET', `${qrBase}?held=true`, undefined, token);
    assert.ok(list.body.items.some(({ transactionId }: Json) => transactionId === id));
    const alarm = qr.organization.logLines.find(
      (line) => line.includes(id) && line.includes('amount_differs'),
    );
    assert.match(String(alarm), /needs manual review/);
    const forbidden = await qr.call('POST', `${qrBase}/${id}/resolve`, { resolution: 'Accept' });
    assert.equal(forbidden.status, 403);
    const resolution = { resolution: 'Refund' };
    const resolved = await qr.call('POST', `${qrBase}/${id}/resolve`, resolution, token);
    assert.deepEqual([resolved.status, resolved.body.status], [200, 'Cancelled'], resolved.text);
    const payment = await qr.becomes(id, (each) => each['refundedAmount'] === 1049, 'the refund');
    assert.equal(payment['hold'], undefined);
    const again = await qr.call('POST', `${qrBase}/${id}/resolve`, resolution, token);
    assert.deepEqual([again.status, again.body.code], [422, 'payment_not_held']);
  });

  test('an operator can accept a different amount, and refunds are limited to that amount', async () => {
    const id = await qr.begun();
    await qr.tell(id, { ...completed(900), sequence: 1 });
    const resolution = { resolution: 'Accept' };
    const token = qr.merchant.token;
    const { body } = await qr.call('POST', `${qrBase}/${id}/resolve`, resolution, token);
    assert.deepEqual([body.status, body.paidAmount], ['Completed', 900]);
    const refund = await qr.call('POST', `${qrBase}/${id}/refund`);
    assert.deepEqual([refund.body.status, refund.body.operation.amount], ['Refunded', 900]);
  });

  test('the platform holds a completion in another currency, also after the payment was cancelled', async () => {
    const id = await qr.begun();
    await qr.call('POST', `${qrBase}/${id}/cancel`);
    const response = await qr.tell(id, { ...completed(1050, 'USD'), sequence: 1 });
    assert.deepEqual([response.status, response.body.result], [202, 'UnderReview']);
    const payment = await qr.get(id);
    assert.deepEqual(payment['hold'], { reason: 'CurrencyDiffers', amount: 1050, currency: 'USD' });
    assert.equal(payment['status'], 'Cancelled');
    assert.equal(qr.provider.of('refund', id).length, 0);
  });

  test('a hold for a different amount ends when the provider cancels the payment', async () => {
    const id = await qr.begun();
    await qr.tell(id, { ...completed(1049), sequence: 1 });
    await qr.tell(id, { ...completed(1048), sequence: 2 });
    assert.equal((await qr.get(id))['hold'].amount, 1048);
    await qr.tell(id, { type: 'payment.cancelled', sequence: 3 });
    const { status, hold, paidAmount, events } = await qr.get(id);
    assert.deepEqual([status, hold, paidAmount], ['Cancelled', undefined, 0]);
    assert.deepEqual([events.at(-1).type, events.at(-1).reason], ['qr.cancelled', 'Retracted']);
  });

  test('the platform holds a late payment for manual review when the provider declines its refund', async () => {
    const id = await qr.begun();
    await qr.call('POST', `${qrBase}/${id}/cancel`);
    once('refund', () => ({ status: 422, body: { code: 'refund_impossible' } }));
    await qr.tell(id, { ...completed(), sequence: 1 });
    const payment = await qr.becomes(id, (each) => each['hold'] !== undefined, 'the hold');
    assert.equal(payment['hold'].reason, 'RefundDeclined');
    const body = { resolution: 'Refund' };
    await qr.call('POST', `${qrBase}/${id}/resolve`, body, qr.merchant.token);
    await qr.becomes(id, (each) => each['refundedAmount'] === 1050, 'the second refund');
  });

  // Spec: QRPROV-14
  test('the platform does not accept a late payment: the operator refunds it or settles it with a note', async () => {
    const id = await qr.begun();
    await qr.call('POST', `${qrBase}/${id}/cancel`);
    once('refund', () => ({ status: 422, body: { code: 'refund_impossible' } }));
    await qr.tell(id, { ...completed(), sequence: 1 });
    await qr.becomes(id, (each) => each['hold'] !== undefined, 'the hold');
    const resolve = (decision: Json) =>
      qr.call('POST', `${qrBase}/${id}/resolve`, decision, qr.merchant.token);
    const accepted = await resolve({ resolution: 'Accept' });
    assert.deepEqual([accepted.status, accepted.body.code], [409, 'resolution_not_possible']);
    assert.deepEqual(accepted.body.allowedResolutions, ['Refund', 'Settle']);
    const unsaid = await resolve({ resolution: 'Settle' });
    assert.deepEqual([unsaid.status, unsaid.body.errors[0].pointer], [422, '/note']);
    const number = await resolve({ resolution: 'Settle', note: 'To 4111 1111 1111 1111.' });
    assert.deepEqual([number.status, number.body.errors[0].pointer], [422, '/note']);
    const note = 'Given back in cash.';
    const { status, body } = await resolve({ resolution: 'Settle', note });
    assert.equal(status, 200);
    const { hold, paidAmount, refundedAmount, settledAmount } = body;
    assert.deepEqual([body.status, hold], ['Cancelled', undefined]);
    assert.deepEqual([paidAmount, refundedAmount, settledAmount], [1050, 0, 1050]);
    const event = (await qr.get(id))['events'].at(-1);
    assert.deepEqual([event.type, event.reason, event.note], ['qr.resolved', 'Settle', note]);
  });

  test('after a create without an answer the platform queries the status and does not repeat the create', async () => {
    once('create', () => ({ status: 500, body: {} }));
    const { status, body } = await qr.create();
    assert.deepEqual([status, body.status], [202, 'Created']);
    const display = { type: 'text/emvqr', data: sampleCode };
    once('status', (id) => ({
      body: { providerTransactionId: nameOf(id), status: 'Pending', display },
    }));
    const id = body.transactionId;
    const payment = await qr.becomes(id, (each) => each['status'] === 'Pending', 'the answer');
    assert.deepEqual(payment['display'], display);
    assert.equal(qr.provider.of('create', id).length, 1);
  });

  // Spec: QRPROV-20
  test('a create that never came is failed, and one that was not sent is refused', async () => {
    once('create', () => ({ status: 500, body: {} }));
    const { body } = await qr.create();
    once('status', () => ({ status: 404, body: { code: 'payment_not_found' } }));
    const failed = await qr.becomes(
      ...([body.transactionId, (each: Json) => each['status'] === 'Failed', 'the end'] as const),
    );
    // The cancel stays at the provider, so that a delayed create charges no consumer.
    assert.equal(qr.provider.of('cancel', body.transactionId)[0]?.body['reason'], 'Unknown');
    assert.equal(failed['operations'][0].cause, 'Unknown');
    // The platform refunds a payment that was charged nevertheless.
    await qr.tell(body.transactionId, { ...completed(), sequence: 1 });
    await qr.becomes(body.transactionId, (each) => each['refundedAmount'] === 1050, 'the refund');
    // A wrong signature and a wrong address are no decline.
    for (const status of [401, 404]) {
      once('create', () => ({ status, body: {} }));
      const response = await qr.create();
      assert.deepEqual([response.status, response.body.code], [502, 'provider_unavailable']);
    }
    once('create', () => ({ status: 429, body: {} }));
    const request = qr.request();
    const refused = await qr.call('POST', qrBase, request);
    assert.deepEqual([refused.status, refused.body.code], [502, 'provider_unavailable']);
    assert.equal(refused.body.outcome, 'NotProcessed');
    const again = await qr.call('POST', qrBase, request);
    assert.deepEqual([again.status, again.body.code], [502, 'provider_unavailable']);
    const id = refused.body.transaction.transactionId;
    assert.equal(qr.provider.of('create', id).length, 1);
  });

  // Spec: QRPROV-20
  test('an unpaid payment expires: the platform cancels it at the provider, and the answer decides the final status', async () => {
    const soon = () => new Date(Date.now() + 400).toISOString();
    const expiring = (id: string): Reply => ({
      body: { providerTransactionId: nameOf(id), status: 'Pending', expiresAt: soon() },
    });
    once('create', expiring);
    const id = await qr.begun();
    const payment = await qr.becomes(id, (each) => each['status'] === 'Expired', 'the expiry');
    assert.equal(qr.provider.of('cancel', id)[0]?.body['reason'], 'Expired');
    const [cancel] = payment['operations'];
    assert.deepEqual([cancel.cause, cancel.status], ['Expiry', 'Succeeded']);
    // The consumer paid after the expiry, so the platform refunds.
    await qr.tell(id, { ...completed(), sequence: 1 });
    await qr.becomes(id, (each) => each['refundedAmount'] === 1050, 'the refund');

    once('create', (created) => {
      tooLate(created, 409, 'paymentStatus');
      return expiring(created);
    });
    const other = await qr.begun();
    const done = (each: Json) => each['status'] === 'Completed';
    const paidAtLast = await qr.becomes(other, done, 'the payment');
    assert.equal(paidAtLast['refundedAmount'], 0);
    assert.equal(paidAtLast['operations'][0].status, 'Declined');
  });

  test('the platform polls a provider that requests polling, and completes the payment without an event', async () => {
    once('create', (id) => ({
      body: { providerTransactionId: nameOf(id), status: 'Pending', pollAfterMs: 50 },
    }));
    const id = await qr.begun();
    once('status', (paymentId) => ({
      body: {
        providerTransactionId: nameOf(paymentId),
        status: 'Completed',
        amount: { amount: 1050, currency: 'EUR' },
      },
    }));
    await qr.becomes(id, (each) => each['status'] === 'Completed', 'the payment');
  });

  test('the platform requests the status of a payment without an event after one minute', async () => {
    const id = await qr.begun();
    once('status', () => ({
      body: {
        providerTransactionId: nameOf(id),
        status: 'Completed',
        amount: { amount: 1050, currency: 'EUR' },
      },
    }));
    const database = await testDatabase();
    await database.query(
      `UPDATE qr_transactions SET due_at = now() - interval '1 minute'
        WHERE organization_id = $1 AND transaction_id = $2`,
      [qr.organization.organizationId, id],
    );
    await qr.becomes(id, (each) => each['status'] === 'Completed', 'the payment');
  });

  test('the platform repeats a cancel without an answer until the provider answers', async () => {
    const id = await qr.begun();
    let cancelCalls = 0;
    qr.provider.script = ({ kind, transactionId }) => {
      if (kind !== 'cancel' || transactionId !== id) return undefined;
      cancelCalls += 1;
      return cancelCalls < 3 ? { status: 500, body: {} } : undefined;
    };
    const { status, body } = await qr.call('POST', `${qrBase}/${id}/cancel`);
    assert.deepEqual([status, body.operation.status], [202, 'Pending']);
    await qr.becomes(id, (each) => each['status'] === 'Cancelled', 'the cancel');
    assert.equal(cancelCalls, 3);
  });

  test('the platform repeats a refund without an answer with the same refund ID and counts it once', async () => {
    const id = await qr.begun();
    await qr.tell(id, { ...completed(), sequence: 1 });
    once('refund', () => ({ status: 500, body: {} }));
    const { status, body } = await qr.call('POST', `${qrBase}/${id}/refund`, { amount: 1000 });
    assert.deepEqual([status, body.operation.status], [202, 'Pending']);
    const more = await qr.call('POST', `${qrBase}/${id}/refund`, { amount: 51 });
    assert.deepEqual([more.body.code, more.body.maxAmount], ['refund_amount_exceeded', 50]);
    const payment = await qr.becomes(id, (each) => each['refundedAmount'] === 1000, 'the refund');
    const names = qr.provider.of('refund', id).map((call) => call.body['refundId']);
    assert.equal(new Set(names).size, 1);
    assert.equal(payment['status'], 'PartiallyRefunded');
  });
});
