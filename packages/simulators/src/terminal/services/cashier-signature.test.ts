import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { test } from 'node:test';
import { type AnyMessage, isMessage, resultOf, writeMessage } from '@switchyard/nexo';
import type { TerminalEvent } from '../context/service-context.ts';
import {
  cashierTill,
  createTestTerminal,
  paymentRequest,
  temporaryFolder,
} from '../terminal.fixture.ts';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** A till whose cashier declines every signature. */
async function strictTill(harness: ReturnType<typeof createTestTerminal>, onRequest: () => void) {
  const till = await cashierTill(harness, (message, channel) => {
    if (!isMessage(message, 'Input', 'Request')) return;
    onRequest();
    const { Device, InfoQualify } = message.body.InputData;
    const Input = { InputCommand: 'GetConfirmation', ConfirmedFlag: false } as const;
    const body = { InputResult: { Device, InfoQualify, Response: { Result: 'Success' }, Input } };
    const header = { ...message.header, MessageType: 'Response' } as const;
    void harness.terminal().receive(writeMessage({ header, body }), channel);
  });
  harness.terminal().setCard('signature');
  return till;
}

test('a declined signature gives Refusal while the platform is unreachable, and the sale is reversed later', async () => {
  const harness = createTestTerminal();
  const till = await strictTill(harness, () => harness.fake.setUp(false));
  await till.pay(paymentRequest(10));
  const answer = till.answer();
  assert.ok(answer);
  assert.equal(resultOf(answer)?.ErrorCondition, 'Refusal');
  assert.equal(harness.terminal().pendingCounts().reversals, 1);
  assert.equal(harness.fake.taken(), 1000);
  harness.fake.setUp(true);
  harness.terminal().setReachable(true);
  while (harness.terminal().pendingCounts().reversals > 0) await nextTurn();
  assert.equal(harness.fake.taken(), 0);
  await harness.terminal().stop();
});

test('a restart during the refund of a declined signature does not change the result for the point of sale', async () => {
  const [dataDir, copy] = [temporaryFolder(), temporaryFolder()];
  /** The stored data of a terminal that loses power during a service, before it answers its till. */
  const emit = (event: TerminalEvent) => {
    if (event.type !== 'Screen' || event.screen.state !== 'Declined') return;
    cpSync(dataDir, copy, { recursive: true });
  };
  const harness = createTestTerminal({ onEvent: emit }, dataDir);
  const till = await strictTill(harness, () => harness.fake.setStuck(true));
  const payment = paymentRequest(10);
  void till.pay(payment);
  while (harness.fake.refunded() === 0) await nextTurn();
  harness.fake.setStuck(false);
  await harness.terminal().stop();
  const after = createTestTerminal({ platform: harness.fake.platform }, copy);
  let repeated: AnyMessage | undefined;
  while (repeated === undefined) {
    await nextTurn();
    repeated = await after.statusOf(payment);
  }
  assert.equal(resultOf(repeated)?.ErrorCondition, 'Refusal', JSON.stringify(repeated.body));
  while (after.terminal().pendingCounts().reversals > 0) await nextTurn();
  assert.equal(harness.fake.taken(), 0);
  assert.equal(harness.fake.refunded(), 1000, 'once');
  await after.terminal().stop();
});
