// Checks a new password and its repetition, and returns the texts of the errors.
import { fillTemplate } from '../../../platform/index.ts';
import type { User } from '../../accounts/index.ts';
import type { FieldErrors } from '../html/form-fields.ts';
import { type PageTexts, requiredFieldText } from '../locales/page-texts.ts';
import type { LoginPageDependencies } from './dependencies.ts';

/** Minimum lengths of a password. */
const minLengthWithoutSecondFactor = 15;
const minLengthWithSecondFactor = 12;

export const hasSecondFactor = ({ secondFactor }: User): boolean => secondFactor !== 'Off';

export function minPasswordLength(user: User): number {
  return hasSecondFactor(user) ? minLengthWithSecondFactor : minLengthWithoutSecondFactor;
}

export async function findNewPasswordErrors(
  accounts: LoginPageDependencies['accounts'],
  texts: PageTexts,
  user: User,
  { password = '', repeated = '' }: Readonly<Record<string, string>>,
): Promise<FieldErrors> {
  const { password: passwordTexts, fields } = texts;
  if (password === '') return { password: requiredFieldText(texts, fields.newPassword) };
  const violation = await accounts.findPasswordViolation(password, user, hasSecondFactor(user));
  if (violation === 'too_short')
    return { password: fillTemplate(passwordTexts.too_short, { length: minPasswordLength(user) }) };
  if (violation !== undefined) return { password: passwordTexts[violation] };
  return password === repeated ? {} : { repeated: passwordTexts.different };
}
