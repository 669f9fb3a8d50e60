/** What the acquirer of the demo does for an amount, a card, an address: as it is built. */

/** The last four digits of an amount in minor units. */
export const amounts = {
  approved: [9000, 9008, 9011, 9010],
  declined: [9005, 9014, 9041, 9043, 9051, 9054, 9057, 9061, 9065, 9096],
  line: [9091, 9092, 9093, 9094, 9095, 9098],
} as const;

export type AmountGroup = keyof typeof amounts;
export const amountGroups = Object.keys(amounts) as AmountGroup[];

/** As they stand on a card. Numbers that the schemes publish for tests; the demo takes any with a right check digit. */
export const cards = [
  { name: 'visa', number: '4111 1111 1111 1111' },
  { name: 'mastercard', number: '5555 5555 5555 4444' },
  { name: 'discover', number: '6011 1111 1111 1117' },
  { name: 'silent', number: '4000 0000 0000 4202' },
  { name: 'refused', number: '4000 0000 0000 4210' },
] as const;

/** The answer to a postal code and a house number. */
export const addresses = [
  { name: 'match', zipCode: '1012AB', houseNumber: '14', letter: 'Y' },
  { name: 'street', zipCode: '10129', houseNumber: '14', letter: 'A' },
  { name: 'postal', zipCode: '1012AB', houseNumber: '19', letter: 'Z' },
  { name: 'none', zipCode: '10129', houseNumber: '19', letter: 'N' },
  { name: 'unknown', zipCode: '00000', houseNumber: '14', letter: 'U' },
] as const;

export const rightPin = '1234';
export const exampleCurrency = 'EUR';

/** As programs take it. */
export const digitsOf = (number: string): string => number.replaceAll(' ', '');
