// The texts of the sign-in pages by language, and the choice of the language for a browser.
import { fillTemplate } from '../../../platform/index.ts';
import german from './de.json' with { type: 'json' };
import english from './en.json' with { type: 'json' };
import french from './fr.json' with { type: 'json' };

export type PageTexts = typeof english;

export const textsByLanguage = { en: english, fr: french, de: german } as const satisfies Record<
  string,
  PageTexts
>;
export type Language = keyof typeof textsByLanguage;

/** Used if the request names no supported language. */
const fallbackLanguage: Language = 'en';
/** Limits the work for a long header. */
const maxLanguageRanges = 20;

export function isLanguage(text: string | undefined): text is Language {
  return text !== undefined && Object.hasOwn(textsByLanguage, text);
}

/** `fr-CA` matches French; the first supported tag wins. */
function findFirstSupported(tags: readonly string[]): Language | undefined {
  return tags.map((tag) => tag.toLowerCase().split('-', 1)[0]).find(isLanguage);
}

/** Parses Accept-Language (RFC 9110, 12.5.4), most preferred first. */
function parseAcceptLanguage(header: string): string[] {
  return header
    .split(',', maxLanguageRanges)
    .map((entry) => {
      const [tag = '', ...parameters] = entry.split(';').map((part) => part.trim());
      const weight = parameters.find((parameter) => parameter.startsWith('q='));
      return { tag, quality: weight === undefined ? 1 : Number(weight.slice(2)) || 0 };
    })
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality)
    .map(({ tag }) => tag);
}

export type LanguagePreferences = {
  /** Chosen by the user on a page of this flow. */
  readonly chosen?: string | undefined;
  /** `ui_locales` of the authorization request. */
  readonly requested?: readonly string[] | undefined;
  /** Chosen earlier in this browser. */
  readonly remembered?: string | undefined;
  readonly acceptLanguage?: string | undefined;
};

export function chooseLanguage({
  chosen,
  requested,
  remembered,
  acceptLanguage,
}: LanguagePreferences): Language {
  if (isLanguage(chosen)) return chosen;
  return (
    findFirstSupported(requested ?? []) ??
    (isLanguage(remembered) ? remembered : undefined) ??
    findFirstSupported(parseAcceptLanguage(acceptLanguage ?? '')) ??
    fallbackLanguage
  );
}

const secondsPerMinute = 60;

/** A field that must be filled in. */
export function requiredFieldText(texts: PageTexts, label: string): string {
  return fillTemplate(texts.required, { label });
}

export function tooManyAttemptsText({ signInForm }: PageTexts, retryAfterSeconds: number): string {
  const minutes = Math.ceil(retryAfterSeconds / secondsPerMinute);
  if (minutes <= 1) return signInForm.tryInOneMinute;
  return fillTemplate(signInForm.tryInMinutes, { minutes });
}
