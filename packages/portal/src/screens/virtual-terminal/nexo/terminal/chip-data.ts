/** Builds the chip data and the track data of a test card. */
import { testCardExpiry } from '../../card-expiry.ts';
import type { CardEntryMethod, TestCard } from './test-cards.ts';

/** The values that the chip data depends on. */
export type ChipSale = {
  readonly amount: number;
  /** ISO 4217, three digits. */
  readonly currencyNumeric: string;
  /** Epoch milliseconds. */
  readonly at: number;
  /** The transaction counter of the terminal. */
  readonly number: number;
  readonly way: CardEntryMethod;
  readonly isPinVerified: boolean;
  /** Eight hexadecimal digits from the terminal, sixteen from the card. */
  readonly unpredictable: string;
  readonly cryptogram: string;
};

const counterMost = 65_535;
/** France, the country of the demo merchant. */
const countryNumeric = '0250';

const hexOf = (value: number, bytes: number) =>
  value
    .toString(16)
    .toUpperCase()
    .padStart(bytes * 2, '0');

const hexOfText = (text: string) =>
  [...text].map((character) => hexOf(character.charCodeAt(0), 1)).join('');

/** BER-TLV for objects shorter than 128 bytes. */
const tlv = (objects: Readonly<Record<string, string>>): string =>
  Object.entries(objects)
    .filter(([, value]) => value !== '')
    .map(([tag, value]) => tag + hexOf(value.length / 2, 1) + value)
    .join('');

/** Service code 2 is an international chip card; 1 is a card without chip. */
export function track2Data({ number }: TestCard, way: CardEntryMethod, atMs: number): string {
  return `${number}=${testCardExpiry(atMs).yymm}${way === 'Swipe' ? '101' : '201'}0000000000`;
}

/** Tag 9F34: PIN verified by the chip, signature, verification on the device, or none. */
function verificationOf(
  { verification }: TestCard,
  way: CardEntryMethod,
  isPinVerified: boolean,
): string {
  if (isPinVerified) return '410302';
  if (verification === 'Device') return '010002';
  return way === 'Insert' && verification === 'Signature' ? '1E0300' : '1F0302';
}

/** The chip data in hexadecimal. */
export function chipObjects(card: TestCard, sale: ChipSale): string {
  const track = track2Data(card, sale.way, sale.at).replace('=', 'D');
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
