/** What a card says to the terminal: the objects of its chip, or its stripe. */
import { expiryAt } from '../../card-expiry.ts';
import type { TestCard, Way } from './test-cards.ts';

/** What the objects depend on. */
export type ChipSale = {
  readonly amount: number;
  /** ISO 4217, three digits. */
  readonly currencyNumeric: string;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Counts the transactions of the terminal. */
  readonly number: number;
  readonly way: Way;
  readonly isPinVerified: boolean;
  /** Eight hexadecimal digits of the terminal, sixteen of the card. */
  readonly unpredictable: string;
  readonly cryptogram: string;
};

const counterMost = 65_535;
/** France: where the merchant of the demo stands. */
const countryNumeric = '0250';

const hexOf = (value: number, bytes: number) =>
  value
    .toString(16)
    .toUpperCase()
    .padStart(bytes * 2, '0');

const hexOfText = (text: string) =>
  [...text].map((character) => hexOf(character.charCodeAt(0), 1)).join('');

/** BER-TLV of objects of less than 128 bytes. */
const tlv = (objects: Readonly<Record<string, string>>): string =>
  Object.entries(objects)
    .filter(([, value]) => value !== '')
    .map(([tag, value]) => tag + hexOf(value.length / 2, 1) + value)
    .join('');

/** 2 is a chip that is used abroad too; a stripe without a chip says 1. */
export function trackOf({ number }: TestCard, way: Way, atMs: number): string {
  return `${number}=${expiryAt(atMs).yymm}${way === 'Swipe' ? '101' : '201'}0000000000`;
}

/** Tag 9F34: PIN that the chip has checked, signature, the holder's own device, or nothing. */
function verificationOf({ verification }: TestCard, way: Way, isPinVerified: boolean): string {
  if (isPinVerified) return '410302';
  if (verification === 'Device') return '010002';
  return way === 'Insert' && verification === 'Signature' ? '1E0300' : '1F0302';
}

/** The objects of a chip, in hexadecimal. */
export function chipObjects(card: TestCard, sale: ChipSale): string {
  const track = trackOf(card, sale.way, sale.at).replace('=', 'D');
  const day = new Date(sale.at).toISOString().slice(2, 10).replaceAll('-', '');
  return tlv({
    '57': track.length % 2 === 0 ? track : `${track}F`,
    '5F34': '01',
    '84': card.applicationId,
    '50': hexOfText(card.scheme),
    '82': '1980',
    '9A': day,
    '9C': '00',
    '5F2A': sale.currencyNumeric.padStart(4, '0'),
    '9F02': String(sale.amount).padStart(12, '0'),
    '9F03': '000000000000',
    '9F1A': countryNumeric,
    '9F26': sale.cryptogram,
    '9F27': '80',
    '9F10': '06010A03A00000',
    '9F33': 'E0F8C8',
    '9F34': verificationOf(card, sale.way, sale.isPinVerified),
    '9F35': '22',
    '9F36': hexOf(sale.number % counterMost, 2),
    '9F37': sale.unpredictable,
    '95': '0000008000',
  });
}
