// The tables of malformed input: the request, the expected error code, and the member in the
// pointer.
import { randomUUID } from 'node:crypto';
import type { ErrorCode } from '@switchyard/contract';
import { chipData, encodeTlv } from '../support/card-data/chip-data.ts';
import { keyedSale } from '../support/keyed-sale.ts';

export type BadInputCase = {
  name: string;
  body: unknown;
  code: ErrorCode;
  /** Null if no member is at fault; undefined if the table does not specify it. */
  pointer: string | null | undefined;
};

type Members = Record<string, unknown>;
type Row = readonly [members: Members, code: ErrorCode, pointer?: string | null];

export const unknownId = '019823f0-5d2c-7a31-9a53-0c6f1f2e9b11';
export const testPan = '4111111111111111';
const paidCard = { number: testPan, expiryMonth: 12, expiryYear: 2030 };
const x = (length: number) => 'x'.repeat(length);
const nameOf = (members: Members) => JSON.stringify(members).slice(0, 70);

/** The fault is in the first member of each row, unless the row names another pointer. */
function cases(
  rows: readonly Row[],
  bodyOf: (members: Members) => unknown,
  under = '',
  label = '',
): BadInputCase[] {
  return rows.map(([members, code, pointer = `${under}/${Object.keys(members)[0]}`]) => ({
    name: `${label}${nameOf(members)}`,
    body: bodyOf(members),
    code,
    pointer,
  }));
}

const required = ['clientTransactionId', 'amount', 'currency', 'entryMode', 'instrument'];
const id = 'client_id_invalid';
const invalid = 'field_invalid';
const unknown = 'field_unknown';

