// The bytes of every field format, written by hand from its meaning.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  compileDialect,
  type DialectTable,
  type FieldFormat,
  Iso8583Error,
  iso1987Ascii,
  iso1987Binary,
} from './index.ts';

type Case = readonly [Partial<FieldFormat>, value: string, wire: string, Partial<DialectTable>?];

const compileLine = (format: Partial<FieldFormat>, table: Partial<DialectTable> = {}) => {
  const line = { name: 'x', content: 'n', size: 'LL', max: 19, ...format } as FieldFormat;
  return compileDialect({ ...iso1987Binary, ...table, fields: { 2: line } });
};

const messageTypeAndBitmap = '01004000000000000000';

function assertWire([format, value, wire, table]: Case): void {
  const dialect = compileLine(format, table);
  const bytes = dialect.encode({ mti: '0100', fields: { 2: value } });
  assert.equal(bytes.toString('hex'), messageTypeAndBitmap + wire, JSON.stringify(format));
  assert.deepEqual(dialect.decode(bytes).fields, { 2: value });
}

const refusedTable = (format: Partial<FieldFormat>, problem: RegExp) =>
  assert.throws(
    () => compileLine(format),
    (error) => error instanceof Iso8583Error && problem.test(error.problem ?? ''),
    JSON.stringify(format),
  );

describe('lengths in front of a value', () => {
  it('have one to six digits in ASCII, EBCDIC, BCD and hexadecimal', () => {
    const five = '12345';
    const bcd = '123450';
    const cases: readonly Case[] = [
      [{ size: 'L', max: 9, lengthEncoding: 'ascii' }, five, `35${bcd}`],
      [{ size: 'LLLLL', lengthEncoding: 'ascii' }, five, `3030303035${bcd}`],
      [{ size: 'LLLLLL', lengthEncoding: 'ebcdic1047' }, five, `f0f0f0f0f0f5${bcd}`],
      [{ size: 'LL', lengthEncoding: 'bcd' }, five, `05${bcd}`],
      [{ size: 'LLL', lengthEncoding: 'bcd' }, five, `0005${bcd}`],
      [{ size: 'LLLLLL', lengthEncoding: 'bcd' }, five, `000005${bcd}`],
      [{ size: 'LL', lengthEncoding: 'hexAscii' }, '12345678901', '3042123456789010'],
      [{ size: 'LL', lengthEncoding: 'hexEbcdic' }, '12345678901', 'f0c2123456789010'],
      [
        { size: 'LL', lengthEncoding: 'hex' },
        '12345678901',
        'f0c2123456789010',
        { text: 'ebcdic' },
      ],
    ];
    for (const each of cases) assertWire(each);
  });

  it('have one to four bytes in binary, with the highest byte first or last', () => {
    const cases: readonly Case[] = [
      [{ lengthEncoding: 'binary' }, '1234', '041234'],
      [{ lengthEncoding: 'binary', lengthBytes: 2 }, '1234', '00041234'],
      [{ lengthEncoding: 'binary', lengthBytes: 3 }, '1234', '0000041234'],
      [{ lengthEncoding: 'binary', lengthBytes: 4 }, '1234', '000000041234'],
      [{ lengthEncoding: 'littleEndian', lengthBytes: 1 }, '1234', '041234'],
      [{ lengthEncoding: 'littleEndian', lengthBytes: 4 }, '1234', '040000001234'],
      [
        { size: 'LLL', lengthEncoding: 'littleEndian', max: 999 },
        '1'.repeat(258),
        `0201${'11'.repeat(129)}`,
      ],
    ];
    for (const each of cases) assertWire(each);
    refusedTable({ lengthBytes: 2 }, /only with the lengthEncoding binary/);
    refusedTable({ lengthEncoding: 'binary', lengthBytes: 5 }, /from 1 to 4/);
  });

  it('count the bytes or half bytes of a value, and their own bytes', () => {
    const bytes = { content: 'b', encoding: 'raw', max: 20 } as const;
    const cases: readonly Case[] = [
      [{ lengthCounts: 'bytes', pad: 'F' }, '12345', '0312345f'],
      [{ lengthCounts: 'bytes', pad: 'F' }, '123456', '03123456'],
      [{ lengthCounts: 'bytes', pad: 'F', justify: 'right' }, '12345', '03f12345'],
      [{ lengthCounts: 'nibbles' }, '123450', '06123450'],
      [{ ...bytes, lengthCounts: 'nibbles' }, 'CAFE', '04cafe'],
      [{ ...bytes, encoding: 'hexAscii', lengthCounts: 'bytes' }, 'CAFE', '0443414645'],
      [{ ...bytes, lengthEncoding: 'binary', lengthInclusive: true }, 'CAFE', '03cafe'],
      [
        { ...bytes, size: 'LLL', lengthEncoding: 'binary', lengthInclusive: true },
        'CAFE',
        '0004cafe',
      ],
    ];
    for (const each of cases) assertWire(each);
    const dialect = compileLine({ lengthCounts: 'nibbles' });
    const odd = dialect.encode({ mti: '0100', fields: { 2: '12345' } });
    assert.equal(odd.toString('hex', 10), '06123450');
    assert.equal(dialect.decode(odd).fields[2], '123450');
    const refused = (format: Partial<FieldFormat>, wire: string) =>
      assert.throws(
        () => compileLine(format).decode(Buffer.from(messageTypeAndBitmap + wire, 'hex')),
        { code: 'length_invalid', field: 2, offset: 10 },
      );
    refused({ lengthCounts: 'nibbles' }, '05123450');
    refused({ ...bytes, encoding: 'hex', lengthCounts: 'bytes' }, '03434146');
    refused({ ...bytes, lengthEncoding: 'binary', lengthInclusive: true }, '00');
  });
});

