// Checks a new password: minimum length, and not easy to guess.
import { throwProblem } from '@switchyard/contract';
import type { User } from '../types.ts';
import type { PasswordStrength } from './password-strength.ts';
import { findLengthViolation, normalizePassword, type PasswordViolation } from './rules.ts';

const productName = 'switchyard';
/** Shorter words occur in too many good passwords. */
const minWordLength = 3;
/** Characters that a password must have besides the words of its user. */
const minOwnCharacters = 8;

type UserNames = Pick<User, 'username' | 'email' | 'givenName' | 'familyName' | 'phoneNumber'>;

const violationTexts: Readonly<Record<PasswordViolation, string>> = {
  too_short: 'The password needs at least 15 characters, or 12 with a second factor.',
  too_long: 'The password has more than 128 characters.',
  too_common: 'The password is easy to guess.',
};

export function createPasswordPolicy(strength: PasswordStrength) {
  /** Undefined if the password is allowed. The block list is not checked for random passwords. */
  async function findViolation(
    password: string,
    user: UserNames,
    userDomainId: string,
    hasSecondFactor: boolean,
    isRandom = false,
  ): Promise<PasswordViolation | undefined> {
    const lengthViolation = findLengthViolation(password, hasSecondFactor);
    if (lengthViolation !== undefined) return lengthViolation;
    const words = userWords(user, userDomainId);
    const text = normalizePassword(password);
    if (countOwnCharacters(text, words) < minOwnCharacters) return 'too_common';
    if (isRandom) return undefined;
    return (await strength.isCommon(text, words)) ? 'too_common' : undefined;
  }

  return {
    findViolation,

    /** Rejects with `field_invalid` and the text of the violation. */
    async requireAllowed(...input: Parameters<typeof findViolation>): Promise<void> {
      const violation = await findViolation(...input);
      if (violation !== undefined) throwProblem('field_invalid', violationTexts[violation]);
    },
  };
}

function userWords(user: UserNames, userDomainId: string): string[] {
  const texts = [
    user.username,
    user.email,
    user.givenName,
    user.familyName,
    user.phoneNumber,
    userDomainId,
    productName,
  ].filter((text) => text !== undefined);
  const parts = texts.flatMap((text) => [text, ...text.split(/[^\p{L}\p{N}]+/u)]);
  const words = parts.map((part) => part.toLowerCase());
  return [...new Set(words)].filter((word) => word.length >= minWordLength);
}

/** Removes the longest words first; otherwise a part of a long word would remain. */
function countOwnCharacters(password: string, words: readonly string[]): number {
  const longestFirst = words.toSorted((first, second) => second.length - first.length);
  const rest = longestFirst.reduce(
    (text, word) => text.replaceAll(word, ''),
    password.toLowerCase(),
  );
  return [...rest].length;
}