export const badSales: readonly BadInputCase[] = [
  ...required.map((name) => ({
    name: `no ${name}`,
    body: keyedSale({ [name]: undefined }),
    code: 'field_required' as const,
    pointer: `/${name}`,
  })),
  ...cases(
    [
      [{ amuont: 1 }, unknown],
      [{ toString: 'x' }, unknown],
      [{ constructor: 'x' }, unknown],
      [{ 'a/b~c': 1 }, unknown, '/a~1b~0c'],
      [{ [testPan]: 1 }, unknown, ''],
      [{ amount: '1234' }, 'amount_invalid'],
      [{ amount: null }, 'amount_invalid'],
      [{ amount: true }, 'amount_invalid'],
      [{ amount: { minor: 1 } }, 'amount_invalid'],
      [{ amount: 0 }, 'amount_zero'],
      [{ amount: -1 }, 'amount_invalid'],
      [{ amount: 1_000_000_000_000 }, 'amount_too_large'],
      [{ amount: 2 ** 53 }, 'amount_too_large'],
      [{ currency: 978 }, 'currency_unknown'],
      [{ currency: 'eur' }, 'currency_unknown'],
      [{ currency: 'EURO' }, 'currency_unknown'],
      [{ currency: 'QQQ' }, 'currency_unknown'],
      [{ currency: 'DEM' }, 'currency_unknown'],
      [{ currency: 'XXX' }, 'currency_unknown'],
      [{ currency: 'XTS' }, 'currency_unknown'],
      [{ clientTransactionId: 7 }, id],
      [{ clientTransactionId: '' }, id],
      [{ clientTransactionId: x(65) }, id],
      [{ clientTransactionId: 'a b' }, id],
      [{ clientTransactionId: '.' }, id],
      [{ clientTransactionId: '..' }, id],
      [{ clientTransactionId: 'a\n' }, id],
      [{ clientTransactionId: 'αβγ' }, id],
      [{ clientTransactionId: testPan }, id],
      [{ entryMode: 1 }, 'entry_mode_invalid'],
      [{ entryMode: 'keyed' }, 'entry_mode_invalid'],
      [{ entryMode: 'Swiped' }, 'entry_mode_invalid'],
      [{ entryMode: 'MagStripe' }, 'entry_mode_invalid'],
      [{ amounts: {} }, invalid],
      [{ amounts: { tip: 0 } }, 'amount_zero', '/amounts/tip'],
      [{ amounts: { tip: 1234 } }, 'amount_invalid', '/amounts'],
      [{ amounts: { tip: 10 ** 12 } }, 'amount_too_large', '/amounts/tip'],
      [{ amounts: { gift: 5 } }, unknown, '/amounts/gift'],
      [{ amounts: { cashback: 5 } }, 'entry_mode_invalid', '/entryMode'],
      [{ orderChannel: 'Phone' }, invalid],
      [{ orderChannel: 'MailOrder' }, 'moto_contact_required', '/instrument/address'],
      [{ zipCode: '75001', orderChannel: 'MailOrder' }, 'avs_data_required', '/houseNumber'],
      [{ houseNumber: '1', orderChannel: 'MailOrder' }, 'avs_data_required', '/zipCode'],
      [{ zipCode: '75001', houseNumber: '1' }, invalid],
      [{ houseNumber: '1' }, invalid],
      [{ zipCode: '' }, invalid],
      [{ zipCode: '12345678901' }, invalid],
      [{ zipCode: '7500_1' }, invalid],
      [{ houseNumber: 'one' }, invalid],
      [{ houseNumber: 1 }, invalid],
      [{ captureMode: 'Later' }, invalid],
      [{ partialApproval: 'yes' }, invalid],
      [{ notAfter: 5 }, invalid],
      [{ notAfter: '2030-01-01T00:00:00' }, invalid],
      [{ notAfter: '2030-02-30T00:00:00Z' }, invalid],
      [{ notAfter: '2020-01-01T00:00:00.000Z' }, 'too_late', null],
      [{ merchantId: 'm-1' }, invalid],
      [{ storeId: '' }, invalid],
      [{ deviceId: 4 }, invalid],
      [{ order: [] }, invalid],
      [{ order: { id: 'x' } }, unknown, '/order/id'],
      [{ order: { orderId: '' } }, invalid, '/order/orderId'],
      [{ order: { orderId: x(65) } }, invalid, '/order/orderId'],
      [{ order: { orderDescription: x(257) } }, invalid, '/order/orderDescription'],
      [{ order: { orderId: testPan } }, invalid],
      [{ metadata: 'x' }, invalid],
      [{ metadata: { n: 1 } }, invalid, '/metadata/n'],
      [{ metadata: { n: { a: 'b' } } }, invalid, '/metadata/n'],
      [{ metadata: { n: x(257) } }, invalid, '/metadata/n'],
      [{ metadata: { [x(41)]: 'x' } }, invalid, `/metadata/${x(41)}`],
      [{ metadata: Object.fromEntries([...Array(21).keys()].map((i) => [`n${i}`, 'x'])) }, invalid],
      [{ metadata: { note: 'pan 4111 1111 1111 1111' } }, invalid],
      [{ metadata: { [`k${testPan}`]: 'x' } }, invalid],
      [{ instrument: {} }, 'instrument_invalid'],
      [{ instrument: testPan }, invalid],
      [{ instrument: { cash: true } }, unknown, '/instrument/cash'],
      [
        { instrument: { address: { phone: '+331234567' } }, orderChannel: 'MailOrder' },
        'instrument_invalid',
      ],
      [
        { instrument: { card: paidCard, address: {} } },
        'moto_contact_required',
        '/instrument/address',
      ],
      [
        { instrument: { card: paidCard, address: { phone: '+331234567' } } },
        invalid,
        '/instrument/address',
      ],
      [
        { instrument: { card: paidCard, address: { phone: '0123' } }, orderChannel: 'MailOrder' },
        invalid,
        '/instrument/address/phone',
      ],
      [{ instrument: { track2: `${testPan}=30121010` } }, 'entry_mode_invalid', '/entryMode'],
      [{ instrument: { token: 'x', card: paidCard } }, 'instrument_invalid'],
      [{ instrument: { emvData: chipData(), card: paidCard } }, 'instrument_invalid'],
      [{ entryMode: 'ContactChip' }, 'entry_mode_invalid'],
    ],
    keyedSale,
  ),
  ...cases(
    [
      [{ token: '' }, 'card_token_unknown'],
      [{ token: 'a b' }, 'card_token_unknown'],
      [{ token: 'tok_1' }, 'card_token_unknown'],
      [{ token: randomUUID() }, 'card_token_unknown'],
      [{ token: x(65) }, invalid],
      [{ token: 5 }, invalid],
      [{ emvData: chipData() }, 'entry_mode_invalid', '/entryMode'],
    ],
    (instrument) => keyedSale({ instrument }),
    '/instrument',
  ),
  ...cases(
    [
      [{ track2: '' }, 'track_data_invalid'],
      [{ track2: 5 }, 'track_data_invalid'],
      [{ track2: `${testPan}=3012` }, 'track_data_invalid'],
      [{ track2: `${testPan}=30131010` }, 'track_data_invalid'],
      [{ track2: `${testPan}=3012101${'0'.repeat(40)}` }, 'track_data_invalid'],
      [{ track2: `${testPan.slice(0, 15)}2=30121010` }, 'track_data_invalid'],
      [{ track2: `${testPan}=20121010` }, 'card_expired_input', '/instrument'],
      [{ track2: `${testPan}=30122010` }, 'entry_mode_invalid', '/entryMode'],
      [{ card: paidCard }, 'entry_mode_invalid', '/entryMode'],
      [{ emvData: chipData() }, 'entry_mode_invalid', '/entryMode'],
    ],
    (instrument) => keyedSale({ entryMode: 'MagStripe', instrument }),
    '/instrument',
    'stripe ',
  ),
  ...cases(
    [
      [{ number: undefined }, 'field_required'],
      [{ expiryYear: undefined }, 'field_required'],
      [{ pin: '1234' }, unknown],
      [{ number: '4111111111111112' }, 'card_number_invalid'],
      [{ number: '41111111111' }, 'card_number_invalid'],
      [{ number: '41111111111111111111' }, 'card_number_invalid'],
      [{ number: '4111 1111 1111 1111' }, 'card_number_invalid'],
      [{ number: 4_111_111_111_111_111 }, 'card_number_invalid'],
      [{ number: '٤١١١١١١١١١١١١١١١' }, 'card_number_invalid'],
      [{ expiryYear: 2020 }, 'card_expired_input', '/instrument'],
      [{ expiryMonth: 0 }, invalid],
      [{ expiryMonth: 13 }, invalid],
      [{ expiryMonth: '12' }, invalid],
      [{ expiryYear: 30 }, invalid],
      [{ expiryYear: 2100 }, invalid],
      [{ securityCode: '12' }, invalid],
      [{ securityCode: '12345' }, invalid],
      [{ securityCode: 737 }, invalid],
      [{ holderName: '' }, invalid],
      [{ holderName: x(65) }, invalid],
    ],
    (card) => keyedSale({ instrument: { card: { ...paidCard, ...card } } }),
    '/instrument/card',
    'card ',
  ),
];

