// The languages of the pages, and which of them a browser gets.
import { english, type Words } from './english.ts';
import { french } from './french.ts';
import { german } from './german.ts';

export type { Words };

export const languages = { en: english, fr: french, de: german } as const satisfies Record<
  string,
  Words
>;
export type Language = keyof typeof languages;

/** Where nothing else is asked for. */
const fallback: Language = 'en';
/** Of a header that a client writes as long as it likes. */
const rangeLimit = 20;

export function isLanguage(text: string | undefined): text is Language {
  return text !== undefined && Object.hasOwn(languages, text);
}

/** `fr-CA` is served with French; the first tag that fits decides. */
function firstOf(tags: readonly string[]): Language | undefined {
  return tags.map((tag) => tag.toLowerCase().split('-', 1)[0]).find(isLanguage);
}

/** Accept-Language (RFC 9110, 12.5.4), best first. */
function accepted(header: string): string[] {
  return header
    .split(',', rangeLimit)
    .map((entry) => {
      const [tag = '', ...parameters] = entry.split(';').map((part) => part.trim());
      const weight = parameters.find((parameter) => parameter.startsWith('q='));
      return { tag, quality: weight === undefined ? 1 : Number(weight.slice(2)) || 0 };
    })
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality)
    .map(({ tag }) => tag);
}

export type LanguageWishes = {
  /** Chosen on the page itself, in this very flow. */
  readonly chosen?: string | undefined;
  /** `ui_locales` of the authorization request. */
  readonly asked?: readonly string[] | undefined;
  /** Chosen in this browser some time ago. */
  readonly kept?: string | undefined;
  readonly accept?: string | undefined;
};

export function chooseLanguage({ chosen, asked, kept, accept }: LanguageWishes): Language {
  if (isLanguage(chosen)) return chosen;
  return (
    firstOf(asked ?? []) ??
    (isLanguage(kept) ? kept : undefined) ??
    firstOf(accepted(accept ?? '')) ??
    fallback
  );
}
