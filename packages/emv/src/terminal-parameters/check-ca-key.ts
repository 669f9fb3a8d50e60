/** The check sum of a public key of a certification authority, and what is wrong with such a key. */
import { createHash } from 'node:crypto';
import { isCalendarDay } from '../calendar-day.ts';
import { testCaKeys } from './test-ca-keys.ts';

/**
 * The check sum that schemes publish with their keys (EMV Book 2): SHA-1 over RID, index, modulus
 * and exponent. It finds a slip of the pen; it is no signature.
 *
 * @param key - all four in hexadecimal
 * @returns 40 hexadecimal digits, capital letters
 * @example
 * caKeyCheckSum({ rid: 'A000000003', index: '92', modulus, exponent: '03' });
 */
export function caKeyCheckSum(key: {
  readonly rid: string;
  readonly index: string;
  readonly modulus: string;
  readonly exponent: string;
}): string {
  const { rid, index, modulus, exponent } = key;
  const bytes = Buffer.from(`${rid}${index}${modulus}${exponent}`, 'hex');
  return createHash('sha1').update(bytes).digest('hex').toUpperCase();
}

const testModuli: ReadonlySet<string> = new Set(testCaKeys.map(({ modulus }) => modulus));

const bitsOfDigit = 4;

/** Faults of a key that a schema cannot express; `name` is RID and index, joined by a hyphen. */
export function caKeyFaults(
  name: string,
  key: Readonly<Record<string, unknown>>,
  allowsTestKeys: boolean,
): { member: string; detail: string }[] {
  const { modulus, exponent, sha1, keyLengthBits, expiresOn } = key;
  if (typeof modulus !== 'string' || typeof exponent !== 'string') return [];
  const [rid = '', index = ''] = name.split('-');
  const faults: { member: string; detail: string }[] = [];
  const requireThat = (holds: boolean, member: string, detail: string) => {
    if (!holds) faults.push({ member, detail });
  };
  const bits = modulus.length * bitsOfDigit;
  requireThat(bits === keyLengthBits, 'keyLengthBits', 'is not the length of the modulus');
  const isRsa = /^[89A-F].*[13579BDF]$/.test(modulus) && modulus.length % 2 === 0;
  requireThat(
    isRsa,
    'modulus',
    'is no modulus of RSA: whole bytes, the first bit and the last one set',
  );
  const sum = caKeyCheckSum({ rid, index, modulus, exponent });
  requireThat(sum === sha1, 'sha1', 'is not the check sum of RID, index, modulus and exponent');
  requireThat(isCalendarDay(String(expiresOn)), 'expiresOn', 'is not a valid date (YYYY-MM-DD)');
  const isTaken = allowsTestKeys || !testModuli.has(modulus);
  requireThat(isTaken, 'modulus', 'is a test key, which production does not take');
  return faults;
}
