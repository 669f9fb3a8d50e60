// Chapter "Card payments": capture, refund, cancel, allowed operations, refund or cancel by web.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { assertProblem } from '../../support/assert-problem-response.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import { createOrganizationBehindRelay } from '../../support/payment-calls.ts';
import type { TestOrganization } from '../../support/test-organization.ts';
import { trackLedgers } from '../ledger/check-ledger-after-tests.ts';

const { createOrganization, assertLedgersAgree } = trackLedgers();

const base = '/payment/v1/transactions';

async function sell(
  setup: TestOrganization,
  members: Record<string, unknown> = {},
): Promise<string> {
  const body = keyedSale({ amount: 10_000, captureMode: 'Deferred', ...members });
  const answer = await setup.client.call('POST', `${base}/process`, {
    token: setup.merchant.token,
    body,
  });
  assert.equal(answer.status, 200, answer.text);
  return answer.body.transactionId;
}

function sendOperation(
  setup: TestOrganization,
  id: string,
  verb: string,
  body: Record<string, unknown> = {},
) {
  return setup.client.call('POST', `${base}/${id}/${verb}`, { token: setup.merchant.token, body });
}

const get = (setup: TestOrganization, path: string) =>
  setup.client.call('GET', `${base}/${path}`, { token: setup.merchant.token });

// Spec: SVC-7 SVC-9 PAY-7 PROB-3 CARD-33
test('a sale is captured in several parts, until no amount is left', async () => {
  const setup = await createOrganization();
  const id = await sell(setup);
  const first = await sendOperation(setup, id, 'capture', {
    amount: 4000,
    clientOperationId: 'c-1',
  });
  assert.equal(first.status, 200, first.text);
  assert.equal(first.body.state, 'PartiallyCaptured');
  assert.equal(first.body.operation.status, 'Succeeded');
  const second = await sendOperation(setup, id, 'capture');
  assert.equal(second.body.state, 'Captured');
  assert.equal(second.body.capturedAmount, 10_000);
  const third = await sendOperation(setup, id, 'capture', { amount: 1 });
  assert.equal(third.status, 422);
  assert.equal(third.body.code, 'nothing_to_capture');
  assert.equal(third.body.outcome, 'NotProcessed');
  assert.equal(third.body.transaction.state, 'Captured');
  assert.ok(third.body.allowedOperations.length > 0);
});

test('a final capture releases the rest of the hold', async () => {
  const setup = await createOrganization();
  const id = await sell(setup);
  const { body } = await sendOperation(setup, id, 'capture', { amount: 4000, final: true });
  assert.equal(body.state, 'Captured');
  assert.equal(body.capturedAmount, 4000);
  assert.equal(body.cancelledAmount, 6000);
});

test('the capture of the rest is sent as the final one', async (t) => {
  const setup = await createOrganizationBehindRelay(t);
  const [inParts, notFinal] = [await sell(setup), await sell(setup)];
  async function conditionsAfterCapture(id: string, body: Record<string, unknown>) {
    const { status, text } = await sendOperation(setup, id, 'capture', body);
    assert.equal(status, 200, text);
    return setup.relay.sent.filter(({ mti }) => mti === '0220').map(({ fields }) => fields[25]);
  }
  assert.deepEqual(await conditionsAfterCapture(inParts, { amount: 4000 }), ['06']);
  assert.deepEqual(await conditionsAfterCapture(inParts, {}), ['06', '00']);
  assert.deepEqual(await conditionsAfterCapture(notFinal, { final: false }), ['06', '00', '06']);
});

test('a capture above the remaining amount is refused', async () => {
  const setup = await createOrganization();
  const id = await sell(setup);
  const refused = await sendOperation(setup, id, 'capture', { amount: 10_001 });
  assert.equal(refused.status, 422);
  assert.equal(refused.body.code, 'capture_amount_exceeded');
  assert.equal(refused.body.maxAmount, 10_000);
});

// Spec: CARD-34
test('with an acquirer of single captures, a capture releases the rest', async () => {
  const setup = await createOrganization({ multipleCapture: false });
  const id = await sell(setup);
  const refused = await sendOperation(setup, id, 'capture', { amount: 4000, final: false });
  assert.equal(refused.body.code, 'multiple_capture_not_supported');
  const { body } = await sendOperation(setup, id, 'capture', { amount: 4000 });
  assert.equal(body.state, 'Captured');
  assert.equal(body.cancelledAmount, 6000);
});

