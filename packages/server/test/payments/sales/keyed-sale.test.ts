// Chapter "Card payments": process a sale and read its status with events, as a till does.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { keyedSale } from '../../support/keyed-sale.ts';
import { until } from '../../support/wait-for-result.ts';
import { trackLedgers } from '../ledger/check-ledger-after-tests.ts';

const { createOrganization, assertLedgersAgree } = trackLedgers();

const process = '/payment/v1/transactions/process';

/** Chip data of the test card 5413330089010012 for 12.34 EUR. */
const chipData =
  '57115413330089010012D30122010000000000' +
  '5F3401018407A0000000041010820219809A032611219C01005F2A0209789F02060000000012349F0306000000000000' +
  '9F1A0202509F260811223344556677889F2701809F100706010A03A000009F3303E0F8C89F34034203009F3602000195050000008000' +
  '9F3704AABBCCDD';

// Spec: SVC-8 SVC-18 CARDF-2 CARDF-3 CARDF-6 PAY-1 PAY-6 VER-4 CARD-26
test('an immediate keyed sale is approved by the host and captured', async () => {
  const { client, merchant } = await createOrganization();
  const body = keyedSale({ deviceId: merchant.deviceIds[0] });
  const answer = await client.call('POST', process, { token: merchant.token, body });
  assert.equal(answer.status, 200, answer.text);
  const sale = answer.body;
  assert.equal(sale.state, 'Captured');
  assert.equal(sale.answeredState, 'Captured');
  assert.equal(sale.approved, true);
  assert.equal(sale.terminalAction, 'Approve');
  assert.equal(sale.amount, 1234);
  assert.equal(sale.authorizedAmount, 1234);
  assert.equal(sale.capturedAmount, 1234);
  assert.equal(sale.merchantId, merchant.merchantId);
  assert.equal(sale.storeId, merchant.storeId);
  assert.equal(sale.deviceId, merchant.deviceIds[0]);
  assert.deepEqual(
    { scheme: sale.card.scheme, maskedNumber: sale.card.maskedNumber },
    { scheme: 'Visa', maskedNumber: '411111******1111' },
  );
  assert.equal(sale.response.code, '00');
  assert.equal(sale.response.category, 'Approved');
  assert.match(sale.authorizationCode, /^[A-Z0-9]{6}$/);
  assert.match(sale.retrievalReferenceNumber, /^\d{12}$/);
  assert.match(sale.systemTraceAuditNumber, /^\d{6}$/);
  assert.match(sale.transactionId, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
});

// Spec: SVC-14 CARDF-4 STATUS-1 STATUS-2 PAY-22 EVT-9 CARD-50 CARD-60
test('both identifiers return the transaction with its events', async () => {
  const { client, merchant } = await createOrganization();
  const body = keyedSale({ order: { orderId: 'o-1' }, metadata: { table: '7' } });
  const sale = (await client.call('POST', process, { token: merchant.token, body })).body;
  for (const identifier of [sale.transactionId, body['clientTransactionId']]) {
    const path = `/payment/v1/transactions/${identifier}`;
    const { status, body: found } = await client.call('GET', path, { token: merchant.token });
    assert.equal(status, 200);
    const { events, ...transaction } = found;
    assert.deepEqual(transaction, sale);
    assert.deepEqual(
      events.map((event: { sequence: number; type: string }) => [event.sequence, event.type]),
      [
        [1, 'transaction.received'],
        [2, 'transaction.captured'],
      ],
    );
    assert.deepEqual(transaction.order, { orderId: 'o-1' });
    assert.deepEqual(transaction.metadata, { table: '7' });
  }
});

for (const entryMode of ['ContactChip', 'ContactlessChip']) {
  // Spec: SVC-21 SVC-22 CARDF-7 CARD-16 CARD-19
  test(`${entryMode}: chip data is sent to the host, and its response data is returned`, async () => {
    const { client, merchant } = await createOrganization();
    const body = keyedSale({
      entryMode,
      instrument: { emvData: chipData },
      captureMode: 'Deferred',
      deviceId: merchant.deviceIds[0],
    });
    const answer = await client.call('POST', process, { token: merchant.token, body });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.body.state, 'Authorized');
    assert.equal(answer.body.capturedAmount, 0);
    assert.equal(answer.body.card.scheme, 'Mastercard');
    assert.match(answer.body.emvResponse, /^91/);
  });
}

