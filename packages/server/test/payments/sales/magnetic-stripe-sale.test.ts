// Magnetic stripe sales: swiped, contactless, and after a chip that the terminal could not read.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chipData } from '../../support/card-data/chip-data.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import { trackLedgers } from '../ledger/check-ledger-after-tests.ts';

const { createOrganization, assertLedgersAgree } = trackLedgers();
const path = '/payment/v1/transactions';

const number = '4111111111111111';
const track = (service: string, separator = '=') => `${number}${separator}3012${service}0000012345`;
const stripe = (entryMode: string, track2: string) =>
  keyedSale({ entryMode, instrument: { track2 } });

// Spec: SVC-23 CARD-21
test('a card without a chip is swiped, and its track is not stored', async () => {
  const { client, merchant } = await createOrganization();
  for (const track2 of [
    track('101'),
    `;${track('101')}?`,
    track('101', 'D'),
    `${track('101', 'd')}F`,
  ]) {
    const body = stripe('MagStripe', track2);
    const answer = await client.call('POST', `${path}/process`, { token: merchant.token, body });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.body.state, 'Captured');
    assert.equal(answer.body.entryMode, 'MagStripe');
    assert.equal(answer.body.card.maskedNumber, '411111******1111');
    const read = await client.call('GET', `${path}/${answer.body.transactionId}`, {
      token: merchant.token,
    });
    assert.ok(!read.text.includes('0000012345'));
  }
});

// Spec: CARD-17
test('a card with a chip is swiped only as a fallback after a chip failure', async () => {
  const { client, merchant } = await createOrganization();
  const send = (entryMode: string, service: string) =>
    client.call('POST', `${path}/process`, {
      token: merchant.token,
      body: stripe(entryMode, track(service)),
    });
  for (const service of ['201', '601']) {
    const swiped = await send('MagStripe', service);
    assert.equal(swiped.status, 422);
    assert.equal(swiped.body.code, 'entry_mode_invalid');
    assert.match(swiped.body.detail, /chip/);
    assert.equal((await send('FallbackMagStripe', service)).body.state, 'Captured');
    assert.equal((await send('ContactlessMagStripe', service)).body.state, 'Captured');
  }
  const fallback = await send('FallbackMagStripe', '101');
  assert.equal(fallback.status, 422);
  assert.equal(fallback.body.code, 'entry_mode_invalid');
});

test('only UnionPay cards without a check digit are accepted, swiped or inserted', async () => {
  const { client, merchant } = await createOrganization();
  const send = (body: Record<string, unknown>) =>
    client.call('POST', `${path}/process`, { token: merchant.token, body });
  const swiped = (pan: string) => stripe('MagStripe', `${pan}=30121010000012345`);
  const withoutCheckDigit = ['6243030000000002', '8171999927660001', '6205500000000000001'];
  for (const pan of withoutCheckDigit) {
    const { body, text } = await send(swiped(pan));
    assert.deepEqual([body.state, body.card?.scheme], ['Captured', 'UnionPay'], text);
    assert.equal(
      body.card.maskedNumber,
      `${pan.slice(0, 6)}${'*'.repeat(pan.length - 10)}${pan.slice(-4)}`,
    );
  }
  // Here the check digit must be right: wrong length for the scheme, another scheme, or a keyed
  // number.
  for (const pan of ['624303000000001', '4111111111111112']) {
    assert.equal((await send(swiped(pan))).body.code, 'track_data_invalid', pan);
  }
  const card = { number: withoutCheckDigit[0], expiryMonth: 12, expiryYear: 2030 };
  const typed = await send(keyedSale({ instrument: { card } }));
  assert.equal(typed.body.code, 'card_number_invalid', typed.text);
});

test('a contactless magnetic stripe sale can be answered with “use another interface”', async () => {
  const { client, merchant } = await createOrganization();
  const body = { ...stripe('ContactlessMagStripe', track('201')), amount: 9065 };
  const { body: sale } = await client.call('POST', `${path}/process`, {
    token: merchant.token,
    body,
  });
  assert.equal(sale.state, 'Declined');
  assert.equal(sale.response.retry, 'OtherInterface');
  assert.equal(sale.terminalAction, 'UseChip');
});

test('a swiped sale is captured, refunded and reversed like other sales', async () => {
  const { client, merchant } = await createOrganization();
  const call = async (at: string, body: Record<string, unknown>) =>
    (await client.call('POST', `${path}/${at}`, { token: merchant.token, body })).body;
  const heldSale = await call('process', {
    ...stripe('MagStripe', track('101')),
    captureMode: 'Deferred',
  });
  assert.equal(heldSale.state, 'Authorized');
  assert.equal((await call(`${heldSale.transactionId}/capture`, {})).state, 'Captured');
  const refunded = await call(`${heldSale.transactionId}/refund`, { amount: 100 });
  assert.equal(refunded.refundedAmount, 100);
  const other = await call('process', {
    ...stripe('MagStripe', track('101')),
    captureMode: 'Deferred',
  });
  const reversal = await call(`${other.transactionId}/cancel`, { cancelReason: 'Technical' });
  assert.equal(reversal.state, 'Reversed', JSON.stringify(reversal));
});

// Spec: CARD-3
test('tip and cashback are part of the amount, and a sale with cashback is reversed as a whole', async () => {
  const { client, merchant } = await createOrganization();
  const call = (at: string, body: Record<string, unknown>) =>
    client.call('POST', `${path}/${at}`, { token: merchant.token, body });
  const swiped = stripe('MagStripe', track('101'));
  const amounts = { tip: 100, cashback: 1000 };
  const sale = await call('process', { ...swiped, amounts, captureMode: 'Deferred' });
  assert.equal(sale.body.authorizedAmount, 1234, sale.text);
  const inPart = await call('process', { ...swiped, amounts, partialApproval: true });
  assert.equal(inPart.status, 422);
  assert.equal(inPart.body.errors[0].pointer, '/partialApproval');
  const again = await call('process', { ...swiped, amounts: { tip: 101 } });
  assert.equal(again.body.code, 'client_id_reused');
  const reversed = await call(`${sale.body.transactionId}/cancel`, { cancelReason: 'Technical' });
  assert.equal(reversed.body.state, 'Reversed', reversed.text);
});

test('a card that is limited to goods and services gets no cashback, in any entry mode', async () => {
  const { client, merchant } = await createOrganization();
  const send = (body: Record<string, unknown>) =>
    client.call('POST', `${path}/process`, { token: merchant.token, body });
  for (const service of ['102', '105', '107']) {
    const body = stripe('MagStripe', track(service));
    const refused = await send({ ...body, amounts: { cashback: 1000 } });
    assert.equal(refused.status, 422, refused.text);
    assert.equal(refused.body.errors[0].pointer, '/amounts/cashback');
    assert.equal((await send(body)).body.state, 'Captured');
  }
  const emvData = chipData(number, {
    '57': `${number}D30122020000000000`,
    '9F03': '000000001000',
  });
  const chip = keyedSale({ entryMode: 'ContactChip', instrument: { emvData } });
  const refused = await send({ ...chip, amounts: { cashback: 1000 } });
  assert.equal(refused.body.errors[0].pointer, '/amounts/cashback', refused.text);
});

test('the ledgers of platform and host agree', assertLedgersAgree);