test('an over-capture is sent up to the limit of the contract, and the host decides', async () => {
  const setup = await createOrganization({ overCapturePercent: 15 });
  const id = await sell(setup);
  const tooMuch = await sendOperation(setup, id, 'capture', { amount: 11_501 });
  assert.equal(tooMuch.body.code, 'capture_amount_exceeded');
  assert.equal(tooMuch.body.maxAmount, 11_500);
  // The host of the tests accepts 10 percent.
  const declined = await sendOperation(setup, id, 'capture', { amount: 11_001 });
  assert.equal(declined.status, 200);
  assert.equal(declined.body.operation.status, 'Declined');
  assert.equal(declined.body.operation.response.reason, 'ExceedsAmountLimit');
  assert.equal(declined.body.capturedAmount, 0);
  const { body, status } = await sendOperation(setup, id, 'capture', { amount: 11_000 });
  assert.equal(status, 200);
  assert.equal(body.operation.status, 'Succeeded');
  assert.equal(body.state, 'Captured');
  assert.deepEqual([body.authorizedAmount, body.capturedAmount], [10_000, 11_000]);
  const again = await sendOperation(setup, id, 'capture', { amount: 1 });
  assert.equal(again.body.code, 'nothing_to_capture');
  const refund = await sendOperation(setup, id, 'refund');
  assert.deepEqual([refund.body.state, refund.body.refundedAmount], ['Refunded', 11_000]);
});

// Spec: SVC-11 PAY-10
test('refunds are possible in parts, up to the captured amount', async () => {
  const setup = await createOrganization();
  const id = await sell(setup, { captureMode: 'Immediate' });
  const first = await sendOperation(setup, id, 'refund', { amount: 2500 });
  assert.equal(first.status, 200, first.text);
  assert.equal(first.body.state, 'PartiallyRefunded');
  const tooMuch = await sendOperation(setup, id, 'refund', { amount: 7501 });
  assert.equal(tooMuch.body.code, 'refund_amount_exceeded');
  assert.equal(tooMuch.body.maxAmount, 7500);
  const rest = await sendOperation(setup, id, 'refund');
  assert.equal(rest.body.state, 'Refunded');
  assert.equal(rest.body.refundedAmount, 10_000);
  const again = await sendOperation(setup, id, 'refund');
  assert.equal(again.body.code, 'already_refunded');
});

// Spec: PAY-9
test('an uncaptured amount cannot be refunded', async () => {
  const setup = await createOrganization();
  const id = await sell(setup);
  const refused = await sendOperation(setup, id, 'refund');
  assert.equal(refused.status, 422);
  assert.equal(refused.body.code, 'not_captured');
});

test('the amount of a declined refund is free again', async () => {
  const setup = await createOrganization();
  const id = await sell(setup, { captureMode: 'Immediate' });
  const declined = await sendOperation(setup, id, 'refund', { amount: 9057 });
  assert.equal(declined.status, 200);
  assert.equal(declined.body.operation.status, 'Declined');
  assert.equal(declined.body.operation.response.code, '57');
  assert.equal(declined.body.refundedAmount, 0);
  const rest = await sendOperation(setup, id, 'refund');
  assert.equal(rest.body.refundedAmount, 10_000);
});

// Spec: SVC-12 CARDF-14
test('a hold is voided in full and in part', async () => {
  const setup = await createOrganization();
  const id = await sell(setup);
  const part = await sendOperation(setup, id, 'cancel', {
    cancelReason: 'Functional',
    amount: 3000,
  });
  assert.equal(part.status, 200, part.text);
  assert.equal(part.body.state, 'Authorized');
  assert.equal(part.body.cancelledAmount, 3000);
  const rest = await sendOperation(setup, id, 'cancel', { cancelReason: 'Functional' });
  assert.equal(rest.body.state, 'Cancelled');
  const again = await sendOperation(setup, id, 'cancel', { cancelReason: 'Functional' });
  assert.equal(again.body.code, 'already_cancelled');
  const reversal = await sendOperation(setup, id, 'cancel', { cancelReason: 'Technical' });
  assert.equal(reversal.status, 200);
  assert.equal(reversal.body.state, 'Cancelled');
});

// Spec: PAY-15 ERR-6
test('with an acquirer without partial cancels, only full cancels are accepted', async () => {
  const setup = await createOrganization({ partialCancel: false });
  const id = await sell(setup);
  const refused = await sendOperation(setup, id, 'cancel', {
    cancelReason: 'Functional',
    amount: 3000,
  });
  assert.equal(refused.status, 422);
  assert.equal(refused.body.code, 'partial_cancel_not_supported');
  const { body } = await sendOperation(setup, id, 'cancel', { cancelReason: 'Functional' });
  assert.equal(body.state, 'Cancelled');
});

