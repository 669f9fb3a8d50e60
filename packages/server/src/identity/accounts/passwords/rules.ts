// Rules for passwords: normalization and length, without clock or database.

/** Alone, and where a second factor stands beside it (NIST SP 800-63B-4, 3.1.1.2). */
const leastCharacters = { alone: 15, withSecondFactor: 12 } as const;
export const passwordCharactersMax = 128;

export type PasswordFault = 'too_short' | 'too_long' | 'too_common';

/** As RFC 8265 prepares an OpaqueString: one form for each text, and one kind of space. */
export function preparedPassword(password: string): string {
  return password
    .toWellFormed()
    .replace(/\p{Zs}/gu, ' ')
    .normalize('NFC');
}

/** In code points of the prepared form. A text that no preparing could shorten enough is not counted. */
export function passwordLengthFault(
  password: string,
  hasSecondFactor: boolean,
): PasswordFault | undefined {
  if (password.length > passwordCharactersMax * 8) return 'too_long';
  const characters = [...preparedPassword(password)].length;
  if (characters > passwordCharactersMax) return 'too_long';
  const least = hasSecondFactor ? leastCharacters.withSecondFactor : leastCharacters.alone;
  return characters < least ? 'too_short' : undefined;
}
