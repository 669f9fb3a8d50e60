// Receipts: the data that both copies of a sale print, and the data that they never contain.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defined } from '@switchyard/contract';
import { chipData } from '../../support/card-data/chip-data.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import { until } from '../../support/wait-for-result.ts';
import { trackLedgers } from '../ledger/check-ledger-after-tests.ts';

const { createOrganization, assertLedgersAgree } = trackLedgers();
const path = '/payment/v1/transactions';

async function createOrganizationWithClient() {
  const setup = await createOrganization();
  const call = async (method: string, at: string, body?: Record<string, unknown>) => {
    const answer = await setup.client.call(method, `${path}${at}`, {
      token: setup.merchant.token,
      ...defined({ body }),
    });
    assert.ok(answer.status < 300, answer.text);
    return answer.body;
  };
  return { ...setup, call };
}

// Spec: CARD-29
test('the receipts of an approved sale contain the data that EMV and the schemes require', async () => {
  const {
    call,
    platform,
    merchant: testMerchant,
    organizationId,
  } = await createOrganizationWithClient();
  const scope = { organizationId };
  const { view } = await platform.provisioning.stores.get(scope, testMerchant.storeId);
  await platform.provisioning.stores.replace(scope, testMerchant.storeId, {
    name: view.name,
    merchantId: testMerchant.merchantId,
    address: { line1: '12 rue des Halles', postalCode: '75001', city: 'Paris' },
  });
  const sale = await call('POST', '/process', keyedSale({ deviceId: testMerchant.deviceIds[0] }));
  const { merchant, cardholder } = sale.receipt;
  assert.equal(merchant.merchantAddress, '12 rue des Halles, 75001 Paris');
  assert.equal(merchant.acquirerMerchantId, testMerchant.merchantNumber);
  assert.match(merchant.terminalId, /^T[0-9A-Z]{3}\d{4}$/);
  assert.equal(merchant.operation, 'Sale');
  assert.equal(merchant.amount, 1234);
  assert.equal(merchant.amountText, '12.34 EUR');
  assert.equal(merchant.scheme, 'Visa');
  assert.equal(merchant.entryMode, 'Keyed');
  assert.equal(merchant.maskedNumber, '411111******1111');
  assert.equal(cardholder.maskedNumber, '************1111');
  assert.equal(merchant.authorizationCode, sale.authorizationCode);
  assert.equal(merchant.retrievalReferenceNumber, sale.retrievalReferenceNumber);
  assert.equal(merchant.systemTraceAuditNumber, sale.systemTraceAuditNumber);
  assert.equal(merchant.responseText, 'APPROVED');
  assert.deepEqual({ ...cardholder, maskedNumber: merchant.maskedNumber }, merchant);
  const read = await call('GET', `/${sale.transactionId}`);
  assert.deepEqual(read.receipt, sale.receipt);
  // The reference is excluded, because it contains the day of the year and the hour.
  const { retrievalReferenceNumber, ...rest } = sale.receipt.merchant;
  for (const expiry of ['3012', '12/30', '2030-12']) {
    assert.ok(!JSON.stringify(rest).includes(expiry), `an expiry is on no receipt: ${expiry}`);
  }
});

test('yen have no decimals, and a chip receipt contains application and cryptogram', async () => {
  const { call } = await createOrganizationWithClient();
  const yen = await call('POST', '/process', keyedSale({ currency: 'JPY' }));
  assert.equal(yen.receipt.merchant.amountText, '1234 JPY');
  const chip = await call(
    'POST',
    '/process',
    keyedSale({ entryMode: 'ContactChip', instrument: { emvData: chipData() } }),
  );
  const { cardholder } = chip.receipt;
  assert.match(cardholder.applicationId, /^A0000000/);
  assert.match(cardholder.cryptogram, /^[0-9A-F]{16}$/);
  assert.ok(cardholder.terminalVerificationResults);
});