// Spec: PROB-8
test('a decline is a response with status 200, not an error', async () => {
  const { client, merchant } = await createOrganization();
  const body = keyedSale({ amount: 9051 });
  const { status, body: sale } = await client.call('POST', process, {
    token: merchant.token,
    body,
  });
  assert.equal(status, 200);
  assert.equal(sale.state, 'Declined');
  assert.equal(sale.approved, false);
  assert.equal(sale.terminalAction, 'Decline');
  assert.equal(sale.authorizedAmount, 0);
  assert.deepEqual(sale.response, {
    category: 'SoftDecline',
    code: '51',
    reason: 'InsufficientFunds',
    retry: sale.response.retry,
  });
});

// Spec: CARD-18
test('a token pays again without the card number', async () => {
  const { client, merchant } = await createOrganization();
  const first = await client.call('POST', process, { token: merchant.token, body: keyedSale() });
  const body = keyedSale({ instrument: { token: first.body.card.token } });
  const again = await client.call('POST', process, { token: merchant.token, body });
  assert.equal(again.status, 200, again.text);
  assert.deepEqual(again.body.card, first.body.card);
  const unknown = keyedSale({ instrument: { token: randomUUID() } });
  const refused = await client.call('POST', process, { token: merchant.token, body: unknown });
  assert.equal(refused.status, 422);
  assert.equal(refused.body.code, 'card_token_unknown');
});

// Spec: CARD-28
test('a partial approval is accepted if the client supports it, otherwise the sale is reversed', async () => {
  const { client, merchant } = await createOrganization();
  const accepted = await client.call('POST', process, {
    token: merchant.token,
    body: keyedSale({ amount: 9010, partialApproval: true }),
  });
  assert.equal(accepted.body.state, 'Captured');
  assert.equal(accepted.body.response.category, 'PartiallyApproved');
  assert.ok(accepted.body.authorizedAmount > 0 && accepted.body.authorizedAmount < 9010);
  const reversed = await client.call('POST', process, {
    token: merchant.token,
    body: keyedSale({ amount: 9010 }),
  });
  assert.equal(reversed.status, 200);
  assert.equal(reversed.body.approved, false);
  assert.equal(reversed.body.terminalAction, 'Decline');
  const path = `/payment/v1/transactions/${reversed.body.transactionId}`;
  await until(async () => {
    const { body } = await client.call('GET', path, { token: merchant.token });
    return body.state === 'Reversed' ? body : undefined;
  }, 'the reversal');
});

// Spec: START-5
test('another merchant does not find the sale by either identifier', async () => {
  const { client, merchant, otherMerchant } = await createOrganization();
  const body = keyedSale();
  const sale = (await client.call('POST', process, { token: merchant.token, body })).body;
  for (const identifier of [sale.transactionId, sale.clientTransactionId]) {
    for (const [method, verb] of [
      ['GET', ''],
      ['GET', '/allowedoperations'],
      ['POST', '/refund'],
      ['POST', '/capture'],
      ['POST', '/refundbyweb'],
    ] as const) {
      const { status, body: problem } = await client.call(
        method,
        `/payment/v1/transactions/${identifier}${verb}`,
        { token: otherMerchant.token, ...(method === 'POST' ? { body: {} } : {}) },
      );
      assert.equal(status, 404, `${method} ${verb}`);
      assert.equal(problem.code, 'transaction_not_found');
    }
  }
  const same = await client.call('POST', process, { token: otherMerchant.token, body });
  assert.equal(same.status, 200);
  assert.notEqual(same.body.transactionId, sale.transactionId);
});

// Spec: PAY-23
test('availability lists the links of the organisation', async () => {
  const { client, merchant } = await createOrganization();
  const path = '/payment/v1/transactions/technical/isAvailable';
  const { status, body } = await client.call('GET', path, { token: merchant.token });
  assert.equal(status, 200);
  assert.equal(body.available, true);
  assert.equal(body.offlineAdvised, false);
  assert.equal(body.links.length, 1);
});

test('the ledgers of platform and host agree', assertLedgersAgree);
