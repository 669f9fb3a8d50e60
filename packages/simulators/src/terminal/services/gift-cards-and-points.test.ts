// Accounts that a till names by a card number: found again, and nowhere kept as they were named.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { findPans } from '@switchyard/emv';
import { type AnyMessage, isMessage, requestOf } from '@switchyard/nexo';
import { maskAccountId } from '../cards/mask-account-ids.ts';
import { createTestTerminal, newAddress, saleData, temporaryFolder } from '../terminal.fixture.ts';

const number = '4111111111111111';
const hidden = '411111******1111';
const giftCard = (StoredValueID: string, IdentificationType = 'PAN') => ({
  StoredValueAccountType: 'GiftCard',
  IdentificationType,
  StoredValueID,
});
const member = { IdentificationType: 'PAN', LoyaltyID: number };

const buildRequest = (
  category: 'StoredValue' | 'Loyalty' | 'BalanceInquiry',
  body: object,
): AnyMessage => requestOf(category, newAddress(), body as never) as AnyMessage;

const load = (id: object, StoredValueTransactionType = 'Activate') =>
  buildRequest('StoredValue', {
    SaleData: saleData,
    StoredValueData: [
      { StoredValueTransactionType, StoredValueAccountID: id, ItemAmount: 10, Currency: 'EUR' },
    ],
  });
const award = buildRequest('Loyalty', {
  SaleData: saleData,
  LoyaltyTransaction: { LoyaltyTransactionType: 'Award', TotalAmount: 10 },
  LoyaltyData: [{ LoyaltyAccountID: member }],
});
const pointsOf = () =>
  buildRequest('BalanceInquiry', { LoyaltyAccountReq: { LoyaltyAccountID: member } });
const fileOf = (dataDir: string) => readFileSync(join(dataDir, 'terminal.jsonl'), 'utf8');

// Spec: NEXO-56
test('the stored data contains no card number of a stored-value account, and the terminal still finds the account', async () => {
  const dataDir = temporaryFolder();
  const { terminal, ask, conditionOf, statusOf, restart } = createTestTerminal({}, dataDir);
  const activate = load(giftCard(number));
  const { first } = await ask(activate);
  assert.ok(first && isMessage(first, 'StoredValue', 'Response'));
  const [result] = first.body.StoredValueResult ?? [];
  assert.equal(result?.StoredValueAccountStatus?.StoredValueAccountID.StoredValueID, hidden);
  assert.equal(
    await conditionOf(load(giftCard(`${number}=49121010000012345678`, 'ISOTrack2'))),
    'Success',
  );
  assert.equal(await conditionOf(award), 'Success');
  assert.equal(await conditionOf(pointsOf()), 'Success');
  assert.deepEqual(await statusOf(activate), first, 'the same answer again');
  await restart();
  assert.equal(await conditionOf(load(giftCard(number), 'Load')), 'Success');
  const { first: points } = await ask(pointsOf());
  assert.ok(points && isMessage(points, 'BalanceInquiry', 'Response'));
  const { LoyaltyAccount, CurrentBalance } = points.body.LoyaltyAccountStatus ?? {};
  assert.equal(LoyaltyAccount?.LoyaltyAccountID.LoyaltyID, hidden);
  assert.equal(CurrentBalance, 10);
  const fileText = fileOf(dataDir);
  assert.ok(!fileText.includes(number));
  assert.deepEqual(findPans(fileText), []);
  assert.ok(!fileText.includes('0000012345678'), 'nor what follows it on a track');
  await terminal().stop();
});

test('the stored accounts cannot be found by a plain hash or with the key of another terminal', async () => {
  const dataDir = temporaryFolder();
  const { terminal, conditionOf } = createTestTerminal({}, dataDir);
  assert.equal(await conditionOf(load(giftCard(number))), 'Success');
  assert.equal(fileOf(dataDir).includes(hash('sha256', number).slice(0, 32)), false);
  await terminal().stop();
  const keys = {
    baseDerivationKey: 'FEDCBA98765432100123456789ABCDEF',
    ksn: 'FFFF9876543210E00001',
  };
  const other = createTestTerminal({ keys }, dataDir);
  assert.equal(await other.conditionOf(load(giftCard(number), 'Load')), 'NotFound');
  await other.terminal().stop();
});

test('an account ID that is not a card number is returned unchanged', () => {
  const id = (IdentificationType: 'PAN' | 'BarCode' | 'PhoneNumber', LoyaltyID: string) => ({
    IdentificationType,
    LoyaltyID,
  });
  for (const same of [
    id('BarCode', '9780201379624'),
    id('PhoneNumber', '+33 1 23 45 67 89'),
    id('PAN', '42'),
  ]) {
    assert.deepEqual(maskAccountId(same), same);
  }
  assert.deepEqual(
    maskAccountId(id('BarCode', '4111 1111 1111 1111')),
    id('BarCode', '4111 11** **** 1111'),
  );
  assert.deepEqual(maskAccountId(id('PAN', '123456789012')), id('PAN', '123456**9012'));
});
