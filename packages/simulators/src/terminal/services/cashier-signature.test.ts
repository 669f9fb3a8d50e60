import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { test } from 'node:test';
import { type AnyMessage, isMessage, resultOf, writeMessage } from '@switchyard/nexo';
import type { TerminalHappening } from '../context/service-context.ts';
import { cashierTill, folder, pay, stage } from '../terminal.fixture.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A till whose cashier says no to every signature, and what the terminal says to it. */
async function strictTill(on: ReturnType<typeof stage>, meanwhile: () => void) {
  const till = await cashierTill(on, (message, channel) => {
    if (!isMessage(message, 'Input', 'Request')) return;
    meanwhile();
    const { Device, InfoQualify } = message.body.InputData;
    const Input = { InputCommand: 'GetConfirmation', ConfirmedFlag: false } as const;
    const body = { InputResult: { Device, InfoQualify, Response: { Result: 'Success' }, Input } };
    const header = { ...message.header, MessageType: 'Response' } as const;
    void on.terminal().receive(writeMessage({ header, body }), channel);
  });
  on.terminal().setCard('signature');
  return till;
}

test('a refused signature is a refusal though the platform is away, and the sale is given back', async () => {
  const on = stage();
  const till = await strictTill(on, () => on.fake.setUp(false));
  await till.pay(pay(10));
  const answer = till.answer();
  assert.ok(answer);
  assert.equal(resultOf(answer)?.ErrorCondition, 'Refusal');
  assert.equal(on.terminal().owed().reversals, 1);
  assert.equal(on.fake.taken(), 1000);
  on.fake.setUp(true);
  on.terminal().setReachable(true);
  while (on.terminal().owed().reversals > 0) await turn();
  assert.equal(on.fake.taken(), 0);
  await on.terminal().stop();
});

test('a restart while it is given back changes nothing of what the till is told', async () => {
  const [dataDir, copy] = [folder(), folder()];
  /** What a terminal has kept that loses its power in the middle: it has told its till nothing. */
  const tell = (happening: TerminalHappening) => {
    if (happening.type !== 'Screen' || happening.screen.state !== 'Declined') return;
    cpSync(dataDir, copy, { recursive: true });
  };
  const on = stage({ tell }, dataDir);
  const till = await strictTill(on, () => on.fake.setStuck(true));
  const payment = pay(10);
  void till.pay(payment);
  while (on.fake.refunded() === 0) await turn();
  on.fake.setStuck(false);
  await on.terminal().stop();
  const after = stage({ platform: on.fake.platform }, copy);
  let repeated: AnyMessage | undefined;
  while (repeated === undefined) {
    await turn();
    repeated = await after.statusOf(payment);
  }
  assert.equal(resultOf(repeated)?.ErrorCondition, 'Refusal', JSON.stringify(repeated.body));
  while (after.terminal().owed().reversals > 0) await turn();
  assert.equal(on.fake.taken(), 0);
  assert.equal(on.fake.refunded(), 1000, 'once');
  await after.terminal().stop();
});
