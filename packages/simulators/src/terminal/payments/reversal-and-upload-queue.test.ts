import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resultOf } from '@switchyard/nexo';
import type { PlatformAnswer } from '../platform/payments-api.ts';
import { createTestTerminal, paymentRequest } from '../terminal.fixture.ts';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** A terminal whose time can be moved on. */
function later() {
  let ahead = 0;
  const harness = createTestTerminal({ now: () => Date.now() + ahead });
  const faults = () =>
    harness.events.flatMap((each) => (each.type === 'Fault' ? [each.fault] : [])).sort();
  /** Lets the terminal process its queue again after the given time. */
  const lookAgain = (ms: number) => {
    ahead += ms;
    harness.terminal().setReachable(true);
  };
  return { ...harness, faults, lookAgain };
}

const minuteMs = 60_000;

test('the terminal stores a reversal that needs an approval, reports the fault once, and retries until it succeeds', async () => {
  const { terminal, fake, conditionOf, faults, lookAgain } = later();
  fake.setRefunds('NeedsApproval');
  terminal().setCard('declines-late');
  assert.equal(await conditionOf(paymentRequest(10)), 'Refusal');
  assert.equal(terminal().pendingCounts().reversals, 1);
  assert.equal(fake.taken(), 1000);
  const countOperations = () => fake.operations.length;
  const before = countOperations();
  lookAgain(0);
  for (let iteration = 0; iteration < 20; iteration += 1) await nextTurn();
  assert.equal(countOperations(), before, 'not at once');
  lookAgain(minuteMs);
  while (countOperations() < before + 2) await nextTurn();
  await nextTurn();
  assert.equal(terminal().pendingCounts().reversals, 1);
  assert.deepEqual(faults(), ['reversal: approval_code_required']);
  fake.setRefunds(undefined);
  lookAgain(2 * minuteMs);
  while (terminal().pendingCounts().reversals > 0) await nextTurn();
  assert.deepEqual([fake.taken(), fake.refunded()], [0, 1000]);
  await terminal().stop();
});

test('a refund that the acquirer declined gave nothing back: it is made again, as another one', async () => {
  const { terminal, fake, conditionOf, lookAgain } = later();
  fake.setRefunds('Declines');
  terminal().setCard('declines-late');
  assert.equal(await conditionOf(paymentRequest(10)), 'Refusal');
  assert.equal(terminal().pendingCounts().reversals, 1);
  fake.setRefunds(undefined);
  lookAgain(minuteMs);
  while (terminal().pendingCounts().reversals > 0) await nextTurn();
  assert.deepEqual([fake.taken(), fake.refunded()], [0, 1000]);
  const refunds = fake.operations.filter((each) => each.startsWith('refund'));
  assert.equal(new Set(refunds).size, 2);
  await terminal().stop();
});

test('a refused reversal does not block the reversal of another sale', async () => {
  const { terminal, fake, conditionOf } = later();
  fake.setRefunds('NeedsApproval');
  terminal().setCard('declines-late');
  await conditionOf(paymentRequest(10));
  fake.setRefunds(undefined);
  await conditionOf(paymentRequest(20));
  assert.equal(terminal().pendingCounts().reversals, 1);
  assert.equal(fake.taken(), 1000);
  await terminal().stop();
});

test('the terminal stores a refused offline sale, reports the refusal, and uploads the sale later', async () => {
  const { terminal, fake, conditionOf, faults, lookAgain } = later();
  fake.next('Refuses');
  terminal().setCard('offline');
  assert.equal(await conditionOf(paymentRequest(10)), 'Success');
  assert.equal(terminal().pendingCounts().uploads, 1);
  assert.deepEqual(faults(), ['offline sale: merchant_not_active']);
  lookAgain(minuteMs);
  while (terminal().pendingCounts().uploads > 0) await nextTurn();
  assert.equal(fake.taken(), 1000);
  await terminal().stop();
});

// Spec: NEXO-73
test('the terminal does not upload an offline sale while it belongs to another merchant, and uploads it afterwards', async () => {
  const { terminal, fake, conditionOf, faults, lookAgain } = later();
  assert.equal(await conditionOf(paymentRequest(10)), 'Success');
  terminal().setReachable(false);
  terminal().setCard('offline');
  assert.equal(await conditionOf(paymentRequest(20)), 'Success');
  fake.setElsewhere(true);
  lookAgain(0);
  while (faults().length === 0 && terminal().pendingCounts().uploads > 0) await nextTurn();
  assert.deepEqual(faults(), ['offline sale: made for another merchant']);
  assert.deepEqual([terminal().pendingCounts().uploads, fake.taken()], [1, 1000]);
  fake.setElsewhere(false);
  lookAgain(minuteMs);
  while (terminal().pendingCounts().uploads > 0) await nextTurn();
  assert.equal(fake.taken(), 3000);
  await terminal().stop();
});

