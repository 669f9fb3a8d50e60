// The card data that the terminal reads: the EMV objects of a chip, or track 2.
import { createHmac } from 'node:crypto';
import type { CardEntry } from '@switchyard/contract';
import type { TestCard } from './test-cards.ts';

/** The transaction data that the chip objects depend on. */
export type ChipTransaction = {
  readonly amount: number;
  readonly cashback: number;
  /** ISO 4217, three digits. */
  readonly currencyNumeric: string;
  /** ISO 3166, three digits. */
  readonly countryNumeric: string;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Number of the transaction in the terminal. */
  readonly number: number;
  readonly entry: CardEntry;
  readonly isPinEntered: boolean;
  readonly unpredictable: Uint8Array;
  /** The decision of the chip: go online, approve, decline. */
  readonly decision: 'Online' | 'Approves' | 'Declines';
};

const cryptogramInformation = { Online: '80', Approves: '40', Declines: '00' } as const;
const transactionCounterMax = 65_535;
const cryptogramBytes = 8;
/** First digit 2: international card with a chip; 1: without a chip. */
const serviceCodes = { Chip: '201', Tap: '201', Keyed: '201', MagStripe: '101' } as const;

const hex = (value: number, bytes: number) =>
  value
    .toString(16)
    .toUpperCase()
    .padStart(bytes * 2, '0');

/** BER-TLV of objects of less than 128 bytes. */
function tlv(objects: Readonly<Record<string, string>>): string {
  return Object.entries(objects)
    .filter(([, value]) => value !== '')
    .map(([tag, value]) => tag + hex(value.length / 2, 1) + value)
    .join('');
}

/** Track 2 without sentinels. */
export function track2Of({ number, expiry }: TestCard, entry: CardEntry): string {
  return `${number}=${expiry}${serviceCodes[entry]}0000000000`;
}

/** Cardholder verification method results, tag 9F34: by enciphered PIN online, on paper, on the device, none. */
function verificationOf({ verification }: TestCard, isPinEntered: boolean): string {
  if (isPinEntered) return '420300';
  return { Pin: '1F0300', None: '1F0300', Signature: '1E0300', Device: '010002' }[verification];
}

/**
 * The EMV objects of a chip, in hexadecimal. The cryptogram covers the same objects as on a real chip; no issuer
 * has its key.
 */
export function buildChipData(card: TestCard, sale: ChipTransaction): string {
  const track = track2Of(card, sale.entry).replace('=', 'D');
  const counter = hex(sale.number % transactionCounterMax, 2);
  const day = new Date(sale.at).toISOString().slice(2, 10).replaceAll('-', '');
  const authenticatedObjects = {
    '9F02': String(sale.amount).padStart(12, '0'),
    '9F03': String(sale.cashback).padStart(12, '0'),
    '9F1A': sale.countryNumeric.padStart(4, '0'),
    '95': '0000008000',
    '5F2A': sale.currencyNumeric.padStart(4, '0'),
    '9A': day,
    '9C': '00',
    '9F37': Buffer.from(sale.unpredictable).toString('hex').toUpperCase(),
    '82': '1980',
    '9F36': counter,
  };
  const cryptogram = createHmac('sha256', card.number)
    .update(tlv(authenticatedObjects))
    .digest('hex')
    .slice(0, cryptogramBytes * 2)
    .toUpperCase();
  return tlv({
    '57': track.length % 2 === 0 ? track : `${track}F`,
    '5F34': '01',
    '84': card.applicationId,
    '50': Buffer.from(card.brand).toString('hex').toUpperCase(),
    ...authenticatedObjects,
    '9F10': '06010A03A00000',
    '9F26': cryptogram,
    '9F27': cryptogramInformation[sale.decision],
    '9F33': 'E0F8C8',
    '9F34': verificationOf(card, sale.isPinEntered),
    '9F35': '22',
  });
}
