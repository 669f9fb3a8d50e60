// The texts of the sign-in pages.
import { fillTemplate, minuteMs, type Translations } from '../../../platform/index.ts';
import german from './de.json' with { type: 'json' };
import english from './en.json' with { type: 'json' };
import french from './fr.json' with { type: 'json' };

export type PageTexts = typeof english;

export const pageTexts: Translations<PageTexts> = { en: english, fr: french, de: german };

/** A field that must be filled in. */
export function requiredFieldText(texts: PageTexts, label: string): string {
  return fillTemplate(texts.required, { label });
}

export function tooManyAttemptsText(
  { language, signInForm }: PageTexts,
  retryAfterSeconds: number,
): string {
  const count = Math.max(1, Math.ceil((retryAfterSeconds * 1000) / minuteMs));
  const isOne = new Intl.PluralRules(language).select(count) === 'one';
  return fillTemplate(isOne ? signInForm.tooManyAttempts_one : signInForm.tooManyAttempts_other, {
    count,
  });
}