// Spec: NEXO-52
test('the terminal stores an unsent reversal while it belongs to another merchant and completes it afterwards', async () => {
  const { terminal, fake, conditionOf, faults, lookAgain } = later();
  fake.nextOperations('NotSent');
  terminal().setCard('declines-late');
  assert.equal(await conditionOf(paymentRequest(10)), 'Refusal');
  fake.setElsewhere(true);
  lookAgain(minuteMs);
  while (terminal().pendingCounts().reversals > 0 && faults().length === 0) await nextTurn();
  assert.equal(terminal().pendingCounts().reversals, 1, 'the customer is still charged');
  assert.deepEqual(faults(), ['reversal: transaction_not_found']);
  fake.setElsewhere(false);
  lookAgain(2 * minuteMs);
  while (terminal().pendingCounts().reversals > 0) await nextTurn();
  assert.deepEqual([fake.taken(), fake.refunded()], [0, 1000]);
  await terminal().stop();
});

test('the terminal drops the reversal of a sale that the platform never received', async () => {
  const { terminal, fake, conditionOf, lookAgain } = later();
  fake.next('NeverGets');
  const { findTransaction: find } = fake.platform;
  fake.platform.findTransaction = async () => ({ outcome: 'Unknown' });
  assert.equal(await conditionOf(paymentRequest(10)), 'UnreachableHost');
  fake.platform.findTransaction = find;
  lookAgain(minuteMs);
  while (terminal().pendingCounts().reversals > 0) await nextTurn();
  assert.equal(fake.taken(), 0);
  await terminal().stop();
});

/** A sale with an unknown outcome when its terminal moves to another merchant. */
const lostAt: Record<string, (harness: ReturnType<typeof later>) => Promise<string | undefined>> = {
  'while the platform is asked': ({ conditionOf }) => conditionOf(paymentRequest(10)),
  'after a restart': async ({ terminal, fake, ask, statusOf }) => {
    const { processSale: sell } = fake.platform;
    const { promise, resolve } = Promise.withResolvers<PlatformAnswer>();
    fake.platform.processSale = async (body) => {
      resolve(await sell(body));
      return new Promise(() => {});
    };
    const payment = paymentRequest(10);
    void ask(payment);
    await promise;
    await terminal().reboot();
    const repeated = await statusOf(payment);
    return repeated && resultOf(repeated)?.ErrorCondition;
  },
};

for (const [when, lose] of Object.entries(lostAt)) {
  test(`the terminal keeps the reversal of a sale that the platform does not find under another merchant: ${when}`, async () => {
    const harness = later();
    const { terminal, fake, faults, lookAgain } = harness;
    fake.next('LosesAnswer');
    const { processSale: sell } = fake.platform;
    fake.platform.processSale = async (body) => {
      const answer = await sell(body);
      fake.setElsewhere(true);
      return answer;
    };
    assert.equal(await lose(harness), 'UnreachableHost');
    assert.equal(fake.taken(), 1000);
    const newFaults = () => faults().filter((fault) => fault !== 'Reboot');
    while (terminal().pendingCounts().reversals > 0 && newFaults().length === 0) await nextTurn();
    assert.deepEqual(newFaults(), ['reversal: transaction_not_found']);
    assert.equal(terminal().pendingCounts().reversals, 1, 'the customer is still charged');
    fake.setElsewhere(false);
    lookAgain(2 * minuteMs);
    while (terminal().pendingCounts().reversals > 0) await nextTurn();
    assert.deepEqual([fake.taken(), fake.refunded()], [0, 1000]);
    await terminal().stop();
  });
}

test('a 404 that is not the word of the platform says nothing of a sale', async () => {
  const { terminal, fake, conditionOf } = later();
  fake.next('LosesAnswer');
  const { findTransaction: find } = fake.platform;
  fake.platform.findTransaction = async () => ({
    outcome: 'Refused',
    status: 404,
    code: 'unknown',
    merchant: 'mine',
  });
  assert.equal(await conditionOf(paymentRequest(10)), 'UnreachableHost');
  fake.platform.findTransaction = find;
  while (terminal().pendingCounts().reversals > 0) await nextTurn();
  assert.deepEqual([fake.taken(), fake.refunded()], [0, 1000]);
  await terminal().stop();
});

// Spec: NEXO-52
test('the terminal answers the point of sale while the platform is silent, and does not repeat pending reversal requests', async () => {
  const { terminal, fake, conditionOf } = later();
  const pendingResolvers: ((answer: PlatformAnswer) => void)[] = [];
  let operateCalls = 0;
  fake.platform.operate = () => {
    operateCalls += 1;
    return new Promise((resolve) => pendingResolvers.push(resolve));
  };
  terminal().setCard('declines-late');
  assert.equal(await conditionOf(paymentRequest(10)), 'Refusal');
  for (let each = 0; each < 10; each += 1) {
    terminal().setReachable(true);
    await nextTurn();
  }
  assert.equal(await conditionOf(paymentRequest(20)), 'Refusal');
  assert.equal(terminal().pendingCounts().reversals, 2);
  assert.equal(operateCalls, 1);
  const release = async () => {
    for (const resolve of pendingResolvers.splice(0)) resolve({ outcome: 'Unknown' });
    for (let iteration = 0; iteration < 20; iteration += 1) await nextTurn();
  };
  await release();
  assert.equal(operateCalls, 2, 'one more call for all');
  await release();
  assert.equal(operateCalls, 2);
  assert.equal(terminal().pendingCounts().reversals, 2, 'it is still owed');
  await terminal().stop();
});
