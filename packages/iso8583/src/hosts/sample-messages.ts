// Sample messages in canonical form: the check of host tables encodes them, and `switchyard dialect
// explain` prints them.
import type { Message, OriginalMessage, PaymentData } from '../message.ts';
import type { OperationName } from '../operation-names.ts';
import { sampleTags } from './chip-tags.ts';
import type { HostTable } from './host-table.ts';
import { fitIdentifiers } from './identifiers.ts';

// Amounts and trace numbers have no leading zeros, so that a layout which shortens them changes their value.
const saleAmount = '300000001234';
const reversedAmount = '100000000234';
const remainingAmount = '200000001000'.padEnd(42, '0');
const sampleCardNumber = '0'.repeat(16);
const terminalFields = { 32: '123456', 41: 'TERM0001', 42: 'M00000000000001', 49: '978' };
const cardFields = { ...terminalFields, 2: sampleCardNumber, 14: '3012', 18: '5411', 22: '051' };
const sampleTrack2 = `${sampleCardNumber}=3012201`.padEnd(37, '0');
const tipAndCashback = '0040978D0000000002000044978D000000000100';
const addressCheckAndSecurityCode = '8219123456789123456789092041234';
const sampleChipData = sampleTags
  .map(([tag, bytes]) => `${tag}${Buffer.of(bytes).toString('hex')}${'00'.repeat(bytes)}`)
  .join('')
  .toUpperCase();
const originalSale = '0200900001013112000000000123456'.padEnd(42, '0');

const originalMessage: OriginalMessage = {
  type: '0200',
  stan: '900001',
  sent: '0131120000',
  rrn: '603112900001',
  approval: 'A1B2C3',
  date: '0131',
  time: '130100',
  terminal: terminalFields[41],
  amount: saleAmount,
};

const reference = (number: number) => ({
  7: `0131120${number}00`,
  11: `90000${number}`,
  12: `130${number}00`,
  13: '0131',
  37: `60311290000${number}`,
});

const sampleData: PaymentData = {
  merchantName: 'EXAMPLE SHOP',
  merchantAddress: 'MAIN STREET 1',
  orderId: '4711',
};

// The samples together have each entry mode (22) and each optional field.
const platformSamples = {
  sale: {
    mti: '0200',
    fields: { ...cardFields, ...reference(1), 3: '000000', 4: saleAmount, 25: '00' },
  },
  chip: {
    mti: '0200',
    fields: {
      ...cardFields,
      ...reference(7),
      3: '090000',
      4: saleAmount,
      22: '071',
      23: '001',
      25: '00',
      35: sampleTrack2,
      52: '0'.repeat(16),
      53: '0001000000000000',
      54: tipAndCashback,
      55: sampleChipData,
    },
  },
  keyed: {
    mti: '0100',
    fields: {
      ...cardFields,
      ...reference(8),
      3: '000000',
      4: saleAmount,
      22: '012',
      25: '08',
      48: addressCheckAndSecurityCode,
    },
  },
  capture: {
    mti: '0220',
    original: originalMessage,
    fields: {
      ...cardFields,
      ...reference(2),
      3: '000000',
      4: saleAmount,
      22: '901',
      25: '00',
      38: 'A1B2C3',
      90: originalSale,
    },
  },
  refund: {
    mti: '0200',
    original: originalMessage,
    fields: {
      ...cardFields,
      ...reference(3),
      3: '200000',
      4: saleAmount,
      22: '911',
      25: '00',
      38: 'A1B2C3',
      90: originalSale,
    },
  },
  reversal: {
    mti: '0420',
    original: originalMessage,
    fields: {
      ...cardFields,
      ...reference(4),
      3: '000000',
      4: saleAmount,
      22: '801',
      25: '4021',
      90: originalSale,
    },
  },
  partial: {
    mti: '0420',
    original: originalMessage,
    fields: {
      ...cardFields,
      ...reference(5),
      3: '000000',
      4: reversedAmount,
      22: '011',
      25: '4000',
      38: 'A1B2C3',
      90: originalSale,
      95: remainingAmount,
    },
  },
  offline: {
    mti: '0220',
    fields: {
      ...cardFields,
      ...reference(6),
      3: '000000',
      4: saleAmount,
      25: '00',
      38: 'A1B2C3',
      39: '00',
    },
  },
  'sign-on': { mti: '0800', fields: { 7: '0131120900', 11: '900001', 70: '001' } },
  echo: { mti: '0800', fields: { 7: '0131121000', 11: '900002', 70: '301' } },
} as const satisfies { readonly [name: string]: Message };

