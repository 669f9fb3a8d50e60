// A terminal that loses its power while the platform is asked: what it was doing then goes on no further.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AnyMessage, isMessage, requestOf, resultOf } from '@switchyard/nexo';
import { createFakePlatform } from '../platform/fake-platform.fixture.ts';
import type { TerminalPlatform } from '../platform/payments-api.ts';
import {
  batchAnswerIn,
  cashierTill,
  createTestTerminal,
  newAddress,
  paymentRequest,
  undoRequest,
} from '../terminal.fixture.ts';

type Stage = ReturnType<typeof createTestTerminal>;

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** A platform that does at once what it is asked for, and tells the first to ask only when it is let go. */
function slow(method: 'processSale' | 'findTransaction' | 'merchant') {
  const { promise: isLetGo, resolve: letGo } = Promise.withResolvers<void>();
  const fake = createFakePlatform();
  const ask = fake.platform[method] as (asked: never) => Promise<never>;
  let questions = 0;
  const slowly = async (asked: never) => {
    questions += 1;
    const isFirst = questions === 1;
    const answer = await ask(asked);
    if (isFirst) await isLetGo;
    return answer;
  };
  const platform: TerminalPlatform = { ...fake.platform, [method]: slowly };
  return { fake, platform, letGo, isAsked: () => questions > 0 };
}

async function totalsOf({ ask }: Stage): Promise<unknown> {
  const { first } = await ask(requestOf('GetTotals', newAddress(), {}));
  assert.ok(first && isMessage(first, 'GetTotals', 'Response'));
  return first.body.TransactionTotals?.flatMap(({ PaymentTotals = [] }) =>
    PaymentTotals.map((each) => [each.TransactionCount, each.TransactionAmount]),
  );
}

/** The power goes off while the platform is asked about it; `asked` ends with what was under way. */
async function cutOff(harness: Stage, message: AnyMessage, isAsked: () => boolean) {
  const asked = harness.ask(message);
  while (!isAsked()) await nextTurn();
  await harness.terminal().reboot();
  return { asked };
}

const printedBy = ({ told }: Stage) => told.filter(({ type }) => type === 'Printed').length;

test('a sale in the middle of which the power went off is counted once, and spoils nothing later', async () => {
  const { platform, letGo, isAsked } = slow('processSale');
  const harness = createTestTerminal({ platform });
  const payment = paymentRequest(10);
  const { asked } = await cutOff(harness, payment, isAsked);
  const repeated = await harness.statusOf(payment);
  assert.equal(repeated && resultOf(repeated)?.Result, 'Success');
  harness.terminal().setFault('DropAfter');
  harness.terminal().setReachable(false);
  letGo();
  assert.deepEqual((await asked).texts, []);
  assert.deepEqual(await totalsOf(harness), [[1, 10]]);
  assert.equal(printedBy(harness), 0, 'nobody waits for its receipt');
  assert.equal(
    await harness.conditionOf(paymentRequest(20)),
    'UnreachableHost',
    'as it was set since',
  );
  await harness.terminal().stop();
});

test('what the chip approved while the power went off is not sold behind the answer that nothing was taken', async () => {
  const { fake, platform, letGo, isAsked } = slow('merchant');
  const harness = createTestTerminal({ platform });
  harness.terminal().setCard('offline');
  const payment = paymentRequest(10);
  const { asked } = await cutOff(harness, payment, isAsked);
  const repeated = await harness.statusOf(payment);
  assert.equal(repeated && resultOf(repeated)?.Result, 'Failure');
  letGo();
  await asked;
  await nextTurn();
  assert.equal(fake.sold.length, 0);
  assert.deepEqual(await totalsOf(harness), []);
  await harness.terminal().stop();
});

test('a fault that was set after a restart is of the next payment', async () => {
  const { platform, letGo, isAsked } = slow('processSale');
  const harness = createTestTerminal({ platform });
  const { asked } = await cutOff(harness, paymentRequest(10), isAsked);
  harness.terminal().setFault('DropAfter');
  letGo();
  await asked;
  const { texts, isDropped } = await harness.ask(paymentRequest(20));
  assert.deepEqual([texts.length, isDropped], [0, true]);
  await harness.terminal().stop();
});

