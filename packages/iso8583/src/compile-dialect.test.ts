// What the codec accepts and refuses, rule by rule.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  compileDialect,
  type DialectTable,
  type FieldFormat,
  type Iso8583ErrorCode,
  iso1987Ascii,
  iso1987Binary,
  iso1987BinaryEmv,
} from './index.ts';

const ascii = compileDialect(iso1987Ascii);
const binary = compileDialect(iso1987BinaryEmv);

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');

function refusal(code: Iso8583ErrorCode, field?: number, offset?: number) {
  return { name: 'Iso8583Error', code, field, offset };
}

function tableWith(format: FieldFormat, table: Partial<DialectTable> = {}): DialectTable {
  return { ...iso1987Binary, ...table, fields: { 2: format } };
}

function wireOf(format: FieldFormat, value: string, table: Partial<DialectTable> = {}): string {
  const dialect = compileDialect(tableWith(format, table));
  const bytes = dialect.encode({ mti: '0100', fields: { 2: value } });
  assert.equal(dialect.decode(bytes).fields[2], value);
  return bytes.subarray(10).toString('hex');
}

describe('values on the wire', () => {
  const n5: FieldFormat = { name: 'five digits', content: 'n', size: 'fixed', max: 5 };
  const ll = { name: 'up to 19', content: 'n', size: 'LL', max: 19 } as const;

  it('justifies odd BCD numbers as the dialect says', () => {
    assert.equal(wireOf(n5, '12345'), '012345');
    assert.equal(wireOf({ ...n5, justify: 'left' }, '12345'), '123450');
    assert.equal(wireOf({ ...n5, justify: 'left', pad: 'F' }, '12345'), '12345f');
    assert.equal(wireOf(ll, '123'), '031230');
    assert.equal(wireOf({ ...ll, justify: 'right', pad: 'F' }, '123'), '03f123');
  });

  it('counts digits, not bytes, in each kind of length', () => {
    assert.equal(wireOf(ll, '1234567'), '0712345670');
    assert.equal(wireOf({ ...ll, lengthEncoding: 'ascii' }, '1234567'), '303712345670');
    assert.equal(wireOf({ ...ll, lengthEncoding: 'ebcdic' }, '1234567'), 'f0f712345670');
    assert.equal(wireOf({ ...ll, lengthEncoding: 'binary' }, '1234567890123'), '0d12345678901230');
    assert.equal(
      wireOf({ ...ll, size: 'LLL', max: 300, lengthEncoding: 'binary' }, '1'.repeat(258)),
      `0102${'1'.repeat(258)}`,
    );
  });

  it('counts bytes, not characters, of binary values', () => {
    const b: FieldFormat = { name: 'bytes', content: 'b', size: 'LL', max: 20 };
    assert.equal(wireOf(b, 'CAFE'), '02cafe');
    assert.equal(wireOf({ ...b, encoding: 'hex' }, 'CAFE'), '0243414645');
  });

  it('keeps empty variable values apart from absent ones', () => {
    assert.equal(wireOf(ll, ''), '00');
    assert.deepEqual(ascii.decode(ascii.encode({ mti: '0420', fields: { 2: '' } })).fields, {
      2: '',
    });
    assert.deepEqual(ascii.encode({ mti: '0420', fields: { 2: undefined } }).length, 20);
  });

  it('speaks EBCDIC', () => {
    const name: FieldFormat = { name: 'name', content: 'ans', size: 'LL', max: 40 };
    assert.equal(
      wireOf(name, 'Café [9]', { text: 'ebcdic' }),
      '08c3818651 40baf9bb'.replace(' ', ''),
    );
    assert.equal(wireOf(n5, '12345', { numerics: 'ebcdic' }), 'f1f2f3f4f5');
    const all = compileDialect({
      ...iso1987Ascii,
      mti: 'ebcdic',
      text: 'ebcdic',
      numerics: 'ebcdic',
      lengths: 'ebcdic',
    });
    const message = { mti: '0800', fields: { 2: '4111', 52: '0001020304050607', 70: '301' } };
    const bytes = all.encode(message);
    assert.equal(bytes.toString('hex', 0, 8), 'f0f8f0f0c3f0f0f0');
    assert.deepEqual(all.decode(bytes), message);
  });

  it('knows the separator of track 2 in both spellings', () => {
    const bytes = binary.encode({ mti: '0100', fields: { 35: '4111111111111111=2812' } });
    assert.equal(bytes.toString('hex', 10), '214111111111111111d28120');
    assert.deepEqual(
      binary.encode({ mti: '0100', fields: { 35: '4111111111111111D2812' } }),
      bytes,
    );
    assert.equal(binary.decode(bytes).fields[35], '4111111111111111=2812');
  });

  it('writes a bitmap of always sixteen bytes', () => {
    const dialect = compileDialect({ ...iso1987Binary, bitmapSize: 'fixed16' });
    const bytes = dialect.encode({ mti: '0800', fields: { 11: '000001' } });
    assert.equal(bytes.toString('hex'), '080000200000000000000000000000000000000001');
    assert.deepEqual(dialect.decode(bytes), { mti: '0800', fields: { 11: '000001' } });
  });

  it('serves sub-messages without a message type', () => {
    const dialect = compileDialect({ ...iso1987Ascii, mti: 'none' });
    const bytes = dialect.encode({ mti: '', fields: { 3: '000000' } });
    assert.equal(bytes.toString('latin1'), '2000000000000000000000');
    assert.deepEqual(dialect.decode(bytes), { mti: '', fields: { 3: '000000' } });
  });
});