describe('characters and signs', () => {
  it('have the code pages 037, 1047 and 500', () => {
    const text = { content: 'ans', max: 40 } as const;
    const value = '[!]^|';
    const cases: readonly Case[] = [
      [{ ...text, encoding: 'ebcdic' }, value, '05ba5abbb04f'],
      [{ ...text, encoding: 'ebcdic1047' }, value, '05ad5abd5f4f'],
      [{ ...text, encoding: 'ebcdic500' }, value, '054a4f5a5fbb'],
    ];
    for (const each of cases) assertWire(each);
  });

  it('of an amount are a character, a half byte, or in the last digit', () => {
    const amount = { content: 'x+n', size: 'fixed', max: 9 } as const;
    const cases: readonly Case[] = [
      [{ ...amount, encoding: 'ascii' }, 'D12345678', '443132333435363738'],
      [{ ...amount, encoding: 'ebcdic' }, 'C12345678', 'c3f1f2f3f4f5f6f7f8'],
      [{ ...amount, encoding: 'bcd' }, 'D12345678', '4412345678'],
      [{ ...amount, encoding: 'bcd', signEncoding: 'ebcdic' }, 'D12345678', 'c412345678'],
      [{ ...amount, encoding: 'bcd', signEncoding: 'nibble' }, 'D12345678', '0d12345678'],
      [
        { ...amount, encoding: 'bcd', signEncoding: 'nibble', justify: 'left', pad: 'F' },
        'C12345678',
        'c12345678f',
      ],
      [{ ...amount, encoding: 'zoned' }, 'D12345678', 'f1f2f3f4f5f6f7d8'],
      [{ ...amount, encoding: 'zoned' }, 'C12345678', 'f1f2f3f4f5f6f7c8'],
      [{ ...amount, encoding: 'zoned' }, '012345678', 'f1f2f3f4f5f6f7f8'],
    ];
    for (const each of cases) assertWire(each);
    refusedTable({ signEncoding: 'nibble' }, /signEncoding only with/);
    refusedTable({ encoding: 'zoned' }, /zoned needs x\+n/);
  });
});