for (const card of ['removed-late', 'declines-late']) {
  test(`what a till is told as paid is not taken back behind it: ${card}`, async () => {
    const { fake, platform, letGo, isAsked } = slow('processSale');
    const harness = createTestTerminal({ platform });
    harness.terminal().setCard(card);
    const payment = paymentRequest(10);
    const { asked } = await cutOff(harness, payment, isAsked);
    const repeated = await harness.statusOf(payment);
    assert.equal(repeated && resultOf(repeated)?.Result, 'Success');
    letGo();
    await asked;
    assert.equal(harness.terminal().pendingCounts().reversals, 0);
    assert.equal(fake.taken(), 1000);
    await harness.terminal().stop();
  });
}

test('a sale whose signature nobody has looked at is counted once, whenever the power goes off', async () => {
  const harness = createTestTerminal();
  const till = await cashierTill(harness);
  harness.terminal().setCard('signature');
  const payment = paymentRequest(10);
  const asked = till.pay(payment);
  while (!till.isAsked()) await nextTurn();
  await harness.terminal().reboot();
  await asked;
  const repeated = await harness.statusOf(payment);
  assert.equal(repeated && resultOf(repeated)?.Result, 'Success');
  assert.deepEqual(await totalsOf(harness), [[1, 10]]);
  await harness.terminal().stop();
});

for (const category of ['Payment', 'Reversal'] as const) {
  test(`what was told as not done is not done later: ${category}`, async () => {
    const { fake, platform, letGo, isAsked } = slow('findTransaction');
    const harness = createTestTerminal({ platform });
    const { first } = await harness.ask(paymentRequest(10));
    const request = undoRequest(category, first);
    const { asked } = await cutOff(harness, request, isAsked);
    const repeated = await harness.statusOf(request);
    assert.equal(repeated && resultOf(repeated)?.ErrorCondition, 'Aborted');
    letGo();
    await asked;
    assert.deepEqual(fake.operations, []);
    assert.equal(fake.taken(), 1000);
    await harness.terminal().stop();
  });
}

test('a batch that a restart interrupts is not continued, and TransactionStatus repeats what was done', async () => {
  const { fake, platform, letGo, isAsked } = slow('processSale');
  const harness = createTestTerminal({ platform });
  const batch = requestOf('Batch', newAddress(), {
    TransactionToPerform: [10, 20].map((amount) => ({
      PaymentRequest: paymentRequest(amount).body,
    })),
  } as never) as AnyMessage;
  const { asked } = await cutOff(harness, batch, isAsked);
  const repeated = await harness.statusOf(batch);
  assert.ok(repeated && isMessage(repeated, 'Batch', 'Response'));
  assert.deepEqual(repeated, batchAnswerIn(harness.dataDir));
  const { Response, PerformedTransaction = [] } = repeated.body;
  assert.deepEqual([Response.Result, Response.ErrorCondition], ['Partial', 'Aborted']);
  assert.deepEqual(
    PerformedTransaction.map((one) => one.Response.Result),
    ['Success'],
  );
  letGo();
  assert.deepEqual((await asked).texts, []);
  assert.equal(fake.taken(), 1000);
  assert.deepEqual(await totalsOf(harness), [[1, 10]]);
  await harness.terminal().stop();
});

test('a refund in a batch is asked for on, whatever came before it', async () => {
  const harness = createTestTerminal();
  const { first } = await harness.ask(paymentRequest(10));
  const { operate } = harness.fake.platform;
  const { promise: isLetGo, resolve: letGo } = Promise.withResolvers<void>();
  let asked = 0;
  const platform: TerminalPlatform = {
    ...harness.fake.platform,
    async operate(...of) {
      asked += 1;
      const answer = await operate(...of);
      if (asked === 1) await isLetGo;
      return answer;
    },
  };
  await harness.terminal().stop();
  const after = createTestTerminal({ platform }, harness.dataDir);
  const refund = undoRequest('Payment', first).body;
  const batch = requestOf('Batch', newAddress(), {
    TransactionToPerform: [{ PaymentRequest: paymentRequest(20).body }, { PaymentRequest: refund }],
  } as never) as AnyMessage;
  const done = after.ask(batch);
  while (asked === 0) await nextTurn();
  await after.terminal().reboot();
  letGo();
  await done;
  const { PerformedTransaction = [] } = batchAnswerIn(after.dataDir)?.body ?? {};
  const results = PerformedTransaction.map((one) => one.Response.Result);
  assert.deepEqual(results, ['Success', 'Success']);
  assert.equal(harness.fake.taken(), 2000);
  assert.equal(
    new Set(harness.fake.operations).size,
    1,
    'one operation, however often it is asked for',
  );
  await after.terminal().stop();
});