// Spec: CARDF-13 PAY-17 CARD-36
test('a technical cancel reverses the whole sale', async () => {
  const setup = await createOrganization();
  const id = await sell(setup);
  const part = await sendOperation(setup, id, 'cancel', { cancelReason: 'Technical', amount: 1 });
  assert.equal(part.body.code, 'partial_reversal_not_supported');
  const { body } = await sendOperation(setup, id, 'cancel', {
    cancelReason: 'Technical',
    reversalReason: 'CardRemoved',
  });
  assert.equal(body.state, 'Reversed');
  assert.equal(body.operation.kind, 'Reversal');
  assert.equal(body.operation.reversalReason, 'CardRemoved');
});

// Spec: PAY-14 ERR-7
test('a captured sale is refunded, not cancelled', async () => {
  const setup = await createOrganization();
  const id = await sell(setup, { captureMode: 'Immediate' });
  const refused = await sendOperation(setup, id, 'cancel', { cancelReason: 'Functional' });
  assert.equal(refused.status, 422);
  assert.equal(refused.body.code, 'already_captured');
});

test('a declined sale accepts no operation, and its reversal does nothing', async () => {
  const setup = await createOrganization();
  const id = await sell(setup, { amount: 9005 });
  for (const verb of ['capture', 'refund']) {
    assert.equal((await sendOperation(setup, id, verb)).body.code, 'transaction_declined');
  }
  const reversal = await sendOperation(setup, id, 'cancel', { cancelReason: 'Technical' });
  assert.equal(reversal.status, 200);
  assert.equal(reversal.body.state, 'Declined');
});

// Spec: ALLOW-1 ALLOW-2 ALLOW-3 PAY-19 CARD-46 INV-9
test('allowed operations list what each operation would accept', async () => {
  const setup = await createOrganization();
  const id = await sell(setup);
  const before = (await get(setup, `${id}/allowedoperations`)).body;
  assert.deepEqual(
    { allowed: before.allowed, maxAmount: before.maxAmount, operation: before.operation },
    { allowed: true, maxAmount: 10_000, operation: 'Cancel' },
  );
  await sendOperation(setup, id, 'capture');
  const after = (await get(setup, `${id}/allowedoperations`)).body;
  assert.equal(after.operation, 'Refund');
  assert.equal(after.currency, 'EUR');
  const maxAmountOf = Object.fromEntries(
    after.operations.map((each: { operation: string; allowed: boolean; reason?: string }) => [
      each.operation,
      each.allowed || each.reason,
    ]),
  );
  assert.deepEqual(maxAmountOf, {
    Capture: 'nothing_to_capture',
    Refund: true,
    Cancel: 'already_captured',
    Reversal: 'already_captured',
  });
});

// Spec: SVC-13 PAY-20 CARD-47
test('a refund by web cancels the uncaptured amount and refunds the captured amount', async () => {
  const setup = await createOrganization();
  const open = await sell(setup);
  const cancelled = await sendOperation(setup, open, 'refundbyweb', { clientOperationId: 'w-1' });
  assert.equal(cancelled.body.state, 'Cancelled');
  assert.equal(cancelled.body.operation.kind, 'Cancel');
  const captured = await sell(setup, { captureMode: 'Immediate' });
  const refunded = await sendOperation(setup, captured, 'refundbyweb', {
    amount: 400,
    clientOperationId: 'w-2',
  });
  assert.equal(refunded.body.operation.kind, 'Refund');
  assert.equal(refunded.body.refundedAmount, 400);
  const { body } = await get(setup, captured);
  const pending = body.events.find(
    (event: { type: string }) => event.type === 'transaction.refund_pending',
  );
  assert.match(pending.data.actor, /^[0-9a-f-]{36}$/);
});

test('by web a repeated request is a replay, although a capture has the same identifier', async () => {
  const setup = await createOrganization();
  const one = { clientOperationId: 'order-4711' };
  for (const first of ['capture', undefined]) {
    const id = await sell(setup);
    if (first !== undefined) await sendOperation(setup, id, first, one);
    const done = await sendOperation(setup, id, 'refundbyweb', one);
    assert.deepEqual([done.status, done.headers['idempotent-replayed']], [200, undefined]);
    const again = await sendOperation(setup, id, 'refundbyweb', one);
    assert.equal(again.status, 200, again.text);
    assert.equal(again.headers['idempotent-replayed'], 'true');
    assert.equal(again.body.operation.operationId, done.body.operation.operationId);
    const other = await sendOperation(setup, id, 'refundbyweb', { ...one, amount: 1 });
    assert.equal(other.body.code, 'client_id_reused', other.text);
    one.clientOperationId = 'order-4712';
  }
});