describe('values shorter than their field', () => {
  const encodeAndDecode = (format: Partial<FieldFormat>, value: string) => {
    const dialect = compileLine({ size: 'fixed', ...format });
    const bytes = dialect.encode({ mti: '0100', fields: { 2: value } });
    return [bytes.toString('hex', 10), dialect.decode(bytes).fields[2]];
  };

  it('are filled on either side, and trimmed if the table says so', () => {
    const text = { content: 'an', max: 5 } as const;
    assert.deepEqual(encodeAndDecode({ ...text, fill: 'rightBlanks' }, 'AB'), [
      '4142202020',
      'AB   ',
    ]);
    assert.deepEqual(encodeAndDecode({ ...text, fill: 'leftBlanks', trim: true }, 'AB'), [
      '2020204142',
      'AB',
    ]);
    assert.deepEqual(encodeAndDecode({ ...text, fill: 'rightZeros', trim: true }, 'AB'), [
      '4142303030',
      'AB',
    ]);
    assert.deepEqual(encodeAndDecode({ max: 6, fill: 'leftZeros' }, '12'), ['000012', '000012']);
    assert.deepEqual(encodeAndDecode({ max: 6, fill: 'leftZeros', trim: true }, '12'), [
      '000012',
      '12',
    ]);
    assert.deepEqual(encodeAndDecode({ content: 'b', max: 4, fill: 'leftZeros' }, 'CAFE'), [
      '0000cafe',
      '0000CAFE',
    ]);
    assert.deepEqual(
      encodeAndDecode({ content: 'x+n', max: 9, encoding: 'ascii', fill: 'leftZeros' }, 'D42'),
      ['443030303030303432', 'D00000042'],
    );
  });

  it('are refused if they are too long', () => {
    assert.throws(() => encodeAndDecode({ content: 'an', max: 5, fill: 'rightBlanks' }, 'ABCDEF'), {
      code: 'length_mismatch',
    });
  });

  it('of a variable field with a fill take all of its bytes', () => {
    const cases: readonly Case[] = [
      [{ content: 'ans', max: 6, fill: 'rightBlanks' }, 'AB', '02414220202020'],
      [{ content: 'ans', max: 4, encoding: 'ebcdic', fill: 'rightBlanks' }, 'AB', '02c1c24040'],
      [
        { content: 'b', max: 4, lengthEncoding: 'binary', fill: 'rightZeros' },
        'CAFE',
        '02cafe0000',
      ],
      [{ max: 8, fill: 'rightZeros' }, '123', '0312300000'],
    ];
    for (const each of cases) assertWire(each);
  });

  it('need a fill that their content has', () => {
    refusedTable({ size: 'fixed', fill: 'leftBlanks' }, /has no blanks/);
    refusedTable({ size: 'fixed', trim: true }, /must have a fill/);
    refusedTable(
      { size: 'fixed', content: 'b', fill: 'leftZeros', trim: true },
      /must not have trim/,
    );
    refusedTable({ size: 'fixed', content: 'x+n', fill: 'rightZeros' }, /must not have the fill/);
    refusedTable({ fill: 'leftZeros' }, /a fill on the left/);
    refusedTable({ size: 'fixed', lengthEncoding: 'bcd' }, /with the size fixed/);
  });

  it('can be fields without bytes', () => {
    assertWire([{ content: 'ans', size: 'fixed', max: 0 }, '', '']);
  });
});

describe('bitmaps', () => {
  const message = { mti: '0800', fields: { 11: '000001', 70: '301' } };
  const bytesOf = (table: Partial<DialectTable>) => {
    const dialect = compileDialect({ ...iso1987Ascii, ...table });
    const bytes = dialect.encode(message);
    assert.deepEqual(dialect.decode(bytes), message);
    return bytes;
  };

  it('are hexadecimal characters of either character set beside text of the other', () => {
    const ascii = bytesOf({ bitmap: 'hexAscii', text: 'ebcdic' });
    assert.equal(ascii.toString('latin1', 4, 36), '80200000000000000400000000000000');
    const ebcdic = bytesOf({ bitmap: 'hexEbcdic', text: 'ascii' });
    assert.equal(ebcdic.toString('hex', 4, 8), 'f8f0f2f0');
  });

  it('have a third one behind the second, or between the fields 64 and 66', () => {
    const third: Partial<DialectTable> = {
      fields: {
        11: { name: 'Trace number', content: 'n', size: 'fixed', max: 6 },
        70: { name: 'Function', content: 'n', size: 'fixed', max: 3 },
        130: { name: 'Third', content: 'n', size: 'fixed', max: 2 },
        192: { name: 'Last', content: 'n', size: 'fixed', max: 1 },
      },
    };
    const fields = { 11: '000001', 70: '301', 130: '17', 192: '9' };
    for (const [thirdBitmap, wire] of [
      ['afterSecond', '0800802000000000000084000000000000004000000000000001000001301179'],
      ['field65', '0800802000000000000084000000000000000000014000000000000001301179'],
    ] as const) {
      const dialect = compileDialect({ ...iso1987Ascii, ...third, thirdBitmap });
      const bytes = dialect.encode({ mti: '0800', fields });
      assert.equal(bytes.toString('latin1'), wire);
      assert.deepEqual(dialect.decode(bytes).fields, fields);
      const { 130: _third, 192: _last, ...few } = fields;
      assert.deepEqual(dialect.decode(dialect.encode({ mti: '0800', fields: few })).fields, few);
    }
    assert.throws(() => compileDialect({ ...iso1987Ascii, ...third }), {
      code: 'table_invalid',
      field: 130,
    });
  });
});
