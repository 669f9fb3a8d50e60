// Kills between any two lines of the memory: what a till is told then is what was done.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type AnyMessage, isMessage, requestOf, resultOf } from '@switchyard/nexo';
import { address, batchAnswerIn, folder, pay, saleData, stage } from '../terminal.fixture.ts';

type Stage = ReturnType<typeof stage>;

const turn = () => new Promise((resolve) => setImmediate(resolve));
const fileIn = (directory: string) => join(directory, 'terminal.jsonl');

/** A terminal that was killed behind each line that another one has written, and what it tells of the request. */
async function afterEachLine(
  dataDir: string,
  request: AnyMessage,
  look: (on: Stage, result: string | undefined) => Promise<void>,
  tell: (on: Stage) => Promise<AnyMessage | undefined> = (on) => on.statusOf(request),
): Promise<(string | undefined)[]> {
  const lines = readFileSync(fileIn(dataDir), 'utf8').split('\n').slice(0, -1);
  const results: (string | undefined)[] = [];
  for (let count = 1; count <= lines.length; count += 1) {
    const directory = folder();
    writeFileSync(fileIn(directory), `${lines.slice(0, count).join('\n')}\n`);
    const on = stage({}, directory);
    let told = await tell(on);
    while (told === undefined) {
      await turn();
      told = await tell(on);
    }
    const result = resultOf(told)?.Result;
    results.push(result);
    await look(on, result);
    await on.terminal().stop();
  }
  return results;
}

async function countedIn({ ask }: Stage): Promise<number> {
  const { first } = await ask(requestOf('GetTotals', address(), {}));
  assert.ok(first && isMessage(first, 'GetTotals', 'Response'));
  const totals = first.body.TransactionTotals?.flatMap(({ PaymentTotals = [] }) => PaymentTotals);
  return (totals ?? []).reduce((sum, { TransactionCount = 0 }) => sum + TransactionCount, 0);
}

/** Both ends are among them, and the last line alone is not what a till is told success by. */
function demandEarly(results: readonly (string | undefined)[]): void {
  assert.equal(results[0], 'Failure');
  assert.deepEqual(results.slice(-2), ['Success', 'Success']);
}

test('an offline sale is uploaded, counted and told as paid, or none of it', async () => {
  const { terminal, conditionOf, fake, dataDir } = stage();
  terminal().setCard('offline');
  fake.setUp(false);
  const payment = pay(12.5);
  assert.equal(await conditionOf(payment), 'Success');
  await terminal().stop();
  const results = await afterEachLine(dataDir, payment, async (on, result) => {
    while (on.terminal().owed().uploads > 0) await turn();
    const isPaid = result === 'Success';
    assert.equal(on.fake.taken(), isPaid ? 1250 : 0, result);
    assert.equal(await countedIn(on), isPaid ? 1 : 0, result);
  });
  demandEarly(results);
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
  requestOf('StoredValue', address(), { SaleData: saleData, StoredValueData } as never);

async function onGiftCard({ ask }: Stage): Promise<number | undefined> {
  const account = { PaymentInstrumentType: 'StoredValue', StoredValueAccountID: giftCard };
  const inquiry = requestOf('BalanceInquiry', address(), {
    PaymentAccountReq: { PaymentInstrumentData: account },
  } as never) as AnyMessage;
  const { first } = await ask(inquiry);
  assert.ok(first && isMessage(first, 'BalanceInquiry', 'Response'));
  return first.body.PaymentAccountStatus?.CurrentBalance;
}

test('all items on a gift card are loaded and told as loaded, or none of them', async () => {
  const { terminal, conditionOf, dataDir } = stage();
  const request = items(item('Activate', 5), item('Load', 7));
  assert.equal(await conditionOf(request), 'Success');
  await terminal().stop();
  const results = await afterEachLine(dataDir, request, async (on, result) => {
    assert.equal(await onGiftCard(on), result === 'Success' ? 12 : undefined, result);
  });
  demandEarly(results);
});

test('where one item on a gift card is refused, none is loaded', async () => {
  const on = stage();
  assert.equal(await on.conditionOf(items(item('Activate', 5), item('Unload', 6))), 'Refusal');
  assert.equal(await onGiftCard(on), undefined);
  await on.terminal().stop();
});

test('points are given and told as given, or not at all', async () => {
  const { terminal, conditionOf, dataDir } = stage();
  const LoyaltyAccountID = { IdentificationType: 'BarCode', LoyaltyID: '7' };
  const request = requestOf('Loyalty', address(), {
    SaleData: saleData,
    LoyaltyTransaction: { LoyaltyTransactionType: 'Award', TotalAmount: 10 },
    LoyaltyData: [{ LoyaltyAccountID }],
  } as never) as AnyMessage;
  assert.equal(await conditionOf(request), 'Success');
  await terminal().stop();
  const results = await afterEachLine(dataDir, request, async ({ ask }, result) => {
    const inquiry = { LoyaltyAccountReq: { LoyaltyAccountID } };
    const { first } = await ask(requestOf('BalanceInquiry', address(), inquiry as never));
    assert.ok(first && isMessage(first, 'BalanceInquiry', 'Response'));
    const { CurrentBalance } = first.body.LoyaltyAccountStatus ?? {};
    assert.equal(CurrentBalance, result === 'Success' ? 10 : undefined, result);
  });
  demandEarly(results);
});

test('of a batch what was done is kept as done, each in its place, and the rest is not begun', async () => {
  const { terminal, conditionOf, fake, dataDir } = stage();
  terminal().setCard('offline');
  fake.setUp(false);
  const LoyaltyAccountID = { IdentificationType: 'BarCode', LoyaltyID: '8' };
  const LoyaltyRequest = {
    SaleData: saleData,
    LoyaltyTransaction: { LoyaltyTransactionType: 'Award', TotalAmount: 10 },
    LoyaltyData: [{ LoyaltyAccountID }],
  };
  const request = requestOf('Batch', address(), {
    TransactionToPerform: [
      { PaymentRequest: pay(1).body },
      { LoyaltyRequest },
      { PaymentRequest: pay(2).body },
    ],
  } as never) as AnyMessage;
  assert.equal(await conditionOf(request), 'Success');
  await terminal().stop();
  const look = async (on: Stage, result: string | undefined) => {
    const performed = batchAnswerIn(on.dataDir)?.body.PerformedTransaction ?? [];
    const isDone = [0, 1, 2].map((at) => performed[at]?.Response.Result === 'Success');
    const [first = false, points = false, second = false] = isDone;
    while (on.terminal().owed().uploads > 0) await turn();
    assert.equal(on.fake.taken(), (first ? 100 : 0) + (second ? 200 : 0), result);
    assert.equal(await countedIn(on), Number(first) + Number(second), result);
    const inquiry = { LoyaltyAccountReq: { LoyaltyAccountID } };
    const { first: asked } = await on.ask(requestOf('BalanceInquiry', address(), inquiry as never));
    assert.ok(asked && isMessage(asked, 'BalanceInquiry', 'Response'));
    const { CurrentBalance } = asked.body.LoyaltyAccountStatus ?? {};
    assert.equal(CurrentBalance, points ? 10 : undefined, result);
  };
  const tell = async (on: Stage) => batchAnswerIn(on.dataDir);
  const results = await afterEachLine(dataDir, request, look, tell);
  demandEarly(results);
  assert.ok(results.includes('Partial'));
});
