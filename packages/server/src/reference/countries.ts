// The countries of ISO 3166-1 with their names in the languages of the reference data.
import type { Country } from '@switchyard/contract';
import english from 'i18n-iso-countries/langs/en.json' with { type: 'json' };
import french from 'i18n-iso-countries/langs/fr.json' with { type: 'json' };

/** The first of several names is the official one. */
type Names = Readonly<Record<string, string | readonly string[]>>;

const namesByLanguage = { en: english.countries, fr: french.countries } satisfies Record<
  string,
  Names
>;

export type Language = keyof typeof namesByLanguage;
export const languages = Object.keys(namesByLanguage) as Language[];

/** Codes of the data that ISO 3166 leaves to its users. */
const userAssigned: ReadonlySet<string> = new Set(['XK']);

export function listCountries(language: Language): Country[] {
  const names: Names = namesByLanguage[language];
  return Object.entries(names)
    .filter(([code]) => !userAssigned.has(code))
    .map(([code, name]) => ({ code, display: typeof name === 'string' ? name : (name[0] ?? code) }))
    .sort((one, other) => (one.code < other.code ? -1 : 1));
}

/** The supported language that an Accept-Language header (RFC 9110) prefers; English otherwise. */
export function preferredLanguage(header: string | undefined): Language {
  let preferred: Language = 'en';
  let most = 0;
  for (const range of (header ?? '').split(',')) {
    const [tag = '', ...parameters] = range
      .trim()
      .toLowerCase()
      .split(/\s*;\s*/);
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
    const language = languages.find((name) => tag === name || tag.startsWith(`${name}-`));
    if (language === undefined || !(Number(weight) > most)) continue;
    preferred = language;
    most = Number(weight);
  }
  return preferred;
}
