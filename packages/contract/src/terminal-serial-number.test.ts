import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatTsn, parseTsn } from './terminal-serial-number.ts';

test('a terminal serial number contains make, model and serial number', () => {
  const tsn = formatTsn({ make: 'AXIUM', model: 'DX-8000', serialNumber: '10000001' });
  assert.equal(tsn, 'AXIUM_DX-8000-10000001');
  assert.deepEqual(parseTsn(tsn), { makeAndModel: 'AXIUM_DX-8000', serialNumber: '10000001' });
});

test('a serial number alone has no make and model', () => {
  assert.deepEqual(parseTsn('10000001'), { makeAndModel: '', serialNumber: '10000001' });
});
