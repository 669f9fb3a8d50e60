// Fields that a host table builds from payment data: messages by hand, and the tables that the check refuses.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Message } from '../message.ts';
import { compileHost } from './compile-host.ts';
import { readHostTable } from './read-host-table.ts';

const now = () => Date.UTC(2026, 10, 22, 2, 0, 0);

const hostOf = (members: object) =>
  compileHost(readHostTable({ name: 'toy', base: 'iso1987-ascii', ...members }), { now });

const sale = (members: Partial<Message> & { fields?: Message['fields'] } = {}): Message => ({
  mti: '0200',
  ...members,
  fields: {
    3: '000000',
    4: '000000001234',
    11: '000002',
    22: '051',
    41: 'TERM0001',
    ...members.fields,
  },
});

/** The bitmap of the fields 3, 4, 11, 22, 41 and one of 57 to 64. */
const start = (field: number, text: string) => {
  const last = (0x80 >>> (field - 57)).toString(16).padStart(2, '0').toUpperCase();
  return `020030200400008000${last}000000000000001234000002051TERM0001${text}`;
};
const text = { name: 'Private data', content: 'ans', size: 'LLL', max: 999 };

describe('a field built from payment data', () => {
  it('has the value of one source', () => {
    const host = hostOf({ contents: { 62: 'orderId' } });
    const bytes = host.encode(sale({ data: { orderId: '4711' } })).toString('latin1');
    assert.equal(bytes, start(62, '0044711'));
    assert.equal(host.decode(Buffer.from(bytes, 'latin1')).data?.orderId, '4711');
    assert.equal(host.encode(sale()).toString('latin1').length, start(62, '').length);
  });

  it('has codes of the host for values of the source', () => {
    const host = hostOf({ contents: { 61: { source: 'entryMode', codes: { '051': 'C' } } } });
    assert.equal(host.encode(sale()).toString('latin1'), start(61, '001C'));
    const keyed = host.encode(sale({ fields: { 22: '011' } })).toString('latin1');
    assert.ok(keyed.endsWith('003011'));
  });

  it('has free text that is cut, in the characters of the field', () => {
    const host = hostOf({
      contents: { 62: { source: 'merchantName', maxLength: 12 } },
    });
    const encode = (merchantName: string) =>
      host.encode(sale({ data: { merchantName } })).toString('latin1');
    assert.equal(encode('Café Łódź 東京 GmbH'), start(62, '012Caf\u00e9 ?\u00f3dz ??'));
  });

  it('is in payments in the field that has a new key in network messages', () => {
    const host = hostOf({ contents: { 48: { source: 'orderId' } } });
    const key = { 7: '0131121100', 11: '900003', 48: `MT01A1B2C3${'0'.repeat(32)}`, 70: '101' };
    const received = host.decode(host.encode({ mti: '0800', fields: key }));
    assert.deepEqual(received.fields, key);
    const { fields, data } = host.decode(host.encode(sale({ data: { orderId: '4711' } })));
    assert.deepEqual([fields[48], data?.orderId], [undefined, '4711']);
  });

  it('has tags with the security code and the address, which the host reads as field 48', () => {
    const parts = {
      10: { name: 'Security code', content: 'n', max: 4 },
      20: { name: 'Postal code', content: 'ans', max: 9 },
      30: { name: 'House number', content: 'ans', max: 10 },
      99: { name: 'Version', content: 'n', max: 1 },
    };
    const subFields = { type: 'Tags', tagSize: 2, lengthSize: 2, parts };
    const host = hostOf({
      omit: [48],
      messages: { fields: { 63: { ...text, subFields } } },
      contents: {
        63: {
          parts: {
            10: 'securityCode',
            20: 'postalCode',
            30: 'houseNumber',
            99: { constant: '1' },
          },
        },
      },
    });
    const privateData = '821012345    99203737';
    const bytes = host.encode(sale({ fields: { 48: privateData } })).toString('latin1');
    assert.equal(bytes, start(63, '02610037372005123453001999011'));
    assert.equal(host.decode(Buffer.from(bytes, 'latin1')).fields[48], privateData);
    assert.ok(
      !host.encode(sale()).toString('latin1').includes('9901'),
      'constants alone are not sent',
    );
  });

  it('has bits with one tag of the chip and the numbers of the original', () => {
    const bits = {
      2: { name: 'Cryptogram', content: 'b', size: 'fixed', max: 8, encoding: 'hexAscii' },
      3: { name: 'Original', content: 'n', size: 'fixed', max: 6 },
    };
    const subFields = { type: 'Bitmap', bitmap: 'hexAscii', bitmapBytes: 1, parts: bits };
    const host = hostOf({
      messages: { fields: { 60: { ...text, subFields } } },
      contents: { 60: { parts: { 2: 'chip.9F26' } } },
      operations: { refund: { contents: { 60: { parts: { 3: 'originalStan' } } } } },
    });
    const chip = '9F360200429F2608AABBCCDD11223344';
    const withChip = host.encode(sale({ fields: { 55: chip } })).toString('latin1');
    assert.ok(withChip.endsWith('01840AABBCCDD11223344'), withChip);
    const refund = sale({
      fields: { 3: '200000', 90: '0'.repeat(42) },
      original: { stan: '000001' },
    });
    const bytes = host.encode(refund).toString('latin1');
    assert.ok(bytes.includes('TERM000100820000001'), bytes);
  });

  it('is in EBCDIC and packed digits, if its format says so', () => {
    const parts = [
      {
        id: 'order',
        name: 'Order',
        content: 'ans',
        size: 'fixed',
        max: 20,
        fill: 'rightBlanks',
        trim: true,
      },
      { id: 'amount', name: 'Amount', content: 'n', size: 'fixed', max: 12 },
    ];
    const encodings = { text: 'ebcdic', numerics: 'bcd' };
    const host = hostOf({
      messages: {
        fields: {
          62: {
            name: 'Order data',
            content: 'b',
            size: 'LLL',
            max: 99,
            encoding: 'raw',
            subFields: { type: 'Positions', parts, encodings },
          },
        },
      },
      contents: {
        62: { parts: { order: { source: 'orderId', maxLength: 20 }, amount: 'amount' } },
      },
    });
    const bytes = host.encode(sale({ data: { orderId: 'A1' } }));
    assert.equal(bytes.subarray(-26).toString('hex'), `c1f1${'40'.repeat(18)}000000001234`);
    assert.equal(host.decode(bytes).data?.orderId, 'A1');
  });
});

