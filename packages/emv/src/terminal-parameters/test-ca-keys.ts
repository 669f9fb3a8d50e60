/** Public keys of the certification authorities of the schemes' test sets: for test cards alone. */
import keySets from './test-ca-keys.json' with { type: 'json' };

/**
 * One key of a test set, with the check sum that was published for it.
 *
 * @example
 * testCaKeys.find(({ rid, index }) => rid === 'A000000003' && index === '92');
 */
export type TestCaKey = {
  readonly scheme: string;
  readonly rid: string;
  readonly index: string;
  /** The name of the set that the scheme publishes for tests. */
  readonly set: string;
  readonly modulus: string;
  readonly exponent: string;
  readonly sha1: string;
};

/**
 * The keys that sign test cards. All makers of test cards have the private keys: a terminal
 * in production that holds one of these keys takes a test card for a real one.
 *
 * @example
 * testCaKeys.every((key) => key.sha1 === caKeyCheckSum(key));
 */
export const testCaKeys: readonly TestCaKey[] = keySets.keys;