describe('refusals', () => {
  it('of messages that cannot be written', () => {
    const encode = (fields: Record<number, string>, mti = '0100') => binary.encode({ mti, fields });
    assert.throws(() => encode({}, '01a0'), refusal('mti_invalid', 0, 0));
    assert.throws(() => encode({}, '01000'), refusal('mti_invalid', 0, 0));
    assert.throws(() => encode({ 1: '0' }), refusal('field_unknown', 1));
    assert.throws(() => encode({ 65: '0' }), refusal('field_unknown', 65));
    assert.throws(() => encode({ 129: '0' }), refusal('field_unknown', 129));
    assert.throws(() => encode({ 4: '100' }), refusal('length_mismatch', 4, 10));
    assert.throws(() => encode({ 2: '1'.repeat(20) }), refusal('length_exceeded', 2, 10));
    assert.throws(() => encode({ 3: '00000A' }), refusal('content_invalid', 3, 12));
    assert.throws(() => encode({ 3: '00=000' }), refusal('content_invalid', 3, 11));
    assert.throws(() => encode({ 37: 'RRN\u0100ABCDEFGH' }), refusal('content_invalid', 37, 13));
    assert.throws(() => encode({ 52: '000102030405060' }), refusal('length_mismatch', 52, 10));
    assert.throws(() => encode({ 52: '00010203040506XX' }), refusal('content_invalid', 52, 10));
    assert.throws(() => encode({ 55: '9F2' }), refusal('content_invalid', 55, 10));
    assert.throws(() => encode({ 28: 'X00000000' }), refusal('content_invalid', 28, 10));
  });

  it('of bytes that are no message', () => {
    const decode = (text: string) => binary.decode(hex(text));
    assert.throws(() => decode(''), refusal('message_truncated', 0, 0));
    assert.throws(() => decode('02'), refusal('message_truncated', 0, 0));
    assert.throws(() => decode('0A00'), refusal('mti_invalid', 0, 0));
    assert.throws(() => decode('0200 2000'), refusal('message_truncated', 1, 2));
    assert.throws(() => decode('0200 A000000000000000'), refusal('message_truncated', 1, 10));
    assert.throws(
      () => decode('0200 8000000000000000 8000000000000000'),
      refusal('field_unknown', 65, 18),
    );
    assert.throws(() => decode('0200 2000000000000000 0000'), refusal('message_truncated', 3, 10));
    assert.throws(() => decode('0200 2000000000000000 00000A'), refusal('content_invalid', 3, 12));
    assert.throws(
      () => decode('0200 2000000000000000 000000 00'),
      refusal('trailing_bytes', undefined, 13),
    );
    assert.throws(() => decode('0200 4000000000000000 1A'), refusal('length_invalid', 2, 10));
    assert.throws(() => decode('0200 4000000000000000 20'), refusal('length_exceeded', 2, 10));
    assert.throws(() => decode('0200 4000000000000000 19 41'), refusal('message_truncated', 2, 11));
    assert.throws(() => decode('0200 4000000000000000 03 4111'), refusal('padding_invalid', 2, 12));
    assert.throws(() => ascii.decode(Buffer.from('0200G')), refusal('message_truncated', 1, 4));
    assert.throws(
      () => ascii.decode(Buffer.from('0200G000000000000000')),
      refusal('bitmap_invalid', 1, 4),
    );
  });

  it('never repeats the value', () => {
    try {
      binary.encode({ mti: '0100', fields: { 2: '4111111111111111111111' } });
      assert.fail();
    } catch (error) {
      assert.doesNotMatch(String((error as Error).stack), /4111/);
      assert.equal((error as Error).message, 'length_exceeded in DE2 at byte 10');
    }
  });

  it('of tables that contradict themselves', () => {
    const b: FieldFormat = { name: 'x', content: 'b', size: 'fixed', max: 8 };
    const an: FieldFormat = { name: 'x', content: 'an', size: 'LL', max: 20 };
    const faulty: [FieldFormat, number?][] = [
      [{ ...b, encoding: 'bcd' }],
      [{ ...an, encoding: 'bcd' }],
      [{ ...an, encoding: 'raw' }],
      [{ ...an, max: 100 }],
      [{ ...an, max: 256, lengthEncoding: 'binary' }],
      [{ ...an, max: 0 }],
      [{ ...an, max: 1.5 }],
      [an, 1],
      [an, 65],
      [an, 129],
    ];
    for (const [format, field = 2] of faulty) {
      const table: DialectTable = { ...iso1987Binary, fields: { [field]: format } };
      assert.throws(() => compileDialect(table), refusal('table_invalid', field));
    }
  });
});
