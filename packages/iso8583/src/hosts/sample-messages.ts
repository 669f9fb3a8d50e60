// Sample messages in canonical form: the check of host tables encodes them, and the acquirer host prints them.
import type { Message } from '../message.ts';

// Amounts and trace numbers have no leading zeros, so that a layout which shortens them changes their value.
const saleAmount = '300000001234';
const reversedAmount = '100000000234';
const remainingAmount = '200000001000'.padEnd(42, '0');
const sampleCardNumber = '0'.repeat(16);
const terminalFields = { 32: '123456', 41: 'TERM0001', 42: 'M00000000000001', 49: '978' };
const cardFields = { ...terminalFields, 2: sampleCardNumber, 14: '3012', 18: '5411', 22: '051' };
const originalSale = '0200900001013112000000000123456'.padEnd(42, '0');

const reference = (number: number) => ({
  7: `01311200${number}0`,
  11: `90000${number}`,
  12: `1300${number}0`,
  13: '0131',
  37: `60311290000${number}`,
});

/**
 * Messages that the platform sends to a host.
 *
 * @example
 * ```ts
 * const bytes = compileHost(table, { now: () => sampleTime }).encode(platformSamples.sale);
 * ```
 */
export const platformSamples = {
  sale: {
    mti: '0200',
    fields: { ...cardFields, ...reference(1), 3: '000000', 4: saleAmount, 25: '00' },
  },
  capture: {
    mti: '0220',
    fields: {
      ...cardFields,
      ...reference(2),
      3: '000000',
      4: saleAmount,
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
      4: saleAmount,
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
      4: saleAmount,
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
      4: reversedAmount,
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
  'sign-on': { mti: '0800', fields: { 7: '0131120070', 11: '900001', 70: '001' } },
  echo: { mti: '0800', fields: { 7: '0131120080', 11: '900002', 70: '301' } },
} as const satisfies { readonly [name: string]: Message };

/**
 * Messages that a host sends to the platform.
 *
 * @example
 * ```ts
 * const bytes = compileHost(table, { now: () => sampleTime }).encode(hostSamples.response);
 * ```
 */
export const hostSamples = {
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
    fields: { 7: '0131120090', 11: '900003', 48: `MT01A1B2C3${'0'.repeat(32)}`, 70: '101' },
  },
} as const satisfies { readonly [name: string]: Message };

/**
 * The time of the samples in milliseconds since 1970. It is fixed, so that their bytes never change.
 *
 * @example
 * ```ts
 * new Date(sampleTime).toISOString(); // '2026-01-31T12:00:00.000Z'
 * ```
 */
export const sampleTime = Date.UTC(2026, 0, 31, 12);
