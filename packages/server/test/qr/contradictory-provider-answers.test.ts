// Providers that contradict themselves, extend a payment that must end, and repeat answers wrongly.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { testDatabase } from '../support/database/test-database.ts';
import { eventually } from '../support/wait-for-condition.ts';
import { openQr, type TestQr } from './test-qr-merchant.ts';
import { type Json, nameOf, qrBase, type Reply, sampleCode } from './test-qr-provider.ts';

const payWithinMs = 180_000;

describe('a provider that lies', () => {
  let qr: TestQr;
  before(async () => {
    qr = await openQr();
  });
  after(() => qr.close());

  function once(kind: string, reply: (id: string) => Reply): void {
    let isOver = false;
    qr.provider.script = (call) => {
      if (call.kind !== kind || isOver) return undefined;
      isOver = true;
      return reply(call.transactionId);
    };
  }

  const refund = (id: string, amount: number) =>
    qr.call('POST', `${qrBase}/${id}/refund`, { amount });

  async function declinedRefund(amount: number): Promise<{ id: string; refundId: string }> {
    const id = await qr.begun({ paymentAmount: { amount: 100, currency: 'EUR' } });
    await qr.tell(id, { type: 'payment.completed', sequence: 1 });
    once('refund', () => ({ status: 422, body: { code: 'not_now' } }));
    const { body } = await refund(id, amount);
    assert.equal(body.operation.status, 'Declined');
    return { id, refundId: body.operation.operationId };
  }

  test('a refund that was declined and is made all the same counts, so that no more goes back', async () => {
    const { id, refundId } = await declinedRefund(60);
    const response = await qr.tell(id, { type: 'refund.completed', sequence: 2, refundId });
    assert.equal(response.status, 202);
    const payment = await qr.get(id);
    assert.deepEqual([payment['refundedAmount'], payment['status']], [60, 'PartiallyRefunded']);
    const [operation] = payment['operations'];
    assert.deepEqual([operation.status, operation.failure], ['Succeeded', undefined]);
    const again = await refund(id, 60);
    assert.deepEqual([again.status, again.body.code], [422, 'refund_amount_exceeded']);
    // A repeated event refunds only once.
    await qr.tell(id, { type: 'refund.completed', sequence: 3, refundId });
    assert.equal((await qr.get(id))['refundedAmount'], 60);
  });

  test('a completion event for a declined refund is recorded but not counted when the money was already refunded', async () => {
    const { id, refundId } = await declinedRefund(60);
    assert.equal((await refund(id, 100)).body.operation.status, 'Succeeded');
    await qr.tell(id, { type: 'refund.completed', sequence: 2, refundId });
    const payment = await qr.get(id);
    assert.equal(payment['refundedAmount'], 100);
    const last = payment['events'].at(-1);
    assert.deepEqual([last.type, last.reason], ['qr.noted', 'Contradicts']);
  });

  test('the hold of a late payment ends when the provider completes the refund that it declined before', async () => {
    const id = await qr.begun();
    await qr.call('POST', `${qrBase}/${id}/cancel`);
    once('refund', () => ({ status: 422, body: { code: 'refund_impossible' } }));
    await qr.tell(id, { type: 'payment.completed', sequence: 1 });
    const heldPayment = await qr.becomes(id, (each) => each['hold'] !== undefined, 'the hold');
    const { operationId: refundId } = heldPayment['operations'].find(
      (each: Json) => each['kind'] === 'Refund',
    );
    await qr.tell(id, { type: 'refund.completed', sequence: 2, refundId });
    const payment = await qr.get(id);
    assert.deepEqual([payment['refundedAmount'], payment['hold']], [1050, undefined]);
  });

  test('a status answer of the provider cannot extend the expiry of a payment beyond the limit', async () => {
    once('create', () => ({ status: 500, body: {} }));
    const { body } = await qr.create();
    const id = body.transactionId;
    once('status', () => ({
      body: {
        providerTransactionId: nameOf(id),
        status: 'Pending',
        expiresAt: '2999-01-01T00:00:00Z',
      },
    }));
    const payment = await qr.becomes(id, (each) => each['status'] === 'Pending', 'the answer');
    const least = Date.parse(payment['createdAt']);
    assert.ok(Date.parse(payment['expiresAt']) <= least + payWithinMs, payment['expiresAt']);
  });

  test('the same picture in every answer is one picture', async () => {
    const display = { type: 'text/emvqr', data: sampleCode };
    let statusCalls = 0;
    let isChanging = false;
    qr.provider.script = ({ kind, transactionId }) => {
      const answerMembers = { providerTransactionId: nameOf(transactionId), status: 'Pending' };
      if (kind === 'create') return { body: { ...answerMembers, display, pollAfterMs: 500 } };
      if (kind !== 'status') return undefined;
      statusCalls += 1;
      const other = { type: 'url', data: `https://pay.example/${statusCalls}` };
      return {
        body: { ...answerMembers, display: isChanging ? other : display, pollAfterMs: 500 },
      };
    };
    const id = await qr.begun();
    const eventsWithDisplay = async () =>
      (await qr.get(id))['events'].filter((each: Json) => each['display'] !== undefined);
    await eventually('asked for some times', () => statusCalls >= 3);
    assert.equal((await eventsWithDisplay()).length, 1);
    isChanging = true;
    await eventually('the new picture is shown', async () => {
      const [newest, ...before] = await eventsWithDisplay();
      assert.deepEqual(before, [], 'of a list the newest picture is shown');
      return newest.display.type === 'url';
    });
  });

  test('an expiry of long ago ends a payment, and is no fault of ours', async () => {
    for (const expiresAt of ['0000-01-01T00:00:00Z', '9999-12-31T23:59:59-12:00']) {
      once('create', (id) => ({
        body: { providerTransactionId: nameOf(id), status: 'Pending', expiresAt },
      }));
      const { status, body, text } = await qr.create();
      assert.ok(status < 300, text);
      assert.ok(Date.parse(body.expiresAt) - Date.parse(body.createdAt) <= payWithinMs, text);
      assert.ok(body.expiresAt >= body.createdAt, text);
    }
  });

  test('an operator can accept only the current held amount, not an earlier one', async () => {
    const id = await qr.begun();
    const holdAmount = async (amount: number, sequence: number) => {
      const paid = { amount, currency: 'EUR' };
      await qr.tell(id, { type: 'payment.completed', amount: paid, sequence });
      return (await qr.get(id))['hold'].amount;
    };
    const accept = (amount: number) => {
      const body = { resolution: 'Accept', amount };
      return qr.call('POST', `${qrBase}/${id}/resolve`, body, qr.merchant.token);
    };
    const firstAmount = await holdAmount(900, 1);
    const secondAmount = await holdAmount(1, 2);
    const refused = await accept(firstAmount);
    assert.deepEqual([refused.status, refused.body.code], [409, 'concurrent_modification']);
    assert.deepEqual((await qr.get(id))['hold'].amount, secondAmount);
    const { status, body } = await accept(secondAmount);
    assert.deepEqual([status, body.status, body.paidAmount], [200, 'Completed', 1]);
  });

  test('no answer or stored event contains the scanned code, also when the provider repeats it', async () => {
    const scannedPaymentId = `wallet:AgAAAB${randomUUID().replaceAll('-', '')}==`;
    const text = `The code ${scannedPaymentId} is of no use.`;
    for (const reply of [
      { status: 422, body: { code: 'code_unknown', detail: text } },
      {
        body: {
          providerTransactionId: `P-${randomUUID()}`,
          status: 'Declined',
          failure: { code: 'code_unknown', text },
          payer: { maskedId: scannedPaymentId },
        },
      },
    ]) {
      once('create', () => reply);
      const answer = await qr.create({ paymentScenario: 'merchantscan', scannedPaymentId });
      assert.equal(answer.body.status, 'Declined', answer.text);
      assert.ok(!answer.text.includes(scannedPaymentId), answer.text);
      const database = await testDatabase();
      const rows = await database.query<{ text: string }>(
        'SELECT data::text AS text FROM qr_events WHERE transaction_id = $1',
        [answer.body.transactionId],
      );
      assert.equal(rows.length, 2);
      for (const row of rows) assert.ok(!row.text.includes(scannedPaymentId), row.text);
    }
  });

  test('unusual timestamps and texts never cause a server error', async () => {
    const id = await qr.begun();
    const moments = ['2016-12-31T23:59:60Z', '0000-01-01T00:00:00Z', '9999-12-31T23:59:59-12:00'];
    for (const occurredAt of [...moments, '2026-02-30T00:00:00Z', '2026-01-01T24:00:00Z']) {
      const answer = await qr.tell(id, { type: 'payment.scanned', sequence: 1, occurredAt });
      assert.ok(answer.status < 500, `${occurredAt}: ${answer.text}`);
    }
    for (const text of ['\u0000', '\ud800', '\udfff\ud800', '\uffff', '\u202e']) {
      const failure = { code: 'x', text };
      const event = { type: 'payment.scanned', sequence: 2, failure, more: { [text]: text } };
      const answer = await qr.tell(id, event);
      assert.ok(answer.status < 500, `${JSON.stringify(text)}: ${answer.text}`);
      for (const display of ['url', 'text/emvqr', 'image/png', 'image/svg+xml']) {
        const eventWithDisplay = {
          ...event,
          display: { type: display, data: `https://x.example/${text}` },
        };
        assert.ok((await qr.tell(id, eventWithDisplay)).status < 500, display);
      }
      const created = await qr.create({ order: { orderDescription: text } });
      assert.ok(created.status < 500, `${JSON.stringify(text)}: ${created.text}`);
      const scanned = await qr.create({ scannedPaymentId: `x${text}` });
      assert.ok(scanned.status < 500, `${JSON.stringify(text)}: ${scanned.text}`);
    }
  });
});
