import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type SpiAnswer,
  SpiCapture,
  SpiPayment,
  SpiRefund,
  SpiReversal,
} from '@switchyard/contract';
import { Value } from 'typebox/value';
import type { AcquirerOutcome, AcquirerReference, AcquirerRequest } from '../spi/acquirer-spi.ts';
import { isAmbiguousDecline } from '../spi/check-outcome.ts';
import { toSpiMessage, toSpiOutcome } from './spi-messages.ts';

const pan = '4111111111111111';

function referenceOf(stan: string): AcquirerReference {
  return {
    mti: '0200',
    terminalId: 'TERM0001',
    stan,
    rrn: `632601${stan}`,
    transmittedAt: '1122014500',
    localTime: '024500',
    localDate: '1122',
  };
}

const sale: AcquirerRequest = {
  kind: 'Sale',
  repeat: false,
  organizationId: '0198c0de-0000-7000-8000-00000000000a',
  transactionId: '0198c0de-0000-7000-8000-000000000001',
  linkId: 'link',
  reference: referenceOf('000017'),
  merchantNumber: '100000000000001',
  mcc: '5411',
  amount: 1234,
  currency: 'EUR',
  entryMode: 'ContactChip',
  card: { pan, expiry: '3012' },
  sensitive: { track2: `${pan}D3012201` },
  panSequence: '01',
  chipData: '9F2608AABBCCDDEEFF0011',
};

const sentAt = '2026-11-22T01:45:00.000Z';
const written = (request: AcquirerRequest) => toSpiMessage(request, '100001', sentAt);

test('each request kind has its path and schema', () => {
  const follower = { ...sale, original: sale.reference, reference: referenceOf('000018') };
  const cases = [
    [sale, '/v1/payments', SpiPayment],
    [{ ...sale, kind: 'Authorization' }, '/v1/payments', SpiPayment],
    [{ ...follower, kind: 'Capture', final: true }, '/v1/captures', SpiCapture],
    [{ ...follower, kind: 'Refund' }, '/v1/refunds', SpiRefund],
    [{ ...follower, kind: 'Reversal', remainingAmount: 200 }, '/v1/reversals', SpiReversal],
  ] as const;
  for (const [request, expected, schema] of cases) {
    const { path, message } = written(request as AcquirerRequest);
    assert.equal(path, expected);
    assert.ok(Value.Check(schema, message), JSON.stringify([...Value.Errors(schema, message)]));
  }
});

test('a follow-up message has the message id of the sale and no card data', () => {
  const { message: first } = written(sale);
  const { message } = written({
    ...sale,
    kind: 'Refund',
    reference: referenceOf('000018'),
    original: sale.reference,
  });
  assert.equal('original' in message && message.original, first.messageId);
  assert.notEqual(message.messageId, first.messageId);
  assert.ok(!JSON.stringify(message).includes(pan));
});

test('payments contain PIN, address and offline approval; reversals contain the reason', () => {
  const pin = { block: '0123456789ABCDEF', format: 0, keyIndex: '01' } as const;
  const addressCheck = { postalCode: 'SW1A2AA', houseNumber: '10' };
  const paid = written({ ...sale, sensitive: { ...sale.sensitive, pin }, addressCheck }).message;
  assert.deepEqual('pin' in paid && paid.pin, pin);
  assert.deepEqual('addressCheck' in paid && paid.addressCheck, addressCheck);
  const authorizedAt = '2026-11-21T20:00:00.000Z';
  const { message: offline } = written({
    ...sale,
    kind: 'OfflineSale',
    authorizationCode: 'Z1Z2Z3',
    authorizedAt,
  });
  assert.ok(Value.Check(SpiPayment, offline));
  assert.deepEqual(offline.offline, { authorizedAt, authorizationCode: 'Z1Z2Z3' });
  const { message: reversal } = written({
    ...sale,
    kind: 'Reversal',
    original: sale.reference,
    reversalReason: 'ChipDeclined',
  });
  assert.ok(Value.Check(SpiReversal, reversal));
  assert.equal(reversal.reason, 'ChipDeclined');
  assert.equal(reversal.chipData, sale.chipData);
});

