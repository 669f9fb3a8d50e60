/** Results of address verification (AVS) from hosts, and their meaning. */
import { defined } from './defined.ts';

/**
 * The result for one part of an address.
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
  /** The letter of the host, if it sent one. */
  readonly raw?: string;
};

type Checks = readonly [street: AddressCheck, postal: AddressCheck];

const allMatched: Checks = ['Matched', 'Matched'];
const street: Checks = ['Matched', 'NotMatched'];
const postal: Checks = ['NotMatched', 'Matched'];
const neither: Checks = ['NotMatched', 'NotMatched'];
const unchecked: Checks = ['NotChecked', 'NotChecked'];

/** The letters that all schemes use. C, E, G, I, R, S, U and all other letters mean not checked. */
const results: Readonly<Record<string, Checks>> = {
  Y: allMatched,
  X: allMatched,
  D: allMatched,
  M: allMatched,
  F: allMatched,
  A: street,
  B: ['Matched', 'NotChecked'],
  Z: postal,
  W: postal,
  P: ['NotChecked', 'Matched'],
  N: neither,
};

/**
 * Converts a host's letter to the result of the two address parts.
 *
 * @param raw - the letter; undefined if the host sent none
 * @returns both parts; an unknown letter means not checked
 * @example
 * addressVerificationOf('A'); // { street: 'Matched', postal: 'NotMatched', raw: 'A' }
 */
export function addressVerificationOf(raw: string | undefined): AddressVerification {
  const checks = raw !== undefined && Object.hasOwn(results, raw) ? results[raw] : undefined;
  const [ofStreet, ofPostal] = checks ?? unchecked;
  return { street: ofStreet, postal: ofPostal, ...defined({ raw }) };
}