test('the receipt shows verification by PIN, signature, device, or none', async () => {
  const { call } = await createOrganizationWithClient();
  const methodOf = async (entryMode: string, results: string) => {
    const instrument = { emvData: chipData(undefined, { '9F34': results }) };
    const sale = await call('POST', '/process', keyedSale({ entryMode, instrument }));
    return sale.receipt.cardholder.cardholderVerification;
  };
  assert.equal(await methodOf('ContactChip', '410302'), 'PinVerified');
  assert.equal(await methodOf('ContactChip', '1E0300'), 'Signature');
  assert.equal(await methodOf('ContactlessChip', '010002'), 'OnDevice');
  assert.equal(await methodOf('ContactlessChip', '1F0302'), 'None');
});

test('the receipts of a decline, an unknown outcome, a void and a partial approval say so', async () => {
  const { call } = await createOrganizationWithClient();
  const textOf = (body: { receipt: { merchant: { responseText: string } } }) =>
    body.receipt.merchant.responseText;
  const declined = await call('POST', '/process', keyedSale({ amount: 9051 }));
  assert.equal(textOf(declined), 'DECLINED');
  assert.equal(declined.receipt.merchant.responseReason, 'InsufficientFunds');
  assert.equal(declined.receipt.cardholder.responseReason, undefined);
  const partial = await call(
    'POST',
    '/process',
    keyedSale({ amount: 9010, partialApproval: true }),
  );
  assert.equal(partial.receipt.merchant.amount, 4505);
  const closed = await call('POST', '/process', keyedSale({ amount: 9093 }));
  assert.equal(textOf(closed), 'NOT COMPLETED');
  const reversed = await until(async () => {
    const { state, receipt } = await call('GET', `/${closed.transactionId}`);
    return state === 'Reversed' ? { receipt } : undefined;
  }, 'the reversal');
  assert.equal(textOf(reversed), 'NOT COMPLETED');
  const heldSale = await call('POST', '/process', keyedSale({ captureMode: 'Deferred' }));
  assert.equal(heldSale.receipt.merchant.operation, 'Authorization');
  const voided = await call('POST', `/${heldSale.transactionId}/cancel`, {
    cancelReason: 'Functional',
  });
  assert.equal(textOf(voided), 'CANCELLED');
});

test('the receipt of a refund says that the refund is pending', async () => {
  const { call } = await createOrganizationWithClient();
  const sale = await call('POST', '/process', keyedSale({ amount: 20_000 }));
  const refund = await call('POST', `/${sale.transactionId}/refund`, { amount: 9093 });
  assert.equal(refund.operation.status, 'Pending');
  assert.equal(refund.receipt.cardholder.responseText, 'PENDING');
});

test('the response to a refund has the receipt of the refund', async () => {
  const { call } = await createOrganizationWithClient();
  const instrument = { emvData: chipData() };
  const sale = await call('POST', '/process', keyedSale({ entryMode: 'ContactChip', instrument }));
  const request = { clientOperationId: 'refund-1', amount: 450 };
  const refund = await call('POST', `/${sale.transactionId}/refund`, request);
  const { merchant, cardholder } = refund.receipt;
  assert.deepEqual(
    [merchant.operation, merchant.amountText, merchant.responseText, merchant.cryptogram],
    ['Refund', '4.50 EUR', 'APPROVED', undefined],
  );
  assert.notEqual(merchant.systemTraceAuditNumber, sale.receipt.merchant.systemTraceAuditNumber);
  assert.match(cardholder.maskedNumber, /^\*+\d{4}$/);
  const repeated = await call('POST', `/${sale.transactionId}/refund`, request);
  assert.deepEqual(repeated.receipt, refund.receipt);
  const read = await call('GET', `/${sale.transactionId}`);
  assert.deepEqual(read.receipt, sale.receipt);
});

test('the ledgers of platform and host agree', assertLedgersAgree);
