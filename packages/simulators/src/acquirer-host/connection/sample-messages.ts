// Sample messages of a host table: their bytes, and the fields as the host receives them.
import {
  compileDialect,
  compileHost,
  encodeFrame,
  type HostTable,
  Iso8583Error,
  type Message,
} from '@switchyard/iso8583';
import { computeMac } from './exchange-keys.ts';

const sampleCardNumber = '0'.repeat(16);
const terminalFields = { 32: '123456', 41: 'TERM0001', 42: 'M00000000000001', 49: '978' };
const cardFields = { ...terminalFields, 2: sampleCardNumber, 14: '3012', 18: '5411', 22: '051' };
const amount = '000000001234';
const originalSale = '0200000001013112000000000123456'.padEnd(42, '0');
const saleReference = { 7: '0131120000', 11: '000001', 37: '603112000001' };
const saleTime = { 12: '130000', 13: '0131' };

/** The reference of a later message of the same terminal. */
const reference = (number: number) => ({
  7: `01311200${number}0`,
  11: `00000${number}`,
  12: `1300${number}0`,
  13: '0131',
  37: `60311200000${number}`,
});

const samples: Readonly<Record<string, Message>> = {
  sale: {
    mti: '0200',
    fields: { ...cardFields, ...saleReference, ...saleTime, 3: '000000', 4: amount, 25: '00' },
  },
  response: {
    mti: '0210',
    fields: {
      ...terminalFields,
      ...saleReference,
      ...saleTime,
      3: '000000',
      4: amount,
      38: 'A1B2C3',
      39: '00',
    },
  },
  capture: {
    mti: '0220',
    fields: {
      ...cardFields,
      ...reference(2),
      3: '000000',
      4: amount,
      25: '00',
      38: 'A1B2C3',
      90: originalSale,
    },
  },
  refund: {
    mti: '0200',
    fields: {
      ...cardFields,
      ...reference(3),
      3: '200000',
      4: amount,
      25: '00',
      38: 'A1B2C3',
      90: originalSale,
    },
  },
  reversal: {
    mti: '0420',
    fields: {
      ...cardFields,
      ...reference(4),
      3: '000000',
      4: amount,
      25: '4021',
      90: originalSale,
    },
  },
  partial: {
    mti: '0420',
    fields: {
      ...cardFields,
      ...reference(5),
      3: '000000',
      4: '000000000234',
      25: '4000',
      38: 'A1B2C3',
      90: originalSale,
      95: '000000001000'.padEnd(42, '0'),
    },
  },
  'sign-on': { mti: '0800', fields: { 7: '0131120060', 11: '000001', 70: '001' } },
  echo: { mti: '0800', fields: { 7: '0131120070', 11: '000002', 70: '301' } },
  key: {
    mti: '0800',
    fields: { 7: '0131120080', 11: '000003', 48: `MT01A1B2C3${'0'.repeat(32)}`, 70: '101' },
  },
};

/** Fixed date of the samples, so that their bytes never change. */
const sampleDay = Date.UTC(2026, 0, 31, 12);
/** Samples use a key of zeros for message authentication. */
const sampleKey = Buffer.alloc(16);

/**
 * For each sample a line with its name and its bytes in hexadecimal, with frame and authentication
 * code, and a line for each field.
 */
export function sampleLines(table: HostTable): string {
  const host = compileHost(table, { now: () => sampleDay });
  const hostForm = compileDialect(table.messages);
  const { framing } = host;
  const tpdu = Buffer.from(table.framing.tpdu ?? '', 'hex');
  const extra = (framing.tpduBytes ?? 0) === 0 ? {} : { tpdu };
  const bytesOf = (message: Message): Buffer => {
    if (table.mac === undefined || !host.requiresMac(message.mti)) return host.encode(message);
    const { over, seal } = host.encodeWithoutMac(message);
    return seal(computeMac(table.mac.algorithm, sampleKey, over));
  };
  const fieldLines = ({ mti, fields }: Message) => {
    const lines = Object.entries(fields).map(([field, value]) => {
      const name = table.messages.fields[Number(field)]?.name ?? '';
      return `  ${field.padStart(3)}  ${name}: ${value}\n`;
    });
    return [`  MTI  ${mti}\n`, ...lines].join('');
  };
  const linesOf = ([name, message]: [string, Message]): string => {
    try {
      const payload = bytesOf(message);
      const frame = encodeFrame(framing, payload, extra).toString('hex').toUpperCase();
      return `${name.padEnd(9)} ${frame}\n${fieldLines(hostForm.decode(payload))}`;
    } catch (error) {
      if (!(error instanceof Iso8583Error)) throw error;
      return `${name.padEnd(9)} cannot be encoded: ${error.message}\n`;
    }
  };
  return `${table.name} can be spoken.\n${Object.entries(samples).map(linesOf).join('')}`;
}
