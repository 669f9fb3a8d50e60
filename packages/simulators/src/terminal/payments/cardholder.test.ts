// A manual terminal: a person presents cards, enters the PIN and signs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CardholderInput } from '@switchyard/contract';
import { isMessage, readAdditionalResponse, resultOf } from '@switchyard/nexo';
import { walletCards } from '../cards/test-cards.ts';
import { createTestTerminal, paymentRequest, shortTimes } from '../terminal.fixture.ts';

const attemptsMax = 100_000;

function manualTerminal(times = { ...shortTimes, cardWaitMs: 60_000 }) {
  const harness = createTestTerminal({ isManual: true, times });
  const { terminal } = harness;
  const prompt = () => terminal().screen().prompt;
  async function until(condition: string, check: () => boolean): Promise<void> {
    for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
      if (check()) return;
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.fail(`never: ${condition}`);
  }
  return {
    ...harness,
    prompt,
    asksFor: (type: string) => until(type, () => prompt()?.type === type),
    requiresChip: () =>
      until('the chip', () => {
        const current = prompt();
        return current?.type === 'Card' && current.entries.join() === 'Chip';
      }),
    triesLeft: (tries: number) =>
      until(`${tries} tries`, () => {
        const current = prompt();
        return current?.type === 'Pin' && current.triesLeft === tries;
      }),
    input: (...inputs: CardholderInput[]) => {
      for (const each of inputs) terminal().input(each);
    },
  };
}

const visaByChip = { type: 'Card', name: 'visa', entry: 'Chip' } as const;

test('a card is tapped, and its way of reading is in the sale and in the answer', async () => {
  const manual = manualTerminal();
  const pending = manual.ask(paymentRequest(12.5));
  await manual.asksFor('Card');
  // Cards that the terminal cannot read in this way, or does not know, are ignored.
  manual.input({ type: 'Card', name: 'stripe', entry: 'Tap' });
  manual.input({ type: 'Card', name: 'gold', entry: 'Tap' }, { type: 'Signature' });
  manual.input({ type: 'Card', name: 'mastercard', entry: 'Tap' });
  const { first } = await pending;
  assert.ok(first && isMessage(first, 'Payment', 'Response'));
  assert.equal(resultOf(first)?.Result, 'Success');
  const { CardData } = first.body.PaymentResult?.PaymentInstrumentData ?? {};
  assert.deepEqual(CardData?.EntryMode, ['Contactless']);
  assert.equal(manual.fake.sold[0]?.['entryMode'], 'ContactlessChip');
  await manual.terminal().stop();
});

test('above the contactless limit the chip is required, except for a mobile wallet', async () => {
  const manual = manualTerminal();
  const byCard = manual.conditionOf(paymentRequest(50.01));
  await manual.asksFor('Card');
  manual.input({ type: 'Card', name: 'mastercard', entry: 'Tap' });
  await manual.requiresChip();
  manual.input({ type: 'Card', name: 'mastercard', entry: 'Chip' });
  await manual.asksFor('Pin');
  manual.input({ type: 'Pin', digits: '1234' });
  assert.equal(await byCard, 'Success');
  const byPhone = manual.conditionOf(paymentRequest(50.01));
  await manual.asksFor('Card');
  manual.input({ type: 'Card', name: 'phone', entry: 'Tap' });
  assert.equal(await byPhone, 'Success');
  const modes = manual.fake.sold.map((body) => body['entryMode']);
  assert.deepEqual(modes, ['ContactChip', 'ContactlessChip']);
  await manual.terminal().stop();
});

test('the PIN is sent encrypted, and three wrong PINs end the payment', async () => {
  const manual = manualTerminal();
  for (let wrong = 0; wrong < 3; wrong += 1) manual.fake.next('WrongPin');
  const condition = manual.conditionOf(paymentRequest(12.5));
  await manual.asksFor('Card');
  manual.input(visaByChip);
  for (const tries of [3, 2, 1]) {
    await manual.triesLeft(tries);
    manual.input({ type: 'Pin', digits: '8642' });
  }
  assert.equal(await condition, 'WrongPIN');
  assert.equal(manual.fake.sold.length, 3);
  assert.equal(JSON.stringify([manual.fake.sold, manual.events]).includes('"8642"'), false);
  await manual.terminal().stop();
});