describe('the data of a response', () => {
  const host = hostOf({
    responseContents: { 44: 'addressResult', 62: 'receiptText', 63: { parts: { 1: 'balance' } } },
    messages: {
      fields: {
        44: { name: 'Result', content: 'ans', size: 'LL', max: 25 },
        63: {
          ...text,
          subFields: {
            type: 'Tags',
            tagSize: 1,
            lengthSize: 2,
            parts: { 1: { name: 'Balance', content: 'an', max: 16 } },
          },
        },
      },
    },
  });
  // Bits: 39, 44, 62, 63.
  const answer = (balance: string) =>
    Buffer.from(`021000000000021000060001Y008THANKS !${balance}`, 'latin1');

  it('is part of the message, and in the field of the address check', () => {
    const { data, fields } = host.decode(answer('016113C000000000123'));
    assert.equal(fields[48], '8301Y');
    assert.equal(data?.receiptText, 'THANKS !');
    assert.equal(data?.balance, 'C000000000123');
  });

  it('is ignored, if the field is malformed', () => {
    const ignored: (number | undefined)[] = [];
    const errors = {
      canIgnore: host.canIgnoreField,
      onIgnored: (each: { field: number | undefined }) => ignored.push(each.field),
    };
    const { data } = host.decode(answer('003199'), errors);
    assert.equal(data?.receiptText, 'THANKS !');
    assert.deepEqual(ignored, [63]);
  });
});

