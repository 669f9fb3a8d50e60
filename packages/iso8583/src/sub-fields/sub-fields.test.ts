// The structures inside values, in bytes written by hand.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  compileDialect,
  compileSubFields,
  type FieldFormat,
  Iso8583Error,
  iso1987Ascii,
  type SubFieldFormat,
} from '../index.ts';

const compile = (content: FieldFormat['content'], subFields: SubFieldFormat) =>
  compileSubFields({ name: 'x', content, size: 'LLL', max: 999, subFields }, 60);

function assertParts(
  compiled: ReturnType<typeof compile>,
  parts: Record<string, string>,
  value: string,
): void {
  assert.equal(compiled.encode(parts), value);
  assert.deepEqual(compiled.decode(value), parts);
}

const refused = (action: () => unknown, code: string) =>
  assert.throws(action, (error) => error instanceof Iso8583Error && error.code === code);

describe('parts at fixed positions', () => {
  const positions = compile('ans', {
    type: 'Positions',
    parts: [
      { id: 'batch', name: 'Batch number', content: 'n', size: 'fixed', max: 6 },
      {
        id: 'shop',
        name: 'Shop',
        content: 'ans',
        size: 'fixed',
        max: 4,
        fill: 'rightBlanks',
        trim: true,
      },
      { id: 'note', name: 'Note', content: 'ans', size: 'LL', max: 20 },
    ],
  });

  it('follow each other, and are absent at the end', () => {
    assertParts(positions, { batch: '000017', shop: 'AB', note: 'Hi' }, '000017AB  02Hi');
    assertParts(positions, { batch: '000017' }, '000017');
    assertParts(positions, {}, '');
    assert.equal(positions.encode({ batch: '000017', note: 'Hi' }), '000017    02Hi');
    assert.equal(positions.nameOf('shop'), 'Shop');
  });

  it('are refused with other lengths or identifiers', () => {
    refused(() => positions.encode({ batch: '17' }), 'length_mismatch');
    refused(() => positions.encode({ other: '1' }), 'field_unknown');
    refused(() => positions.decode('00001'), 'message_truncated');
    refused(() => positions.decode('000017AB  02Hi!'), 'trailing_bytes');
    refused(() => positions.decode('\u0100'), 'content_invalid');
  });
});

describe('parts with tag and length', () => {
  it('have the tag first', () => {
    const tags = compile('ans', { type: 'Tags', tagSize: 2, lengthSize: 2 });
    assertParts(tags, { '82': '19123456789', '92': '041' }, '8211191234567899203041');
    const long = compile('ans', { type: 'Tags', tagSize: 4, lengthSize: 6 });
    assertParts(long, { ABCD: 'xyz' }, 'ABCD000003xyz');
    const repeated = compile('ans', { type: 'Tags', tagSize: 1, lengthSize: 1 });
    assertParts(repeated, { A: '1', 'A.2': '22' }, 'A11A222');
  });

  it('have the length first, which also counts the tag', () => {
    const tags = compile('ans', {
      type: 'Tags',
      tagSize: 2,
      lengthSize: 3,
      order: 'lengthFirst',
      lengthCountsTag: true,
      lead: { id: 'category', name: 'Category', content: 'an', size: 'fixed', max: 1 },
      parts: { '01': { name: 'Reason', content: 'n', max: 4 } },
    });
    assertParts(tags, { category: 'T', '01': '4021' }, 'T006014021');
    assert.equal(tags.nameOf('01'), 'Reason');
    assert.equal(tags.nameOf('01.2'), 'Reason');
    refused(() => tags.encode({ '01': '40211' }), 'length_exceeded');
    refused(() => tags.encode({ '012': '1' }), 'field_unknown');
    refused(() => tags.decode('T00101'), 'length_invalid');
    refused(() => tags.decode('T00601402'), 'message_truncated');
    refused(() => tags.decode('T00601402X'), 'content_invalid');
  });

  it('have binary tags and BCD parts in a field of bytes', () => {
    const tags = compile('b', {
      type: 'Tags',
      tagSize: 1,
      tagEncoding: 'binary',
      lengthSize: 4,
      lengthEncoding: 'binary',
      parts: { '02': { name: 'Card', content: 'n', max: 19, encoding: 'bcd' } },
    });
    assertParts(tags, { '02': '12345', '71': 'CAFE' }, '710002CAFE020005123450');
  });
});

describe('BER-TLV data objects', () => {
  const tlv = compile('tlv', { type: 'BerTlv', names: { '9F02': 'Amount, authorised' } });

  it('have tags and lengths of several bytes', () => {
    const long = '00'.repeat(200);
    const parts = { '9F02': '000000000100', DF8101: 'AA', '91': long };
    assert.deepEqual(tlv.decode(tlv.encode(parts)), parts);
    assert.equal(tlv.encode({ '9F02': '000000000100' }), '9F0206000000000100');
    assert.equal(tlv.encode({ '91': long }), `9181C8${long}`);
    assert.deepEqual(tlv.decode('7201AA007201BB'), { '72': 'AA', '72.2': 'BB' });
    assert.equal(tlv.nameOf('9F02'), 'Amount, authorised');
  });

  it('are refused if they end early', () => {
    for (const value of ['9F', '9F02', '9F0206', '9F020600']) {
      refused(() => tlv.decode(value), 'message_truncated');
    }
    refused(() => tlv.decode('9F0280'), 'length_invalid');
    refused(() => tlv.decode('9F0'), 'content_invalid');
    refused(() => tlv.encode({ tag: '00' }), 'field_unknown');
  });
});

