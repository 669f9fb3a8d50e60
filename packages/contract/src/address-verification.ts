/** Results of address verification (AVS) as hosts tell them, and what they say. */
import { defined } from './defined.ts';

/**
 * What became of one part of an address.
 *
 * @example
 * addressChecks.includes('NotChecked'); // true
 */
export const addressChecks = ['Matched', 'NotMatched', 'NotChecked'] as const;
/** One of {@link addressChecks}. */
export type AddressCheck = (typeof addressChecks)[number];

/**
 * A result of address verification: `street` is the house number, `postal` the postal code.
 *
 * @example
 * const result: AddressVerification = { street: 'Matched', postal: 'NotMatched', raw: 'A' };
 */
export type AddressVerification = {
  readonly street: AddressCheck;
  readonly postal: AddressCheck;
  /** The letter of the host, where it gave one. */
  readonly raw?: string;
};

type Checks = readonly [street: AddressCheck, postal: AddressCheck];

const both: Checks = ['Matched', 'Matched'];
const street: Checks = ['Matched', 'NotMatched'];
const postal: Checks = ['NotMatched', 'Matched'];
const neither: Checks = ['NotMatched', 'NotMatched'];
const unchecked: Checks = ['NotChecked', 'NotChecked'];

/** The letters that the schemes share; C, E, G, I, R, S, U and any other say that nothing was checked. */
const results: Readonly<Record<string, Checks>> = {
  Y: both,
  X: both,
  D: both,
  M: both,
  F: both,
  A: street,
  B: ['Matched', 'NotChecked'],
  Z: postal,
  W: postal,
  P: ['NotChecked', 'Matched'],
  N: neither,
};

/**
 * What a host's letter says of the two parts of an address.
 *
 * @param raw - the letter; left out where the host gave none
 * @returns both parts; an unknown letter has checked nothing
 * @example
 * addressVerificationOf('A'); // { street: 'Matched', postal: 'NotMatched', raw: 'A' }
 */
export function addressVerificationOf(raw: string | undefined): AddressVerification {
  const known = raw !== undefined && Object.hasOwn(results, raw) ? results[raw] : undefined;
  const [ofStreet, ofPostal] = known ?? unchecked;
  return { street: ofStreet, postal: ofPostal, ...defined({ raw }) };
}
