// The languages of the server's texts, and the choice of the language for a browser or a user.

const languages = ['en', 'fr', 'de'] as const;
export type Language = (typeof languages)[number];

/**
 * A text file for each language, with the keys of the English file. Placeholders (`{{name}}`) and plurals
 * (`_one`) have the notation of i18next.
 */
export type Translations<Texts> = Readonly<Record<Language, Texts>>;

/** Used if the request names no supported language. */
const fallbackLanguage: Language = 'en';
/** Limits the work for a long header. */
const maxLanguageRanges = 20;

export function isLanguage(text: string | undefined): text is Language {
  return languages.some((language) => language === text);
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
  /** `ui_locales` of the authorization request, or the locale of a user. */
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