test('a repeat differs only in the repeat flag', () => {
  const { message } = written(sale);
  const again = written({ ...sale, repeat: true });
  assert.deepEqual({ ...again.message, repeat: false }, message);
});

const approval: SpiAnswer = {
  messageId: written(sale).message.messageId,
  outcome: 'Approved',
  responseCode: '00',
  amount: 1234,
  currency: 'EUR',
  authorizationCode: 'A1B2C3',
};

const judged = (answer: Partial<SpiAnswer>, status = 200) =>
  toSpiOutcome(written(sale), { status, body: { ...approval, ...answer } });

test('an approval has an approving response code and the requested or a partial amount', () => {
  assert.deepEqual(judged({}), {
    outcome: 'Approved',
    responseCode: '00',
    amount: 1234,
    authorizationCode: 'A1B2C3',
  });
  assert.deepEqual(judged({ responseCode: '10', amount: 600 }), {
    outcome: 'Approved',
    responseCode: '10',
    amount: 600,
    authorizationCode: 'A1B2C3',
  });
});

test('a second reversal with amount 0 is an approval', () => {
  const reversal = written({ ...sale, kind: 'Reversal', original: sale.reference });
  const answer = { ...approval, messageId: reversal.message.messageId, amount: 0 };
  const outcome = toSpiOutcome(reversal, { status: 200, body: answer });
  assert.equal((outcome as { outcome: string }).outcome, 'Approved');
});

test('a contradictory or unrelated response has an unknown outcome', () => {
  const unknown = { outcome: 'Unknown', reason: 'InvalidResponse' };
  for (const answer of [
    { messageId: 'another' },
    { responseCode: '51' },
    { responseCode: 'ZZ' },
    { outcome: 'Declined' },
    { currency: 'USD' },
    { amount: 1235 },
    { amount: 1233 },
    { amount: 0 },
    { outcome: 'NotFound' },
    { outcome: 'NotProcessed' },
  ] as Partial<SpiAnswer>[]) {
    assert.deepEqual(judged(answer), unknown, JSON.stringify(answer));
  }
  const { amount: _amount, ...partial } = { ...approval, responseCode: '10' };
  assert.deepEqual(toSpiOutcome(written(sale), { status: 200, body: partial }), unknown);
  assert.deepEqual(judged({}, 500), unknown);
});

test('an explicit decline is a decline with every response code', () => {
  const declined = (responseCode: string) => judged({ outcome: 'Declined', responseCode });
  for (const [code, isExplicitDecline] of [
    ['51', undefined],
    ['ZZ', true],
    ['16', true],
  ] as const) {
    const outcome = declined(code);
    assert.ok(outcome !== 'Pending' && outcome.outcome === 'Declined', code);
    assert.deepEqual([outcome.responseCode, outcome.isExplicitDecline], [code, isExplicitDecline]);
    assert.equal(isAmbiguousDecline(outcome), false, code);
  }
  assert.equal(isAmbiguousDecline(declined('68') as AcquirerOutcome), true);
});

test('NotProcessed maps to NotSent after overload, otherwise to a decline', () => {
  assert.equal(
    (judged({ outcome: 'NotProcessed' }, 503) as { outcome: string }).outcome,
    'NotSent',
  );
  assert.equal(
    (judged({ outcome: 'NotProcessed' }, 429) as { outcome: string }).outcome,
    'NotSent',
  );
  assert.deepEqual(judged({ outcome: 'NotProcessed' }, 400), {
    outcome: 'Declined',
    responseCode: '30',
  });
});

test('a pending response maps to Pending', () => {
  assert.equal(judged({ outcome: 'Pending' }, 202), 'Pending');
});

test('issuer data that contains the card number is left out', () => {
  const outcome = judged({ issuerData: `5A08${pan}` });
  assert.ok(!JSON.stringify(outcome).includes(pan));
});
