// Judges a new password that somebody typed twice, in the words of the page.
import type { User } from '../../accounts/index.ts';
import type { Faults } from '../html/form-fields.ts';
import type { Words } from '../locales/languages.ts';
import type { PagesDeps } from './dependencies.ts';

/** Alone, and where a second factor stands beside it. */
const leastAlone = 15;
const leastWithSecondFactor = 12;

export const hasSecondFactor = ({ secondFactor }: User): boolean => secondFactor !== 'Off';

export function leastLength(user: User): number {
  return hasSecondFactor(user) ? leastWithSecondFactor : leastAlone;
}

export async function newPasswordFaults(
  accounts: PagesDeps['accounts'],
  words: Words,
  user: User,
  { password = '', repeated = '' }: Readonly<Record<string, string>>,
): Promise<Faults> {
  const { password: says, fields, required } = words;
  if (password === '') return { password: required(fields.newPassword) };
  const fault = await accounts.passwordFault(password, user, hasSecondFactor(user));
  if (fault === 'too_short') return { password: says.too_short(leastLength(user)) };
  if (fault !== undefined) return { password: says[fault] };
  return password === repeated ? {} : { repeated: says.different };
}
