// Mail and telephone orders, with and without address verification.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textWithoutRequestId } from '../../support/assert-problem-response.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import { trackLedgers } from '../ledger/check-ledger-after-tests.ts';

const { createOrganization, assertLedgersAgree } = trackLedgers();
const path = '/payment/v1/transactions';
const card = { number: '4111111111111111', expiryMonth: 12, expiryYear: 2030 };

const order = (members: Record<string, unknown> = {}) =>
  keyedSale({ orderChannel: 'TelephoneOrder', ...members });

// Spec: SVC-17 CARDF-10 PAY-3 CARD-2 CARD-30
test('the issuer compares the address, and the response contains the result of both parts', async () => {
  const { client, merchant } = await createOrganization();
  const verifyAddress = async (zipCode: string, houseNumber: string) => {
    const body = order({ zipCode, houseNumber });
    const answer = await client.call('POST', `${path}/process`, { token: merchant.token, body });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.body.approved, true);
    const read = await client.call('GET', `${path}/${answer.body.transactionId}`, {
      token: merchant.token,
    });
    assert.deepEqual(read.body.addressVerification, answer.body.addressVerification);
    assert.ok(!/sw1a/i.test(read.text), 'an address is not kept');
    return answer.body.addressVerification;
  };
  const bothMatched = { street: 'Matched', postal: 'Matched', raw: 'Y' };
  assert.deepEqual(await verifyAddress('SW1A 2AA', '10'), bothMatched);
  assert.deepEqual(await verifyAddress('sw1a-2aa', '10b'), bothMatched);
  assert.deepEqual(await verifyAddress('75009', '1'), {
    street: 'Matched',
    postal: 'NotMatched',
    raw: 'A',
  });
  assert.deepEqual(await verifyAddress('75001', '19'), {
    street: 'NotMatched',
    postal: 'Matched',
    raw: 'Z',
  });
  assert.deepEqual(await verifyAddress('75009', '9'), {
    street: 'NotMatched',
    postal: 'NotMatched',
    raw: 'N',
  });
  assert.deepEqual(await verifyAddress('00000', '1'), {
    street: 'NotChecked',
    postal: 'NotChecked',
    raw: 'U',
  });
});

// Spec: SVC-16 CARDF-11 CARD-22
test('without address verification a telephone number or an e-mail address is enough', async () => {
  const { client, merchant } = await createOrganization();
  for (const address of [
    { phone: '+33123456789' },
    { email: 'guest@example.com' },
    { phone: '+33123456789', email: 'guest@example.com' },
  ]) {
    const body = order({ orderChannel: 'MailOrder', instrument: { card, address } });
    const answer = await client.call('POST', `${path}/process`, { token: merchant.token, body });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.body.state, 'Captured');
    assert.equal(answer.body.addressVerification, undefined);
    const read = await client.call('GET', `${path}/${answer.body.transactionId}`, {
      token: merchant.token,
    });
    assert.ok(!/guest|33123456789/.test(read.text), 'an address is not kept');
  }
});

test('a stored card is accepted for an order, and a decline contains the address result', async () => {
  const { client, merchant } = await createOrganization();
  const send = async (body: Record<string, unknown>) =>
    (await client.call('POST', `${path}/process`, { token: merchant.token, body })).body;
  const { card: stored } = await send(keyedSale());
  const again = { zipCode: '75001', houseNumber: '1', instrument: { token: stored.token } };
  assert.equal((await send(order(again))).state, 'Captured');
  const declined = await send(order({ ...again, amount: 9005 }));
  assert.equal(declined.state, 'Declined');
  assert.equal(declined.addressVerification.raw, 'Y');
});

test('a repeated order is a replay; another address with its identifier is another order', async () => {
  const { client, merchant } = await createOrganization();
  const body = order({ zipCode: '75001', houseNumber: '1' });
  const send = (changed: Record<string, unknown> = {}) =>
    client.call('POST', `${path}/process`, {
      token: merchant.token,
      body: { ...body, ...changed },
    });
  const first = await send();
  const second = await send();
  assert.deepEqual(second.body, first.body);
  assert.equal(second.headers['idempotent-replayed'], 'true');
  const other = await send({ zipCode: '75002' });
  assert.equal(other.status, 422);
  assert.equal(other.body.code, 'client_id_reused');
  assert.equal(other.body.errors[0].pointer, '/zipCode');
  assert.ok(!textWithoutRequestId(other).includes('7500'), 'values are not told');
});

// Spec: CARDF-8 ERR-3
test('an order that is not keyed is refused with its reason', async () => {
  const { client, merchant } = await createOrganization();
  const body = order({
    entryMode: 'ContactlessChip',
    zipCode: '75001',
    houseNumber: '1',
    instrument: { emvData: '5A084111111111111111' },
  });
  const answer = await client.call('POST', `${path}/process`, { token: merchant.token, body });
  assert.equal(answer.status, 422);
  assert.equal(answer.body.code, 'entry_mode_invalid');
  assert.equal(answer.body.outcome, 'NotProcessed');
  assert.match(answer.body.detail, /entryMode Keyed/);
  assert.equal(answer.body.errors[0].pointer, '/entryMode');
  const name = body['clientTransactionId'];
  const { status } = await client.call('GET', `${path}/${name}`, { token: merchant.token });
  assert.equal(status, 404);
});

test('the ledgers of platform and host agree', assertLedgersAgree);