describe('the check refuses', () => {
  const refusal = (members: object): string => {
    try {
      readHostTable({ name: 'toy', base: 'iso1987-ascii', ...members });
      return '';
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  };
  const positions = {
    ...text,
    subFields: {
      type: 'Positions',
      parts: [{ id: 'code', name: 'Code', content: 'n', size: 'fixed', max: 3 }],
    },
  };

  const twoParts = (members: object) => ({
    subFields: {
      type: 'Positions',
      parts: ['first', 'second'].map((id) => ({
        id,
        name: id,
        content: 'ans',
        size: 'fixed',
        max: 6,
        ...members,
      })),
    },
  });

  for (const [title, members, message] of [
    [
      'a source that does not exist',
      { contents: { 62: 'orderNumber' } },
      /^\/contents\/62 names the source orderNumber, which does not exist\. The sources are cardNumber, amount/,
    ],
    [
      'a source of requests in a response',
      { responseContents: { 62: 'cardNumber' } },
      /^\/responseContents\/62 names the source cardNumber, which does not exist/,
    ],
    [
      'a field that is too short for its source',
      { messages: { fields: { 62: { max: 5 } } }, contents: { 62: 'orderId' } },
      /^\/contents\/62 cannot hold the value #-O{18}… of 64 characters: it has a smaller maximum length\. Increase its max, or add maxLength to the source/,
    ],
    [
      'a field without the characters of a free text',
      { messages: { fields: { 62: { content: 'an' } } }, contents: { 62: 'orderId' } },
      /^\/contents\/62 cannot hold the value #-O{18}… of 64 characters: it does not allow these characters/,
    ],
    [
      'a part that the field does not have',
      { messages: { fields: { 62: positions } }, contents: { 62: { parts: { cvv: 'stan' } } } },
      /^\/contents\/62\/parts\/cvv cannot hold the value 900001: the field has no such part/,
    ],
    [
      'a part with another length than its source',
      { messages: { fields: { 62: positions } }, contents: { 62: { parts: { code: 'stan' } } } },
      /^\/contents\/62\/parts\/code cannot hold the value 900001: it has another fixed length/,
    ],
    [
      'a part that can be empty in front of another part',
      {
        messages: { fields: { 62: twoParts({}) } },
        contents: { 62: { parts: { first: 'stan', second: 'approvalCode' } } },
      },
      /^\/messages\/fields\/62\/subFields\/parts\/0 needs a fill, such as rightBlanks or leftZeros: the part first can be empty in front of the part second/,
    ],
    [
      'a fixed field that is longer than one of its parts',
      {
        messages: {
          fields: { 62: { ...twoParts({ fill: 'rightBlanks' }), size: 'fixed', max: 40 } },
        },
        contents: { 62: { parts: { first: 'stan' } } },
      },
      /^\/messages\/fields\/62 cannot hold the value 900001: it has another fixed length/,
    ],
    [
      'parts in EBCDIC in a field that is text',
      {
        messages: {
          fields: {
            62: { subFields: { ...twoParts({}).subFields, encodings: { text: 'ebcdic' } } },
          },
        },
      },
      /^\/messages\/fields\/62 must have subFields without EBCDIC, .*: remove the encodings, or use the content b/,
    ],
    [
      'parts of a field without structure',
      { contents: { 62: { parts: { 1: 'stan' } } } },
      /^\/contents\/62 needs a structure: add subFields to \/messages\/fields\/62/,
    ],
    [
      'the field of the amount',
      { contents: { 4: 'tip' } },
      /^\/contents\/4 is not allowed: field 4 contains the amount/,
    ],
    [
      'a field of another member',
      { operations: { sale: { contents: { 90: 'stan' } } } },
      /^\/operations\/sale\/contents\/90 is not allowed/,
    ],
  ] as const)
    it(title, () => assert.match(refusal(members), message));
});
