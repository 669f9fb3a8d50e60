// Rules for passwords: normalization and length, without clock or database.

/** NIST SP 800-63B-4, 3.1.1.2. */
const minLengths = { withoutSecondFactor: 15, withSecondFactor: 12 } as const;
export const maxPasswordLength = 128;

export type PasswordViolation = 'too_short' | 'too_long' | 'too_common';

/** The OpaqueString profile of RFC 8265: one Unicode form and one kind of space. */
export function normalizePassword(password: string): string {
  return password
    .toWellFormed()
    .replace(/\p{Zs}/gu, ' ')
    .normalize('NFC');
}

/** Counts code points of the normalized form; does not count a text that is too long in every form. */
export function findLengthViolation(
  password: string,
  hasSecondFactor: boolean,
): PasswordViolation | undefined {
  if (password.length > maxPasswordLength * 8) return 'too_long';
  const characters = [...normalizePassword(password)].length;
  if (characters > maxPasswordLength) return 'too_long';
  const minLength = hasSecondFactor ? minLengths.withSecondFactor : minLengths.withoutSecondFactor;
  return characters < minLength ? 'too_short' : undefined;
}