const chip = (emvData: unknown) => keyedSale({ entryMode: 'ContactChip', instrument: { emvData } });
const bent = (objects: Record<string, string | undefined>) => chipData(undefined, objects);

const chipRows: readonly (readonly [name: string, data: unknown, code: ErrorCode])[] = [
  ['no text', 57, 'emv_data_invalid'],
  ['no hexadecimal', 'zzzz', 'emv_data_invalid'],
  ['half a byte', '5713541', 'emv_data_invalid'],
  ['too long', '00'.repeat(1025), 'emv_data_invalid'],
  ['padding alone', '00000000', 'emv_data_invalid'],
  ['a length beyond the end', `${chipData()}9F2640`, 'emv_data_invalid'],
  ['a tag without length', `${chipData()}9F26`, 'emv_data_invalid'],
  ['an endless length', '5780', 'emv_data_invalid'],
  ['an object twice', chipData() + encodeTlv({ '9F02': '000000001234' }), 'emv_data_invalid'],
  ['no card', bent({ '57': undefined }), 'emv_data_invalid'],
  ['no expiry', bent({ '57': undefined, '5A': '5413330089010012' }), 'emv_data_invalid'],
  ['a track of letters', bent({ '57': 'ABCDEF' }), 'emv_data_invalid'],
  ['month 13', bent({ '57': '5413330089010012D30132010000000000' }), 'emv_data_invalid'],
  ['an amount of letters', bent({ '9F02': 'AABBCCDDEEFF' }), 'emv_data_invalid'],
  ['a cryptogram of two bytes', bent({ '9F26': '1122' }), 'emv_data_invalid'],
  ['expired', bent({ '57': '5413330089010012D20012010000000000' }), 'card_expired_input'],
  ['another amount', bent({ '9F02': '000000001235' }), 'emv_data_mismatch'],
  ['another currency', bent({ '5F2A': '0840' }), 'emv_data_mismatch'],
  ['another card in 5A', bent({ '5A': '5555555555554444' }), 'emv_data_mismatch'],
  ['another expiry in 5F24', bent({ '5F24': '291231' }), 'emv_data_mismatch'],
];

