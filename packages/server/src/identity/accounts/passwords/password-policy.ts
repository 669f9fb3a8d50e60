// Judges a new password: long enough for what stands beside it, and not among those that are tried first.
import { refuse } from '@switchyard/contract';
import type { User } from '../types.ts';
import type { PasswordStrength } from './password-strength.ts';
import { type PasswordFault, passwordLengthFault, preparedPassword } from './rules.ts';

const product = 'switchyard';
/** Shorter ones stand in too many honest passwords. */
const leastWordChars = 3;
/** What has to be left of a password without the words of its user. */
const leastOwnChars = 8;

type Named = Pick<User, 'username' | 'email' | 'givenName' | 'familyName' | 'phoneNumber'>;

const sentences: Readonly<Record<PasswordFault, string>> = {
  too_short: 'The password needs 15 characters, or 12 beside a second factor.',
  too_long: 'The password has more than 128 characters.',
  too_common: 'The password is easy to guess.',
};

export function createPasswordPolicy(strength: PasswordStrength) {
  /** Undefined: it may be used. What a machine made at random was nobody's choice, and is in no list. */
  async function fault(
    password: string,
    user: Named,
    userDomainId: string,
    hasSecondFactor: boolean,
    isRandom = false,
  ): Promise<PasswordFault | undefined> {
    const length = passwordLengthFault(password, hasSecondFactor);
    if (length !== undefined) return length;
    const words = wordsOf(user, userDomainId);
    const text = preparedPassword(password);
    if (ownChars(text, words) < leastOwnChars) return 'too_common';
    if (isRandom) return undefined;
    return (await strength.isCommon(text, words)) ? 'too_common' : undefined;
  }

  return {
    fault,

    /** Rejects with `field_invalid` and the sentence of the fault. */
    async check(...judged: Parameters<typeof fault>): Promise<void> {
      const found = await fault(...judged);
      if (found !== undefined) refuse('field_invalid', sentences[found]);
    },
  };
}

function wordsOf(user: Named, userDomainId: string): string[] {
  const texts = [
    user.username,
    user.email,
    user.givenName,
    user.familyName,
    user.phoneNumber,
    userDomainId,
    product,
  ].filter((text) => text !== undefined);
  const parts = texts.flatMap((text) => [text, ...text.split(/[^\p{L}\p{N}]+/u)]);
  const words = parts.map((part) => part.toLowerCase());
  return [...new Set(words)].filter((word) => word.length >= leastWordChars);
}

/** The longest word first, or a part of it would be left. */
function ownChars(password: string, words: readonly string[]): number {
  const longestFirst = words.toSorted((one, other) => other.length - one.length);
  const rest = longestFirst.reduce(
    (text, word) => text.replaceAll(word, ''),
    password.toLowerCase(),
  );
  return [...rest].length;
}
