// Which payment may use a card that was read before it, and for how long.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AnyMessage, isMessage, requestOf } from '@switchyard/nexo';
import {
  at,
  createTestTerminal,
  newAddress,
  paymentRequest,
  saleData,
  shortTimes,
} from '../terminal.fixture.ts';

/** A terminal at which a till has a card read; it waits for no other card that is shown later. */
async function acquired(cardMs = 60_000) {
  let ahead = 0;
  const now = () => Date.now() + ahead;
  const harness = createTestTerminal({ now, times: { ...shortTimes, cardWaitMs: cardMs } });
  const acquire = requestOf('CardAcquisition', newAddress('till-1'), {
    SaleData: saleData,
    CardAcquisitionTransaction: {},
  });
  const { first } = await harness.ask(acquire);
  assert.ok(first && isMessage(first, 'CardAcquisition', 'Response'));
  harness.terminal().setCard('unreadable');
  const reference = first.body.POIData?.POITransactionID;
  assert.ok(reference);
  const pass = (ms: number) => {
    ahead += ms;
  };
  return { ...harness, reference, pass };
}

const paymentWithReference = (
  till: string,
  CardAcquisitionReference: { TransactionID: string },
): AnyMessage =>
  paymentRequest(10, { PaymentData: { CardAcquisitionReference } }, newAddress(till));

test('a card that a till has acquired pays for it, named or not', async () => {
  for (const isNamed of [true, false]) {
    const { terminal, conditionOf, fake, reference } = await acquired();
    const payment = isNamed
      ? paymentWithReference('till-1', reference)
      : paymentRequest(10, {}, newAddress('till-1'));
    assert.equal(await conditionOf(payment), 'Success');
    assert.equal(fake.taken(), 1000);
    assert.equal(
      await conditionOf(paymentRequest(10, {}, newAddress('till-1'))),
      'InvalidCard',
      'for one payment',
    );
    await terminal().stop();
  }
});

// Spec: NEXO-56
test('a card that one till has acquired is not charged for the payment of another', async () => {
  const { terminal, conditionOf, fake, reference } = await acquired();
  assert.equal(
    await conditionOf(paymentRequest(10, {}, newAddress('till-2'))),
    'InvalidCard',
    'read again',
  );
  assert.equal(await conditionOf(paymentWithReference('till-2', reference)), 'NotFound');
  assert.equal(fake.taken(), 0);
  await terminal().stop();
});

test('the terminal refuses a payment that refers to an unknown or already used card acquisition', async () => {
  const { terminal, conditionOf, fake, reference } = await acquired();
  const other = { ...reference, TransactionID: 'never', TimeStamp: at };
  assert.equal(await conditionOf(paymentWithReference('till-1', other)), 'NotFound');
  assert.equal(await conditionOf(paymentWithReference('till-1', reference)), 'Success');
  assert.equal(
    await conditionOf(paymentWithReference('till-1', reference)),
    'NotFound',
    'it has paid',
  );
  assert.equal(fake.taken(), 1000);
  await terminal().stop();
});

test('the terminal discards an acquired card after one minute without a payment', async () => {
  const { terminal, conditionOf, fake, reference, pass } = await acquired();
  pass(60_000);
  assert.equal(await conditionOf(paymentWithReference('till-1', reference)), 'NotFound');
  assert.equal(await conditionOf(paymentRequest(10, {}, newAddress('till-1'))), 'InvalidCard');
  assert.equal(fake.taken(), 0);
  await terminal().stop();
});

test('the terminal accepts card reader commands only from the point of sale that initialised the reader', async () => {
  const { terminal, ask, conditionOf } = createTestTerminal();
  const { serviceId: _, ...till } = newAddress('till-1');
  const init = requestOf('CardReaderInit', { ...till, deviceId: 'C1' }, {});
  assert.equal(await conditionOf(init), 'Success');
  const bytes = (hex: string) => Buffer.from(hex, 'hex').toString('base64');
  const apdu = (saleId: string, deviceId: string) =>
    requestOf(
      'CardReaderAPDU',
      { ...till, saleId, deviceId },
      {
        APDUClass: bytes('00'),
        APDUInstruction: bytes('84'),
        APDUPar1: bytes('00'),
        APDUPar2: bytes('00'),
      },
    );
  assert.equal(await conditionOf(apdu('till-2', 'C2')), 'NotAllowed');
  const { first } = await ask(apdu('till-1', 'C3'));
  assert.ok(first && isMessage(first, 'CardReaderAPDU', 'Response'));
  assert.equal(first.body.Response.Result, 'Success');
  await terminal().stop();
});
