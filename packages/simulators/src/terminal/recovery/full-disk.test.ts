// A terminal with a full disk: it reports no outcome that it does not know, and it continues to work.
import assert from 'node:assert/strict';
import { mkdirSync, rmSync } from 'node:fs';
import { test } from 'node:test';
import {
  type AnyMessage,
  isMessage,
  readAdditionalResponse,
  referenceTo,
  requestOf,
  resultOf,
} from '@switchyard/nexo';
import type { TerminalEvent } from '../context/service-context.ts';
import {
  createTestTerminal,
  newAddress,
  paymentRequest,
  temporaryFolder,
} from '../terminal.fixture.ts';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
const statusRequest = ({ header }: AnyMessage) =>
  requestOf('TransactionStatus', newAddress(), { MessageReference: referenceTo(header) });

/** A terminal and its disk; `watch` receives its events too. */
function onDisk(watch: (event: TerminalEvent) => void = () => undefined) {
  const dataDir = temporaryFolder();
  const events: TerminalEvent[] = [];
  const emit = (event: TerminalEvent) => {
    events.push(event);
    watch(event);
  };
  return {
    ...createTestTerminal({ onEvent: emit }, dataDir),
    fill: () => rmSync(dataDir, { recursive: true, force: true }),
    empty: () => void mkdirSync(dataDir, { recursive: true }),
    diskFaults: () =>
      events.filter((each) => each.type === 'Fault' && each.fault.startsWith('ENOENT')).length,
  };
}

async function countedBy({ ask }: ReturnType<typeof onDisk>): Promise<unknown> {
  const { first } = await ask(requestOf('GetTotals', newAddress(), {}));
  assert.ok(first && isMessage(first, 'GetTotals', 'Response'));
  return first.body.TransactionTotals?.flatMap(({ PaymentTotals = [] }) =>
    PaymentTotals.map(({ TransactionCount }) => TransactionCount),
  );
}

const moments = [
  { when: 'the platform has approved', card: 'mastercard', isCounted: false, status: 'InProgress' },
  { when: 'the sale was counted', card: 'mastercard', isCounted: true, status: 'Success' },
  { when: 'the chip has approved', card: 'offline', isCounted: true, status: 'Success' },
] as const;

for (const { when, card, isCounted, status } of moments) {
  test(`if the disk is full once ${when}, the point of sale gets the result later`, async () => {
    let fillsAt = isCounted ? 'Payment' : undefined;
    const harness = onDisk((event) => {
      if (event.type === fillsAt) harness.fill();
    });
    const { terminal, ask, conditionOf, statusOf, fake, restart } = harness;
    const { processSale: sell } = fake.platform;
    fake.platform.processSale = async (body) => {
      const answer = await sell(body);
      if (!isCounted) harness.fill();
      return answer;
    };
    fake.setUp(card !== 'offline');
    terminal().setCard(card);
    const payment = paymentRequest(10);
    const pending = ask(payment);
    // Once at the failure, and once more by the restarted terminal.
    while (harness.diskFaults() < 2) await nextTurn();
    assert.equal(await conditionOf(statusRequest(payment)), status);
    assert.equal(await conditionOf(paymentRequest(20)), 'UnavailableService');
    fake.platform.processSale = sell;
    fillsAt = undefined;
    harness.empty();
    assert.deepEqual((await pending).texts, []);
    const before = await statusOf(payment);
    assert.ok(before);
    assert.equal(resultOf(before)?.Result, 'Success', JSON.stringify(before.body));
    assert.deepEqual(await countedBy(harness), [1]);
    fake.setUp(true);
    terminal().setReachable(true);
    while (terminal().pendingCounts().uploads > 0) await nextTurn();
    assert.equal(fake.taken(), 1000);
    assert.equal(await conditionOf(paymentRequest(30)), 'Success', 'it takes payments again');
    await restart();
    assert.deepEqual(await statusOf(payment), before);
    await terminal().stop();
  });
}

test('if the disk is full after a refund, the terminal refunds once and the point of sale gets the result later', async () => {
  const harness = onDisk();
  const { terminal, ask, statusOf, fake } = harness;
  const { first } = await ask(paymentRequest(10));
  assert.ok(first && isMessage(first, 'Payment', 'Response'));
  const refund = paymentRequest(10, {
    PaymentTransaction: {
      AmountsReq: { Currency: 'EUR', RequestedAmount: 10 },
      OriginalPOITransaction: { POITransactionID: first.body.POIData?.POITransactionID },
    },
    PaymentData: { PaymentType: 'Refund' },
  });
  const { operate } = fake.platform;
  fake.platform.operate = async (id, verb, body) => {
    const answer = await operate(id, verb, body);
    harness.fill();
    return answer;
  };
  const pending = ask(refund);
  while (harness.diskFaults() < 2) await nextTurn();
  fake.platform.operate = operate;
  harness.empty();
  assert.deepEqual((await pending).texts, []);
  const repeated = await statusOf(refund);
  assert.ok(repeated);
  assert.equal(resultOf(repeated)?.Result, 'Success', JSON.stringify(repeated.body));
  assert.equal(fake.refunded(), 1000);
  assert.equal(new Set(fake.operations).size, 1, 'one refund for all requests');
  assert.deepEqual(await countedBy(harness), [1, 1]);
  await terminal().stop();
});

// Spec: NEXO-54
test('a request that cannot be written down is not begun, and the next one is', async () => {
  const harness = onDisk();
  const { terminal, ask, conditionOf, statusOf, fake, restart } = harness;
  assert.equal(await conditionOf(paymentRequest(5)), 'Success');
  harness.fill();
  const payment = paymentRequest(10);
  const { first } = await ask(payment);
  assert.ok(first);
  const { ErrorCondition, AdditionalResponse } = resultOf(first) ?? {};
  assert.equal(ErrorCondition, 'UnavailableService');
  assert.match(readAdditionalResponse(AdditionalResponse ?? '').message, /nothing was taken/);
  assert.deepEqual(await statusOf(payment), first, 'it is no longer in progress');
  assert.equal(await conditionOf(paymentRequest(20)), 'UnavailableService', 'not in use either');
  assert.equal(fake.taken(), 500);
  harness.empty();
  assert.equal(await conditionOf(paymentRequest(30)), 'Success');
  assert.equal(fake.taken(), 3500);
  await restart();
  assert.deepEqual(await statusOf(payment), first, 'and it is remembered');
  await terminal().stop();
});

// Spec: NEXO-54
test('a terminal on a full disk finds the result of a payment after the disk has space again', async () => {
  const harness = onDisk();
  const { terminal, ask, conditionOf, statusOf, fake } = harness;
  const payment = paymentRequest(80.16);
  const find = fake.platform.findTransaction;
  fake.platform.findTransaction = (id) => {
    harness.fill();
    return find(id);
  };
  const pending = ask(payment);
  while (harness.diskFaults() === 0) await nextTurn();
  assert.equal(await conditionOf(requestOf('Diagnosis', newAddress(), {})), 'Success');
  fake.platform.findTransaction = find;
  harness.empty();
  await pending;
  const repeated = await statusOf(payment);
  assert.ok(repeated);
  assert.equal(resultOf(repeated)?.Result, 'Success', JSON.stringify(repeated.body));
  assert.equal(fake.taken(), 8016);
  await terminal().stop();
});
