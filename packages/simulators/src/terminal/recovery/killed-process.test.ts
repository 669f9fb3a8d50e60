// Kills between any two lines of the stored file: the till then receives the true outcome.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type AnyMessage, isMessage, requestOf, resultOf } from '@switchyard/nexo';
import {
  batchAnswerIn,
  createTestTerminal,
  newAddress,
  paymentRequest,
  saleData,
  type TestTerminal,
  temporaryFolder,
} from '../terminal.fixture.ts';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
const fileIn = (directory: string) => join(directory, 'terminal.jsonl');

/** A terminal that was killed behind each line that another one has written, and its answer to the request. */
async function afterEachLine(
  dataDir: string,
  request: AnyMessage,
  inspect: (harness: TestTerminal, result: string | undefined) => Promise<void>,
  emit: (harness: TestTerminal) => Promise<AnyMessage | undefined> = (harness) =>
    harness.statusOf(request),
): Promise<(string | undefined)[]> {
  const lines = readFileSync(fileIn(dataDir), 'utf8').split('\n').slice(0, -1);
  const results: (string | undefined)[] = [];
  for (let count = 1; count <= lines.length; count += 1) {
    const directory = temporaryFolder();
    writeFileSync(fileIn(directory), `${lines.slice(0, count).join('\n')}\n`);
    const harness = createTestTerminal({}, directory);
    let emitted = await emit(harness);
    while (emitted === undefined) {
      await nextTurn();
      emitted = await emit(harness);
    }
    const result = resultOf(emitted)?.Result;
    results.push(result);
    await inspect(harness, result);
    await harness.terminal().stop();
  }
  return results;
}

async function countedIn({ ask }: TestTerminal): Promise<number> {
  const { first } = await ask(requestOf('GetTotals', newAddress(), {}));
  assert.ok(first && isMessage(first, 'GetTotals', 'Response'));
  const totals = first.body.TransactionTotals?.flatMap(({ PaymentTotals = [] }) => PaymentTotals);
  return (totals ?? []).reduce((sum, { TransactionCount = 0 }) => sum + TransactionCount, 0);
}

/** Both outcomes occur, and a till receives a success not only after the last line. */
function assertKilledEarly(results: readonly (string | undefined)[]): void {
  assert.equal(results[0], 'Failure');
  assert.deepEqual(results.slice(-2), ['Success', 'Success']);
}

// Spec: NEXO-53
test('after a kill at any point, an offline sale is uploaded, counted and reported as paid, or nothing happens', async () => {
  const { terminal, conditionOf, fake, dataDir } = createTestTerminal();
  terminal().setCard('offline');
  fake.setUp(false);
  const payment = paymentRequest(12.5);
  assert.equal(await conditionOf(payment), 'Success');
  await terminal().stop();
  const results = await afterEachLine(dataDir, payment, async (harness, result) => {
    while (harness.terminal().pendingCounts().uploads > 0) await nextTurn();
    const isPaid = result === 'Success';
    assert.equal(harness.fake.taken(), isPaid ? 1250 : 0, result);
    assert.equal(await countedIn(harness), isPaid ? 1 : 0, result);
  });
  assertKilledEarly(results);
});

const giftCard = {
  IdentificationType: 'BarCode',
  StoredValueAccountType: 'GiftCard',
  StoredValueID: '42',
};
const item = (StoredValueTransactionType: string, ItemAmount: number) => ({
  StoredValueTransactionType,
  StoredValueAccountID: giftCard,
  ItemAmount,
  Currency: 'EUR',
});
const items = (...StoredValueData: object[]): AnyMessage =>
  requestOf('StoredValue', newAddress(), { SaleData: saleData, StoredValueData } as never);

async function onGiftCard({ ask }: TestTerminal): Promise<number | undefined> {
  const account = { PaymentInstrumentType: 'StoredValue', StoredValueAccountID: giftCard };
  const inquiry = requestOf('BalanceInquiry', newAddress(), {
    PaymentAccountReq: { PaymentInstrumentData: account },
  } as never) as AnyMessage;
  const { first } = await ask(inquiry);
  assert.ok(first && isMessage(first, 'BalanceInquiry', 'Response'));
  return first.body.PaymentAccountStatus?.CurrentBalance;
}

