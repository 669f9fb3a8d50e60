/** The cards in the wallet beside the simulated terminal: what they are, and what they can do. */

/** How a card meets the terminal. */
export const ways = ['Tap', 'Insert', 'Swipe', 'Key'] as const;
export type Way = (typeof ways)[number];

export type TestCard = {
  readonly name: 'mastercard' | 'visa' | 'phone' | 'signature' | 'stripe';
  readonly scheme: string;
  /** Published by the schemes for tests. */
  readonly number: string;
  /** Of its application; a stripe has none. */
  readonly applicationId: string;
  readonly ways: readonly Way[];
  /** How its holder is verified where the card is inserted or swiped. */
  readonly verification: 'Pin' | 'Signature' | 'Device';
};

/** The right PIN of all of them. */
export const rightPin = '1234';

const visa = 'A0000000031010';
const mastercard = 'A0000000041010';

export const walletCards: readonly TestCard[] = [
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

/** Whether the last digit is the one that the others ask for. */
export function passesLuhn(digits: string): boolean {
  const sum = [...digits].reverse().reduce((total, digit, at) => {
    const value = Number(digit) * (at % 2 === 0 ? 1 : 2);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return digits.length >= 12 && sum % 10 === 0;
}

/** Above it a tapped card is inserted, and its holder verified: 50 of what most currencies count in. */
export function tapLimit(exponent: number): number {
  return exponent === 0 ? 5_000 : 50 * 10 ** exponent;
}