export const badChipData: readonly BadInputCase[] = chipRows.map(([name, data, code]) => ({
  name: `chip: ${name}`,
  body: chip(data),
  code,
  pointer: undefined,
}));

const shared: readonly Row[] = [
  [{ amount: 0 }, 'amount_zero'],
  [{ amount: -5 }, 'amount_invalid'],
  [{ amount: '5' }, 'amount_invalid'],
  [{ amount: 1_000_000_000_000 }, 'amount_too_large'],
  [{ ammount: 5 }, unknown],
  [{ clientOperationId: x(65) }, id],
  [{ clientOperationId: 5 }, id],
  [{ clientOperationId: 'a/b' }, id],
  [{ clientOperationId: testPan }, id],
];
const ofCurrency: readonly Row[] = [
  [{ currency: 'eur' }, 'currency_unknown'],
  [{ currency: 978 }, 'currency_unknown'],
  [{ currency: 'USD' }, 'currency_mismatch'],
];
const asSent = (members: Members) => members;

/** Faults against an authorised sale of 12.34 EUR. */
export const badOperations: Readonly<Record<string, readonly BadInputCase[]>> = {
  capture: cases(
    [
      ...shared,
      ...ofCurrency,
      [{ final: 'yes' }, invalid],
      [{ amount: 1235 }, 'capture_amount_exceeded'],
    ],
    asSent,
  ),
  refund: cases([...shared, ...ofCurrency, [{}, 'not_captured', null]], asSent),
  cancel: [
    ...cases(
      [...shared, ...ofCurrency, [{ amount: 1235 }, 'cancel_amount_exceeded']],
      (members) => ({
        cancelReason: 'Functional',
        ...members,
      }),
    ),
    ...cases(
      [
        [{}, 'field_required', '/cancelReason'],
        [{ cancelReason: 'functional' }, invalid],
        [{ reversalReason: 'Bored', cancelReason: 'Technical' }, invalid],
        [{ amount: 1, cancelReason: 'Technical' }, 'partial_reversal_not_supported'],
      ],
      asSent,
    ),
  ],
  refundbyweb: cases(
    [...shared, [{ currency: 'EUR' }, unknown], [{ amount: 1235 }, 'cancel_amount_exceeded']],
    asSent,
  ),
};

const urn = `urn:uuid:${unknownId}`;
const missing = { transactionId: unknownId };