const pinField = 52;
const pinBlockFormat4Bytes = 16;

/**
 * Messages that the platform sends to a host. A host without field 52 gets no PIN, and one with 16 bytes gets a PIN
 * block of format 4. Trace number, retrieval reference number, terminal and merchant have the lengths of their fields.
 *
 * @example
 * ```ts
 * const bytes = compileHost(table, { now: () => sampleTime }).encode(createPlatformSamples(table.messages).sale);
 * ```
 */
export function createPlatformSamples(messages: HostTable['messages']) {
  const { 52: pinBlock, 53: security, ...fields } = platformSamples.chip.fields;
  const format = messages.fields[pinField];
  const pin = format && {
    52: format.max < pinBlockFormat4Bytes ? pinBlock : pinBlock.repeat(2),
    53: security,
  };
  const samples = {
    ...platformSamples,
    chip: { ...platformSamples.chip, fields: { ...fields, ...pin } },
  };
  return mapSamples(samples, (sample) => fitIdentifiers({ ...sample, data: sampleData }, messages));
}

/**
 * A message of each operation.
 *
 * @example
 * ```ts
 * const bytes = compileHost(table, { now: () => sampleTime }).encode(createOperationSamples(table.messages).void);
 * ```
 */
export function createOperationSamples(messages: HostTable['messages']): {
  readonly [name in OperationName]: Message;
} {
  const { sale, chip, keyed, capture, refund, reversal, offline } = createPlatformSamples(messages);
  const { 48: _privateData, ...keyedFields } = keyed.fields;
  const authorizationFields = { ...keyedFields, 22: '011', 25: '00' };
  return {
    authorization: { mti: '0100', fields: authorizationFields },
    accountVerification: {
      mti: '0100',
      fields: { ...authorizationFields, 4: '0'.repeat(12), 25: '51' },
    },
    motoAuthorization: keyed,
    sale,
    cashback: chip,
    motoSale: { ...keyed, mti: '0200' },
    offlineSale: offline,
    capture,
    refund,
    void: { ...reversal, fields: { ...reversal.fields, 25: '4000', 38: 'A1B2C3' } },
    reversal,
  };
}

function mapSamples<Samples extends { readonly [name: string]: Message }>(
  samples: Samples,
  convert: (sample: Message) => Message,
): { [name in keyof Samples]: Message } {
  const converted = Object.entries(samples).map(([name, sample]) => [name, convert(sample)]);
  return Object.fromEntries(converted) as { [name in keyof Samples]: Message };
}

const hostSamples = {
  response: {
    mti: '0210',
    fields: {
      ...terminalFields,
      ...reference(1),
      3: '000000',
      4: saleAmount,
      38: 'A1B2C3',
      39: '00',
    },
  },
  key: {
    mti: '0800',
    fields: { 7: '0131121100', 11: '900003', 48: `MT01A1B2C3${'0'.repeat(32)}`, 70: '101' },
  },
} as const satisfies { readonly [name: string]: Message };

/**
 * Messages that a host sends to the platform.
 *
 * @example
 * ```ts
 * const { response } = createHostSamples(table.messages);
 * const bytes = compileHost(table, { now: () => sampleTime }).encode(response);
 * ```
 */
export const createHostSamples = (messages: HostTable['messages']) =>
  mapSamples(hostSamples, (sample) => fitIdentifiers(sample, messages));

/**
 * The time of the samples in milliseconds since 1970. It is fixed, so that their bytes never change.
 *
 * @example
 * ```ts
 * new Date(sampleTime).toISOString(); // '2026-01-31T12:00:00.000Z'
 * ```
 */
export const sampleTime = Date.UTC(2026, 0, 31, 12);