// Spec: NEXO-53
test('after a kill at any point, all items on a gift card are loaded and reported, or none of them', async () => {
  const { terminal, conditionOf, dataDir } = createTestTerminal();
  const request = items(item('Activate', 5), item('Load', 7));
  assert.equal(await conditionOf(request), 'Success');
  await terminal().stop();
  const results = await afterEachLine(dataDir, request, async (harness, result) => {
    assert.equal(await onGiftCard(harness), result === 'Success' ? 12 : undefined, result);
  });
  assertKilledEarly(results);
});

test('a terminal that refuses one item on a gift card loads no item', async () => {
  const harness = createTestTerminal();
  assert.equal(await harness.conditionOf(items(item('Activate', 5), item('Unload', 6))), 'Refusal');
  assert.equal(await onGiftCard(harness), undefined);
  await harness.terminal().stop();
});

// Spec: NEXO-53
test('after a kill at any point, loyalty points are awarded and reported, or not awarded', async () => {
  const { terminal, conditionOf, dataDir } = createTestTerminal();
  const LoyaltyAccountID = { IdentificationType: 'BarCode', LoyaltyID: '7' };
  const request = requestOf('Loyalty', newAddress(), {
    SaleData: saleData,
    LoyaltyTransaction: { LoyaltyTransactionType: 'Award', TotalAmount: 10 },
    LoyaltyData: [{ LoyaltyAccountID }],
  } as never) as AnyMessage;
  assert.equal(await conditionOf(request), 'Success');
  await terminal().stop();
  const results = await afterEachLine(dataDir, request, async ({ ask }, result) => {
    const inquiry = { LoyaltyAccountReq: { LoyaltyAccountID } };
    const { first } = await ask(requestOf('BalanceInquiry', newAddress(), inquiry as never));
    assert.ok(first && isMessage(first, 'BalanceInquiry', 'Response'));
    const { CurrentBalance } = first.body.LoyaltyAccountStatus ?? {};
    assert.equal(CurrentBalance, result === 'Success' ? 10 : undefined, result);
  });
  assertKilledEarly(results);
});

// Spec: NEXO-53
test('after a kill during a batch, finished transactions remain at their positions and the others have no effect', async () => {
  const { terminal, conditionOf, fake, dataDir } = createTestTerminal();
  terminal().setCard('offline');
  fake.setUp(false);
  const LoyaltyAccountID = { IdentificationType: 'BarCode', LoyaltyID: '8' };
  const LoyaltyRequest = {
    SaleData: saleData,
    LoyaltyTransaction: { LoyaltyTransactionType: 'Award', TotalAmount: 10 },
    LoyaltyData: [{ LoyaltyAccountID }],
  };
  const request = requestOf('Batch', newAddress(), {
    TransactionToPerform: [
      { PaymentRequest: paymentRequest(1).body },
      { LoyaltyRequest },
      { PaymentRequest: paymentRequest(2).body },
    ],
  } as never) as AnyMessage;
  assert.equal(await conditionOf(request), 'Success');
  await terminal().stop();
  const inspect = async (harness: TestTerminal, result: string | undefined) => {
    const performed = batchAnswerIn(harness.dataDir)?.body.PerformedTransaction ?? [];
    const isDone = [0, 1, 2].map((at) => performed[at]?.Response.Result === 'Success');
    const [first = false, points = false, second = false] = isDone;
    while (harness.terminal().pendingCounts().uploads > 0) await nextTurn();
    assert.equal(harness.fake.taken(), (first ? 100 : 0) + (second ? 200 : 0), result);
    assert.equal(await countedIn(harness), Number(first) + Number(second), result);
    const inquiry = { LoyaltyAccountReq: { LoyaltyAccountID } };
    const { first: asked } = await harness.ask(
      requestOf('BalanceInquiry', newAddress(), inquiry as never),
    );
    assert.ok(asked && isMessage(asked, 'BalanceInquiry', 'Response'));
    const { CurrentBalance } = asked.body.LoyaltyAccountStatus ?? {};
    assert.equal(CurrentBalance, points ? 10 : undefined, result);
  };
  const emit = async (harness: TestTerminal) => batchAnswerIn(harness.dataDir);
  const results = await afterEachLine(dataDir, request, inspect, emit);
  assertKilledEarly(results);
  assert.ok(results.includes('Partial'));
});