export const badCaptureAlls: readonly BadInputCase[] = cases(
  [
    [{ all: true }, unknown],
    [{ clientOperationId: x(65) }, id],
    [{ clientOperationId: testPan }, id],
    [{ storeId: 'x' }, invalid],
    [{ storeId: urn }, invalid],
    [{ merchantId: urn }, invalid],
    [{ currency: 5 }, 'currency_unknown'],
    [{ authorizedBefore: '2026-01-01T00:00:00' }, invalid],
    [{ dryRun: 'true' }, invalid],
    [{ items: [] }, invalid],
    [{ items: {} }, invalid],
    [{ items: ['x'] }, invalid, '/items/0'],
    [{ items: [{ amount: 1 }] }, 'field_required', '/items/0/transactionId'],
    [{ items: [{ ...missing, amount: 0 }] }, 'amount_zero', '/items/0/amount'],
    [{ items: [{ ...missing, final: true }] }, unknown, '/items/0/final'],
    [{ items: [missing] }, 'transaction_not_found', '/items/0/transactionId'],
    [{ items: Array.from({ length: 5001 }, () => missing) }, invalid],
    [{ merchantId: unknownId }, 'entity_out_of_scope', null],
  ],
  asSent,
);

const sale = JSON.stringify(keyedSale());
const withAmount = (text: string) => sale.replace('"amount":1234', text);
const withNote = (text: string) => withAmount(`"amount":1234,"metadata":{${text}}`);

/** Bodies that are no JSON, or JSON with lost or hidden data. */
export const malformedBodies: readonly (readonly [string, string | Buffer])[] = [
  ['nothing', ''],
  ['blanks', ' \n'],
  ['half an object', '{"amount":1'],
  ['a comma too many', '{"amount":1,}'],
  ['two values', '{} {}'],
  ['a comment', '{/* */}'],
  ['single quotes', "{'amount':1}"],
  ['no quotes', '{amount:1}'],
  ['NaN', withAmount('"amount":NaN')],
  ['hexadecimal', withAmount('"amount":0x10')],
  ['a leading zero', withAmount('"amount":01234')],
  ['a plus sign', withAmount('"amount":+1234')],
  ['a byte order mark', `\uFEFF${sale}`],
  ['UTF-16', Buffer.from(sale, 'utf16le')],
  ['Latin-1', Buffer.from(withNote('"n":"café"'), 'latin1')],
  ['a member twice', withAmount('"amount":1234,"amount":1234')],
  ['a member twice, once escaped', withAmount('"amount":1,"\\u0061mount":1234')],
  ['a nested member twice', withNote('"n":"a","n":"b"')],
  ['10.0', withAmount('"amount":10.0')],
  ['12.34', withAmount('"amount":12.34')],
  ['1e3', withAmount('"amount":1e3')],
  ['1E3', withAmount('"amount":1E3')],
  ['minus zero', withAmount('"amount":-0')],
  ['a lone surrogate', withNote('"n":"\\ud800"')],
  ['a lone surrogate in a name', withNote('"\\udc00":"n"')],
  ['surrogates the wrong way round', withNote('"n":"\\udc00\\ud800"')],
  ['U+0000', withNote('"n":"a\\u0000b"')],
  ['a bare control character', withNote('"n":"a\u0000b"')],
  ['__proto__', withAmount('"amount":1234,"__proto__":{"approved":true}')],
  ['an escaped __proto__', withAmount('"amount":1234,"\\u005f_proto__":{}')],
  ['a nested __proto__', withNote('"__proto__":"x"')],
  ['constructor.prototype', withAmount('"amount":1234,"constructor":{"prototype":{}}')],
  ['33 levels', '['.repeat(33) + ']'.repeat(33)],
  ['33 levels in a member', withNote(`"n":${'{"a":'.repeat(31)}1${'}'.repeat(31)}`)],
];

/** JSON values that are no object. */
export const nonObjectBodies: readonly (readonly [string, string])[] = [
  ['a list', '[]'],
  ['a text', '"process"'],
  ['a number', '12'],
  ['null', 'null'],
  ['true', 'true'],
  ['32 levels', '['.repeat(32) + ']'.repeat(32)],
];
