/** The responses of the simulated acquirer by amount, card and address. */

/** The last four digits of an amount in minor units. */
export const amountResults = {
  approved: [9000, 9008, 9011, 9010],
  declined: [9005, 9014, 9041, 9043, 9051, 9054, 9057, 9061, 9065, 9096],
  line: [9091, 9092, 9093, 9094, 9095, 9098],
} as const;

export type AmountGroup = keyof typeof amountResults;
export const amountGroups = Object.keys(amountResults) as AmountGroup[];

/**
 * Test card numbers of the schemes, in groups of four digits. The demo accepts any number with a
 * correct check digit.
 */
export const testCards = [
  { name: 'visa', number: '4111 1111 1111 1111' },
  { name: 'mastercard', number: '5555 5555 5555 4444' },
  { name: 'discover', number: '6011 1111 1111 1117' },
  { name: 'silent', number: '4000 0000 0000 4202' },
  { name: 'refused', number: '4000 0000 0000 4210' },
] as const;

/** The AVS response to a postal code and a house number. */
export const addressResults = [
  { name: 'match', zipCode: '1012AB', houseNumber: '14', letter: 'Y' },
  { name: 'street', zipCode: '10129', houseNumber: '14', letter: 'A' },
  { name: 'postal', zipCode: '1012AB', houseNumber: '19', letter: 'Z' },
  { name: 'none', zipCode: '10129', houseNumber: '19', letter: 'N' },
  { name: 'unknown', zipCode: '00000', houseNumber: '14', letter: 'U' },
] as const;

export const acceptedPin = '1234';
export const exampleCurrency = 'EUR';

/** Removes the spaces between the digit groups. */
export const withoutSpaces = (number: string): string => number.replaceAll(' ', '');
