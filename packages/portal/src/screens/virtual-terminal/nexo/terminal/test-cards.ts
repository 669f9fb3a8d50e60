/** The test cards of the simulated terminal and their capabilities. */

/** How a card is read. */
export const cardEntryMethods = ['Tap', 'Insert', 'Swipe', 'Key'] as const;
export type CardEntryMethod = (typeof cardEntryMethods)[number];

export type TestCard = {
  readonly name: 'mastercard' | 'visa' | 'phone' | 'signature' | 'stripe';
  readonly scheme: string;
  /** Published by the schemes for tests. */
  readonly number: string;
  /** The application identifier (AID); a magnetic stripe has none. */
  readonly applicationId: string;
  readonly ways: readonly CardEntryMethod[];
  /** The cardholder verification for inserted or swiped cards. */
  readonly verification: 'Pin' | 'Signature' | 'Device';
};

/** The PIN of all test cards. */
export const testCardPin = '1234';

const visa = 'A0000000031010';
const mastercard = 'A0000000041010';

export const testCards: readonly TestCard[] = [
  {
    name: 'mastercard',
    scheme: 'Mastercard',
    number: '5413330089010012',
    applicationId: mastercard,
    ways: ['Tap', 'Insert', 'Key'],
    verification: 'Pin',
  },
  {
    name: 'visa',
    scheme: 'Visa',
    number: '4111111111111111',
    applicationId: visa,
    ways: ['Tap', 'Insert', 'Key'],
    verification: 'Pin',
  },
  {
    name: 'phone',
    scheme: 'Mastercard',
    number: '5555555555554444',
    applicationId: mastercard,
    ways: ['Tap'],
    verification: 'Device',
  },
  {
    name: 'signature',
    scheme: 'Visa',
    number: '4111111111111111',
    applicationId: visa,
    ways: ['Insert', 'Key'],
    verification: 'Signature',
  },
  {
    name: 'stripe',
    scheme: 'Discover',
    number: '6011111111111117',
    applicationId: '',
    ways: ['Swipe', 'Key'],
    verification: 'Signature',
  },
];

/** Whether the check digit is correct (Luhn). */
export function passesLuhn(digits: string): boolean {
  const sum = [...digits].reverse().reduce((total, digit, at) => {
    const value = Number(digit) * (at % 2 === 0 ? 1 : 2);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return digits.length >= 12 && sum % 10 === 0;
}

/** The contactless limit without cardholder verification: 50 major units. */
export function contactlessLimit(exponent: number): number {
  return exponent === 0 ? 5_000 : 50 * 10 ** exponent;
}
