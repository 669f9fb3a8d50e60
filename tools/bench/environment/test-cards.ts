// Makes the cards of the load: valid numbers without a cardholder, and the chip data of a sale with one.

import { passesLuhn } from '@switchyard/contract';

/** Issuer prefixes of test ranges with 16 digits: Visa, Mastercard, Mastercard's second range. */
const prefixes = ['411111', '541333', '222300'];
const numberLength = 16;

export type Card = { number: string; expiryMonth: number; expiryYear: number };

const lastYear = 2049;
const monthsOfYear = 12;

/** Different numbers, the same for the same source of chance. */
export function makeCards(count: number, random: () => number): Card[] {
  const numbers = new Set<string>();
  while (numbers.size < count) {
    const prefix = prefixes[numbers.size % prefixes.length] ?? '';
    const free = numberLength - prefix.length - 1;
    const digits = prefix + String(Math.floor(random() * 10 ** free)).padStart(free, '0');
    // Exactly one of the ten check digits is valid.
    for (const check of '0123456789') {
      if (passesLuhn(digits + check)) numbers.add(digits + check);
    }
  }
  return [...numbers].map((number) => ({
    number,
    expiryMonth: 1 + Math.floor(random() * monthsOfYear),
    expiryYear: lastYear - Math.floor(random() * 10),
  }));
}

const two = (value: number) => String(value).padStart(2, '0');
const digits = (value: number, length: number) => String(value).padStart(length, '0');

/** One data object, BER-TLV; all of ours are shorter than 128 bytes. */
function tlv(tag: string, hex: string): string {
  return tag + (hex.length / 2).toString(16).padStart(2, '0').toUpperCase() + hex;
}

/**
 * Chip data of a contact sale as a kernel gives it to the till, hex.
 *
 * Source: EMV Book 3, annex A; EMV Book 4, 12.1.1.
 *
 * @param amount minor units
 * @param currency ISO 4217 numeric, three digits
 */
export function chipData(
  card: Card,
  sale: { amount: number; currency: string; unpredictable: string; counter: number },
): string {
  const expiry = two(card.expiryYear % 100) + two(card.expiryMonth);
  const track2 = `${card.number}D${expiry}2010000000000000`;
  return [
    tlv('57', track2.length % 2 === 0 ? track2 : `${track2}F`),
    tlv('5F34', '01'),
    tlv('84', 'A0000000041010'),
    tlv('82', '1980'),
    tlv('9A', '260112'),
    tlv('9C', '00'),
    tlv('5F2A', `0${sale.currency}`),
    tlv('9F02', digits(sale.amount, 12)),
    tlv('9F03', digits(0, 12)),
    tlv('9F1A', '0250'),
    tlv('9F26', `${sale.unpredictable}${sale.unpredictable}`),
    tlv('9F27', '80'),
    tlv('9F10', '0110A00003220000000000000000000000FF'),
    tlv('9F33', 'E0F8C8'),
    tlv('9F34', '420300'),
    tlv('9F36', sale.counter.toString(16).padStart(4, '0').toUpperCase()),
    tlv('95', '0000008000'),
    tlv('9F37', sale.unpredictable),
  ].join('');
}