describe('parts that a bitmap announces', () => {
  it('are those of field 127 of Postilion', () => {
    const postilion = compile('b', {
      type: 'Bitmap',
      bitmap: 'binary',
      bitmapBytes: 8,
      parts: {
        2: { name: 'Switch key', content: 'ans', size: 'LL', max: 32 },
        20: { name: 'Authoriser date settlement', content: 'n', size: 'fixed', max: 8 },
      },
    });
    const bitmap = '4000100000000000';
    const bytes = `${bitmap}${Buffer.from('03ABC20260131').toString('hex').toUpperCase()}`;
    assertParts(postilion, { 2: 'ABC', 20: '20260131' }, bytes);
    refused(() => postilion.decode('8000000000000000'), 'field_unknown');
    refused(() => postilion.decode(`${bytes}00`), 'trailing_bytes');
    refused(() => postilion.encode({ 3: '1' }), 'field_unknown');
  });

  it('can be behind a part without a bit, and in a second bitmap', () => {
    const bitmapped = compile('b', {
      type: 'Bitmap',
      bitmap: 'hexAscii',
      bitmapBytes: 1,
      grows: true,
      lead: { id: 'version', name: 'Version', content: 'b', size: 'fixed', max: 1 },
      parts: {
        2: { name: 'Two', content: 'n', size: 'fixed', max: 1 },
        9: { name: 'Nine', content: 'n', size: 'fixed', max: 1 },
      },
    });
    const hex = (text: string) => Buffer.from(text).toString('hex').toUpperCase();
    assertParts(bitmapped, { version: '07', 2: '5' }, `07${hex('405')}`);
    assertParts(bitmapped, { version: '07', 2: '5', 9: '6' }, `07${hex('C08056')}`);
  });
});

describe('parts that have parts', () => {
  it('are texts, with a structure of their own', () => {
    const data = compile('b', {
      type: 'Tags',
      tagSize: 1,
      tagEncoding: 'binary',
      lengthSize: 4,
      lengthEncoding: 'binary',
      parts: { '01': { name: 'Chip data', content: 'b', max: 200, subFields: { type: 'BerTlv' } } },
    });
    const chip = data.partsOf('01')?.encode({ '9F36': '0001' }) ?? '';
    assert.equal(data.encode({ '01': chip }), '0100059F36020001');
    assert.deepEqual(data.partsOf('01.2')?.decode(chip), { '9F36': '0001' });
    assert.equal(data.partsOf('02'), undefined);
  });
});

describe('parts with a separator', () => {
  const list = [
    { id: 'a', name: 'First' },
    { id: 'b', name: 'Second' },
    { id: 'c', name: 'Third' },
  ];

  it('are between separators, or end with one', () => {
    const separated = compile('ans', { type: 'Separated', separator: '|', parts: list });
    assertParts(separated, { a: '1', b: '', c: '3' }, '1||3');
    assert.equal(separated.encode({ b: '2' }), '|2');
    refused(() => separated.encode({ a: '1|2' }), 'content_invalid');
    refused(() => separated.decode('1|2|3|4'), 'trailing_bytes');
    const ended = compile('ans', {
      type: 'Separated',
      separator: '\\',
      endsWithSeparator: true,
      parts: list,
    });
    assertParts(ended, { a: '1', b: '2' }, '1\\2\\');
    refused(() => ended.decode('1\\2'), 'message_truncated');
  });

  it('are the tokens of BASE24', () => {
    const tokens = compile('ans', { type: 'Tokens', names: { Q1: 'Authorisation path' } });
    assertParts(tokens, { Q1: '10', B4: 'XYZ' }, '& 0000300037! Q100002 10! B400003 XYZ');
    refused(() => tokens.decode('0000300037'), 'content_invalid');
    refused(() => tokens.decode('& 0000200024! Q100003 10'), 'message_truncated');
    refused(() => tokens.encode({ Q: '1' }), 'field_unknown');
  });
});

describe('a table with a structure that contradicts itself', () => {
  const faults: readonly [SubFieldFormat, RegExp][] = [
    [{ type: 'Tags', tagSize: 5, lengthSize: 2 }, /tagSize from 1 to 4/],
    [{ type: 'Tags', tagSize: 2, lengthSize: 7 }, /lengthSize from 1 to 6/],
    [{ type: 'Bitmap', bitmap: 'hex', bitmapBytes: 0, parts: {} }, /bitmapBytes from 1/],
    [
      {
        type: 'Bitmap',
        bitmap: 'hex',
        bitmapBytes: 1,
        parts: { 9: { name: 'x', content: 'n', size: 'fixed', max: 1 } },
      },
      /parts up to bit 8/,
    ],
    [{ type: 'Separated', separator: '', parts: [] }, /must have a separator/],
    [
      {
        type: 'Positions',
        parts: [{ id: 'a', name: 'a', content: 'n', size: 'fixed', max: 1, encoding: 'raw' }],
      },
      /encoding of characters/,
    ],
    [
      {
        type: 'Tags',
        tagSize: 2,
        lengthSize: 2,
        parts: {
          '01': {
            name: 'nested',
            content: 'ans',
            max: 9,
            subFields: { type: 'Tags', tagSize: 0, lengthSize: 1 },
          },
        },
      },
      /tagSize from 1/,
    ],
  ];
  for (const [subFields, problem] of faults) {
    it(`is refused: ${problem.source}`, () => {
      const line: FieldFormat = { name: 'x', content: 'ans', size: 'LLL', max: 999, subFields };
      const table = { ...iso1987Ascii, fields: { 60: line } };
      assert.throws(
        () => compileDialect(table),
        (error) =>
          error instanceof Iso8583Error && error.field === 60 && problem.test(error.problem ?? ''),
      );
    });
  }
});
