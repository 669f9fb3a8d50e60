import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileDialect, encodeFrame, iso1987BinaryEmv, type Message } from '@switchyard/iso8583';
import { readSaleResponse, signOnRequest, writeSale } from './bare-acquirer-message.ts';

const dialect = compileDialect(iso1987BinaryEmv);
const frameOf = (message: Message) => encodeFrame({ length: 'binary2' }, dialect.encode(message));

const echoed = {
  3: '000000',
  4: '000000004711',
  7: '1129100500',
  11: '123456',
  12: '130000',
  13: '0131',
  32: '123456',
  37: '603112123456',
  41: 'BARE0001',
  42: 'BARE00000000001',
  49: '978',
};

test('the bare server writes a sale that the codec of the platform reads', () => {
  const frame = writeSale({ amount: 4711, trace: 123_456, sentAt: '1129100500' });
  assert.equal(frame.readUInt16BE(0), frame.length - 2);
  assert.deepEqual(dialect.decode(frame.subarray(2)), {
    mti: '0200',
    fields: { ...echoed, 2: '0'.repeat(16), 14: '3012', 18: '5411', 22: '051', 25: '00' },
  });
});

test('the bare server signs on with DE70 001', () => {
  const { mti, fields } = dialect.decode(signOnRequest.subarray(2));
  assert.deepEqual([mti, fields[70]], ['0800', '001']);
});

test('the bare server finds trace number and approval in a response', () => {
  const approval = frameOf({ mti: '0210', fields: { ...echoed, 38: 'A1B2C3', 39: '00' } });
  assert.deepEqual(readSaleResponse(approval), { trace: 123_456, isApproved: true });
  const decline = frameOf({ mti: '0210', fields: { ...echoed, 39: '05' } });
  assert.deepEqual(readSaleResponse(decline), { trace: 123_456, isApproved: false });
  const signOn = frameOf({ mti: '0810', fields: { 7: '1129100500', 11: '000001', 39: '00' } });
  assert.equal(readSaleResponse(signOn), undefined);
});