test('by web a refunded sale is refused with already_refunded', async () => {
  const setup = await createOrganization();
  const id = await sell(setup, { captureMode: 'Immediate' });
  await sendOperation(setup, id, 'refundbyweb');
  const allowedOperations = (await get(setup, `${id}/allowedoperations`)).body;
  const { allowed, operation, reason } = allowedOperations;
  assert.deepEqual([allowed, operation, reason], [false, null, 'already_refunded']);
  assertProblem(await sendOperation(setup, id, 'refundbyweb'), { code: 'already_refunded' });
});

test('by web a refund in progress is reported', async () => {
  const setup = await createOrganization();
  for (;;) {
    // The host does not answer the first refund of 9091, which is the remaining amount.
    const id = await sell(setup, { captureMode: 'Immediate', amount: 20_000 });
    await sendOperation(setup, id, 'refund', { amount: 10_909 });
    const pending = await sendOperation(setup, id, 'refundbyweb');
    assert.equal(pending.body.operation.amount, 9091, pending.text);
    const allowedOperations = (await get(setup, `${id}/allowedoperations`)).body;
    const again = await sendOperation(setup, id, 'refundbyweb');
    // The server has already repeated the refund, so the earlier response is outdated.
    if ((await get(setup, id)).body.operations[1].status !== 'Pending') continue;
    const { allowed, operation, reason } = allowedOperations;
    assert.deepEqual([allowed, operation, reason], [false, null, 'transaction_in_progress']);
    assertProblem(again, { code: 'transaction_in_progress' });
    return;
  }
});

// Spec: PAY-12 PAY-16
test('both identifiers address the transaction of an operation', async () => {
  const setup = await createOrganization();
  for (const [captureMode, verb, members, state] of [
    ['Immediate', 'refund', {}, 'Refunded'],
    ['Deferred', 'cancel', { cancelReason: 'Functional' }, 'Cancelled'],
  ] as const) {
    const clientTransactionId = randomUUID();
    const id = await sell(setup, { captureMode, clientTransactionId });
    const byOurs = await sendOperation(setup, id, verb, { ...members, amount: 4000 });
    assert.deepEqual([byOurs.status, byOurs.body.transactionId], [200, id], byOurs.text);
    const byTheirs = await sendOperation(setup, clientTransactionId, verb, members);
    assert.deepEqual([byTheirs.status, byTheirs.body.transactionId], [200, id], byTheirs.text);
    assert.equal(byTheirs.body.state, state);
  }
});

// Spec: MONEY-4
test('a currency other than that of the sale is refused', async () => {
  const setup = await createOrganization();
  const id = await sell(setup);
  const refused = await sendOperation(setup, id, 'capture', { currency: 'USD' });
  assert.equal(refused.status, 422);
  assert.equal(refused.body.code, 'currency_mismatch');
});

// Spec: STATE-3 PAY-11 IDEM-6 CARD-37 CARD-51 CARD-53
test('an operation without a response stays pending and is repeated until it has one', async () => {
  const setup = await createOrganization();
  const id = await sell(setup, { amount: 20_000 });
  const captureBody = { amount: 9091, clientOperationId: 'c-1' };
  const pending = await sendOperation(setup, id, 'capture', captureBody);
  assert.equal(pending.status, 202);
  assert.equal(pending.body.operation.status, 'Pending');
  assert.match(String(pending.headers['location']), new RegExp(id));
  assert.ok(pending.headers['retry-after']);
  const crossing = await sendOperation(setup, id, 'capture', { amount: 20_000 });
  assert.equal(crossing.body.code, 'capture_amount_exceeded');
  const waited = await get(setup, `${id}?wait=10`);
  assert.equal(waited.body.capturedAmount, 9091);
  assert.equal(waited.body.operations[0].status, 'Succeeded');
  // The replay has the original status and the current operation; no work is pending.
  const again = await sendOperation(setup, id, 'capture', captureBody);
  assert.deepEqual([again.status, again.headers['idempotent-replayed']], [202, 'true'], again.text);
  assert.equal(again.body.operation.status, 'Succeeded');
  assert.match(String(again.headers['location']), new RegExp(id));
  assert.equal(again.headers['retry-after'], undefined);
});

test('the ledgers of platform and host agree', assertLedgersAgree);