test('a typed card number needs a correct check digit and no verification', async () => {
  const manual = manualTerminal();
  const condition = manual.conditionOf(paymentRequest(12.5));
  await manual.asksFor('Card');
  const typed = { type: 'Card', name: 'signature', entry: 'Keyed' } as const;
  manual.input({ ...typed, number: '4111111111111112' }, { ...typed, number: '4111111111111111' });
  assert.equal(await condition, 'Success');
  const [sold] = manual.fake.sold;
  assert.equal(sold?.['entryMode'], 'Keyed');
  assert.deepEqual(sold?.['instrument'], {
    card: { number: '4111111111111111', expiryMonth: 12, expiryYear: 2049 },
  });
  await manual.terminal().stop();
});

test('a signed payment stays approved, and a payment without signature is reversed', async () => {
  const manual = manualTerminal();
  const signed = manual.conditionOf(paymentRequest(12.5));
  await manual.asksFor('Card');
  manual.input({ type: 'Card', name: 'signature', entry: 'Chip' });
  await manual.asksFor('Signature');
  manual.input({ type: 'Signature' });
  assert.equal(await signed, 'Success');
  const unsigned = manual.conditionOf(paymentRequest(13));
  await manual.asksFor('Card');
  manual.input({ type: 'Card', name: 'stripe', entry: 'MagStripe' });
  await manual.asksFor('Signature');
  manual.input({ type: 'Cancel' });
  assert.equal(await unsigned, 'Cancel');
  while (manual.terminal().pendingCounts().reversals > 0) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(manual.fake.taken(), 1250);
  await manual.terminal().stop();
});

test('after a tap the platform can require the chip, and a card without chip is declined', async () => {
  const manual = manualTerminal();
  manual.fake.next('RequiresChip');
  const byCard = manual.conditionOf(paymentRequest(12.5));
  await manual.asksFor('Card');
  manual.input({ type: 'Card', name: 'visa', entry: 'Tap' });
  await manual.requiresChip();
  manual.input(visaByChip);
  await manual.asksFor('Pin');
  manual.input({ type: 'Pin', digits: '1234' });
  assert.equal(await byCard, 'Success');
  manual.fake.next('RequiresChip');
  const byPhone = manual.conditionOf(paymentRequest(12.5));
  await manual.asksFor('Card');
  manual.input({ type: 'Card', name: 'phone', entry: 'Tap' });
  assert.equal(await byPhone, 'Refusal');
  await manual.terminal().stop();
});

test('Stop and the time limit end the payment before a sale', async () => {
  const manual = manualTerminal();
  const stopped = manual.conditionOf(paymentRequest(12.5));
  await manual.asksFor('Card');
  manual.input(visaByChip);
  await manual.asksFor('Pin');
  manual.input({ type: 'Cancel' });
  assert.equal(await stopped, 'Cancel');
  await manual.terminal().stop();
  const impatient = manualTerminal(shortTimes);
  assert.equal(await impatient.conditionOf(paymentRequest(12.5)), 'Cancel');
  assert.deepEqual([manual.fake.sold.length, impatient.fake.sold.length], [0, 0]);
  await impatient.terminal().stop();
});

test('a PIN that is not entered in time ends the payment before a sale, with its own reason', async () => {
  const manual = manualTerminal({ ...shortTimes, cardWaitMs: 500 });
  const pending = manual.ask(paymentRequest(12.5));
  await manual.asksFor('Card');
  manual.input(visaByChip);
  const { first } = await pending;
  const { ErrorCondition, AdditionalResponse } = (first && resultOf(first)) ?? {};
  const { refusalReason } = readAdditionalResponse(AdditionalResponse ?? '');
  assert.deepEqual([ErrorCondition, refusalReason], ['Cancel', 'pin_not_entered']);
  assert.equal(manual.fake.sold.length, 0);
  await manual.terminal().stop();
});

test('a restart during the signature ends the wait, and the point of sale finds the approval', async () => {
  const manual = manualTerminal();
  const payment = paymentRequest(12.5);
  void manual.ask(payment);
  await manual.asksFor('Card');
  manual.input({ type: 'Card', name: 'signature', entry: 'Chip' });
  await manual.asksFor('Signature');
  await manual.terminal().reboot();
  assert.equal(manual.prompt(), undefined);
  const answer = await manual.statusOf(payment);
  assert.equal(answer && resultOf(answer)?.Result, 'Success');
  assert.equal(manual.fake.taken(), 1250);
  await manual.terminal().stop();
});

test('each card of the wallet has a number with a correct check digit, and entries', () => {
  assert.deepEqual(
    walletCards.map(({ name, entries }) => [name, entries.length]),
    [
      ['mastercard', 3],
      ['visa', 3],
      ['phone', 1],
      ['signature', 2],
      ['stripe', 2],
    ],
  );
});
