// A terminal that loses power during a request to the platform: it does not continue the interrupted service.
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
  type TestTerminal,
  undoRequest,
} from '../terminal.fixture.ts';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** A platform that processes requests at once and answers the first one only after `letGo`. */
function slow(method: 'processSale' | 'findTransaction' | 'merchant') {
  const { promise: isLetGo, resolve: letGo } = Promise.withResolvers<void>();
  const fake = createFakePlatform();
  const callPlatform = fake.platform[method] as (pending: never) => Promise<never>;
  let questions = 0;
  const slowly = async (request: never) => {
    questions += 1;
    const isFirst = questions === 1;
    const answer = await callPlatform(request);
    if (isFirst) await isLetGo;
    return answer;
  };
  const platform: TerminalPlatform = { ...fake.platform, [method]: slowly };
  return { fake, platform, letGo, isCalled: () => questions > 0 };
}

async function totalsOf({ ask }: TestTerminal): Promise<unknown> {
  const { first } = await ask(requestOf('GetTotals', newAddress(), {}));
  assert.ok(first && isMessage(first, 'GetTotals', 'Response'));
  return first.body.TransactionTotals?.flatMap(({ PaymentTotals = [] }) =>
    PaymentTotals.map((each) => [each.TransactionCount, each.TransactionAmount]),
  );
}

/** The power goes off during the request to the platform; `pending` ends with the interrupted service. */
async function cutOff(harness: TestTerminal, message: AnyMessage, isCalled: () => boolean) {
  const pending = harness.ask(message);
  while (!isCalled()) await nextTurn();
  await harness.terminal().reboot();
  return { pending };
}

const printedBy = ({ events }: TestTerminal) =>
  events.filter(({ type }) => type === 'Printed').length;

// Spec: NEXO-55
test('a sale in the middle of which the power went off is counted once, and spoils nothing later', async () => {
  const { platform, letGo, isCalled } = slow('processSale');
  const harness = createTestTerminal({ platform });
  const payment = paymentRequest(10);
  const { pending } = await cutOff(harness, payment, isCalled);
  const repeated = await harness.statusOf(payment);
  assert.equal(repeated && resultOf(repeated)?.Result, 'Success');
  harness.terminal().setFault('DropAfter');
  harness.terminal().setReachable(false);
  letGo();
  assert.deepEqual((await pending).texts, []);
  assert.deepEqual(await totalsOf(harness), [[1, 10]]);
  assert.equal(printedBy(harness), 0, 'no receipt is printed');
  assert.equal(
    await harness.conditionOf(paymentRequest(20)),
    'UnreachableHost',
    'as it was set since',
  );
  await harness.terminal().stop();
});

test('a power loss during a chip approval: the terminal reports a failure and does not complete the sale', async () => {
  const { fake, platform, letGo, isCalled } = slow('merchant');
  const harness = createTestTerminal({ platform });
  harness.terminal().setCard('offline');
  const payment = paymentRequest(10);
  const { pending } = await cutOff(harness, payment, isCalled);
  const repeated = await harness.statusOf(payment);
  assert.equal(repeated && resultOf(repeated)?.Result, 'Failure');
  letGo();
  await pending;
  await nextTurn();
  assert.equal(fake.sold.length, 0);
  assert.deepEqual(await totalsOf(harness), []);
  await harness.terminal().stop();
});

test('a fault that was set after a restart is of the next payment', async () => {
  const { platform, letGo, isCalled } = slow('processSale');
  const harness = createTestTerminal({ platform });
  const { pending } = await cutOff(harness, paymentRequest(10), isCalled);
  harness.terminal().setFault('DropAfter');
  letGo();
  await pending;
  const { texts, isDropped } = await harness.ask(paymentRequest(20));
  assert.deepEqual([texts.length, isDropped], [0, true]);
  await harness.terminal().stop();
});

for (const card of ['removed-late', 'declines-late']) {
  test(`the terminal does not reverse a payment after TransactionStatus reported it as successful: ${card}`, async () => {
    const { fake, platform, letGo, isCalled } = slow('processSale');
    const harness = createTestTerminal({ platform });
    harness.terminal().setCard(card);
    const payment = paymentRequest(10);
    const { pending } = await cutOff(harness, payment, isCalled);
    const repeated = await harness.statusOf(payment);
    assert.equal(repeated && resultOf(repeated)?.Result, 'Success');
    letGo();
    await pending;
    assert.equal(harness.terminal().pendingCounts().reversals, 0);
    assert.equal(fake.taken(), 1000);
    await harness.terminal().stop();
  });
}

test('the terminal counts a sale once when the power fails before the cashier checks the signature', async () => {
  const harness = createTestTerminal();
  const till = await cashierTill(harness);
  harness.terminal().setCard('signature');
  const payment = paymentRequest(10);
  const pending = till.pay(payment);
  while (!till.isAsked()) await nextTurn();
  await harness.terminal().reboot();
  await pending;
  const repeated = await harness.statusOf(payment);
  assert.equal(repeated && resultOf(repeated)?.Result, 'Success');
  assert.deepEqual(await totalsOf(harness), [[1, 10]]);
  await harness.terminal().stop();
});

for (const category of ['Payment', 'Reversal'] as const) {
  test(`the terminal does not run an operation after TransactionStatus reported it as aborted: ${category}`, async () => {
    const { fake, platform, letGo, isCalled } = slow('findTransaction');
    const harness = createTestTerminal({ platform });
    const { first } = await harness.ask(paymentRequest(10));
    const request = undoRequest(category, first);
    const { pending } = await cutOff(harness, request, isCalled);
    const repeated = await harness.statusOf(request);
    assert.equal(repeated && resultOf(repeated)?.ErrorCondition, 'Aborted');
    letGo();
    await pending;
    assert.deepEqual(fake.operations, []);
    assert.equal(fake.taken(), 1000);
    await harness.terminal().stop();
  });
}

test('the terminal does not continue a batch after a restart, and TransactionStatus repeats the completed part', async () => {
  const { fake, platform, letGo, isCalled } = slow('processSale');
  const harness = createTestTerminal({ platform });
  const batch = requestOf('Batch', newAddress(), {
    TransactionToPerform: [10, 20].map((amount) => ({
      PaymentRequest: paymentRequest(amount).body,
    })),
  } as never) as AnyMessage;
  const { pending } = await cutOff(harness, batch, isCalled);
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
  assert.deepEqual((await pending).texts, []);
  assert.equal(fake.taken(), 1000);
  assert.deepEqual(await totalsOf(harness), [[1, 10]]);
  await harness.terminal().stop();
});

test('the terminal completes a refund of a batch after a restart, with the same operation', async () => {
  const harness = createTestTerminal();
  const { first } = await harness.ask(paymentRequest(10));
  const { operate } = harness.fake.platform;
  const { promise: isLetGo, resolve: letGo } = Promise.withResolvers<void>();
  let pending = 0;
  const platform: TerminalPlatform = {
    ...harness.fake.platform,
    async operate(...of) {
      pending += 1;
      const answer = await operate(...of);
      if (pending === 1) await isLetGo;
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
  while (pending === 0) await nextTurn();
  await after.terminal().reboot();
  letGo();
  await done;
  const { PerformedTransaction = [] } = batchAnswerIn(after.dataDir)?.body ?? {};
  const results = PerformedTransaction.map((one) => one.Response.Result);
  assert.deepEqual(results, ['Success', 'Success']);
  assert.equal(harness.fake.taken(), 2000);
  assert.equal(new Set(harness.fake.operations).size, 1, 'one operation for all requests');
  await after.terminal().stop();
});
