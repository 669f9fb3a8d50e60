import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ErrorCode, ProblemError } from '@switchyard/contract';
import type { Row } from '../resources/resource-sql.ts';
import { readSaleEntities, type SaleEntityIds, type TokenBinding } from './sale-entities.ts';

const row: Row = {
  organization_status: 'Enabled',
  merchant_id: 'm1',
  merchant_name: 'Lumière',
  merchant_mcc: '5814',
  country: 'FR',
  merchant_time_zone: 'Europe/Paris',
  merchant_status: 'Enabled',
  merchant_address: { line1: '12 quai de Valmy', city: 'Paris' },
  store_id: 's1',
  store_merchant_id: 'm1',
  store_name: 'Canal',
  store_time_zone: null,
  store_status: 'Enabled',
  store_address: null,
  logical_device_id: 'd1',
  device_merchant_id: 'm1',
  device_store_id: 's1',
  device_name: 'Counter 1',
  device_status: 'Enabled',
  contract_id: 'c1',
  link_status: 'Enabled',
  contract_merchant_id: 'm1',
  acquirer_link_id: 'l1',
  acquirer_merchant_id: '1',
  terminal_id_from: 'TERM0001',
  terminal_id_to: 'TERM9999',
  contract_mcc: null,
  currencies: ['EUR'],
  capture_modes: ['Immediate'],
  default_capture_mode: 'Immediate',
  capture_transport: 'Advice',
  partial_cancel: true,
  multiple_capture: false,
  over_capture_percent: 0,
  partial_approval: false,
  clear_card_data: 'Allowed',
  hold_days: 30,
};

function refusalOf(
  changed: Row,
  names: SaleEntityIds,
  within: TokenBinding = {},
): [ErrorCode, string?] {
  try {
    readSaleEntities([{ ...row, ...changed }], names, within);
  } catch (error) {
    assert.ok(error instanceof ProblemError);
    const pointer = error.errors?.[0]?.pointer;
    return pointer === undefined ? [error.code] : [error.code, pointer];
  }
  assert.fail('was not refused');
}

test('a store without time zone and address has those of its merchant', () => {
  const { merchant, store, device, contract } = readSaleEntities([row], { deviceId: 'd1' }, {});
  assert.equal(merchant.name, 'Lumière');
  assert.deepEqual(store, {
    storeId: 's1',
    name: 'Canal',
    timeZone: 'Europe/Paris',
    address: { line1: '12 quai de Valmy', city: 'Paris' },
    addressLine: '12 quai de Valmy, Paris',
  });
  assert.deepEqual(device, { deviceId: 'd1', name: 'Counter 1' });
  assert.equal(contract.mcc, '5814');
  assert.deepEqual(contract.terminalIdRange, { from: 'TERM0001', to: 'TERM9999' });
});

test('a merchant alone is enough', () => {
  const alone = { store_id: null, logical_device_id: null, store_merchant_id: null };
  const { store, device } = readSaleEntities([{ ...row, ...alone }], { merchantId: 'm1' }, {});
  assert.equal(store, undefined);
  assert.equal(device, undefined);
});

test('every enabled contract takes part whose link is enabled, the oldest in front', () => {
  const rule = { schemes: ['Amex'] };
  const rows = [
    { ...row, link_status: 'Disabled' },
    { ...row, contract_id: 'c2' },
    { ...row, contract_id: 'c3', routing: [rule] },
  ];
  const { contract, contracts } = readSaleEntities(rows, { deviceId: 'd1' }, {});
  assert.equal(contract.contractId, 'c2');
  assert.deepEqual(
    contracts.map(({ contractId, routing }) => [contractId, routing]),
    [
      ['c2', []],
      ['c3', [rule]],
    ],
  );
  assert.deepEqual(refusalOf({ link_status: 'Disabled' }, { deviceId: 'd1' }), [
    'no_acquirer_for_merchant',
  ]);
});

test('the error names the entity that was not found', () => {
  const noIds = { merchant_id: null, store_id: null, logical_device_id: null };
  assert.deepEqual(refusalOf(noIds, { deviceId: 'd9' }), ['device_not_found']);
  assert.deepEqual(refusalOf(noIds, { storeId: 's9' }), ['store_not_found']);
  assert.deepEqual(refusalOf(noIds, { merchantId: 'm9' }), ['merchant_not_found']);
});

test('names that do not belong together are a fault of the request', () => {
  const other = { store_merchant_id: 'm2' };
  const merchantAndStore = { merchantId: 'm1', storeId: 's1' };
  assert.deepEqual(refusalOf(other, merchantAndStore), ['entity_mismatch', '/storeId']);
  const device = { merchantId: 'm1', deviceId: 'd1' };
  assert.deepEqual(refusalOf(other, device), ['entity_mismatch', '/deviceId']);
  const elsewhere = { storeId: 's1', deviceId: 'd1' };
  assert.deepEqual(refusalOf({ device_store_id: 's2' }, elsewhere), [
    'entity_mismatch',
    '/deviceId',
  ]);
});

// Spec: CARD-15
test('beyond the merchant of the token everything is unknown', () => {
  const within = { merchantId: 'm1' };
  const foreignStore = { store_merchant_id: 'm2' };
  assert.deepEqual(refusalOf(foreignStore, { merchantId: 'm1', storeId: 's1' }, within), [
    'store_not_found',
  ]);
  assert.deepEqual(refusalOf(foreignStore, { deviceId: 'd1' }, within), ['device_not_found']);
  const foreignDevice = { device_store_id: 's2', device_merchant_id: 'm2' };
  assert.deepEqual(refusalOf(foreignDevice, { storeId: 's1', deviceId: 'd1' }, within), [
    'device_not_found',
  ]);
  const foreignMerchant = { merchant_id: 'm2', store_id: null, logical_device_id: null };
  assert.deepEqual(refusalOf(foreignMerchant, { merchantId: 'm2' }, within), [
    'merchant_not_found',
  ]);
});

test('a disabled level stops the sale', () => {
  const names = { deviceId: 'd1' };
  assert.deepEqual(refusalOf({ organization_status: 'Disabled' }, names), ['merchant_not_active']);
  assert.deepEqual(refusalOf({ merchant_status: 'Disabled' }, names), ['merchant_not_active']);
  assert.deepEqual(refusalOf({ store_status: 'Disabled' }, names), ['store_not_active']);
  assert.deepEqual(refusalOf({ device_status: 'Disabled' }, names), ['device_not_active']);
});

test('a merchant without a contract has no acquirer', () => {
  assert.deepEqual(refusalOf({ contract_id: null }, { deviceId: 'd1' }), [
    'no_acquirer_for_merchant',
  ]);
});
