/** The words of the portal: a file for each language and screen, fetched when a screen is opened. */
import { createInstance } from 'i18next';
import { use, useSyncExternalStore } from 'react';

export const languages = { en: 'English', fr: 'Français', de: 'Deutsch' } as const;
export type Language = keyof typeof languages;

const regionOf: Readonly<Record<Language, string>> = { en: 'en-GB', fr: 'fr-FR', de: 'de-DE' };
const storageKey = 'switchyard-language';
const always = ['parts', 'shell', 'navigation'];
const files = import.meta.glob<Record<string, unknown>>('./*/*.json', { import: 'default' });

const i18n = createInstance();
void i18n.init({
  lng: 'en',
  fallbackLng: 'en',
  ns: [],
  resources: {},
  // React escapes what it shows.
  interpolation: { escapeValue: false },
});

const listeners = new Set<() => void>();
const loads = new Map<string, Promise<void>>();
let current: Language = 'en';

export function isLanguage(text: string | null | undefined): text is Language {
  return text !== null && text !== undefined && Object.hasOwn(languages, text);
}

/** What was chosen here, else the language of the user, of the browser, or English. */
export function chooseLanguage(locale: string | undefined): Language {
  const wanted = [localStorage.getItem(storageKey), locale, ...navigator.languages];
  const known = wanted.map((each) => each?.slice(0, 2)).find(isLanguage);
  return known ?? 'en';
}

/** Numbers and dates follow the user's own country where it speaks the language that is shown. */
export function localeFor(language: Language, locale: string | undefined): string {
  return locale?.slice(0, 2) === language ? locale : regionOf[language];
}

function load(language: Language, name: string): Promise<void> {
  const path = `./${language}/${name}.json`;
  const known = loads.get(path);
  if (known !== undefined) return known;
  const file = files[path];
  if (file === undefined) throw new Error(`no words in ${path}`);
  const loading: Promise<void> = file().then((words) => {
    i18n.addResourceBundle(language, name, words);
    // So React takes what is there at once, without a look away.
    void Object.assign(loading, { status: 'fulfilled', value: undefined });
  });
  loads.set(path, loading);
  // A file that did not come is asked for again the next time.
  loading.catch(() => loads.delete(path));
  return loading;
}

/** What every screen needs, beside the session: one wait in place of two. */
export function preloadWords(language: Language): Promise<unknown> {
  return Promise.allSettled(always.map((name) => load(language, name)));
}

export async function setLanguage(language: Language, isChosen: boolean): Promise<void> {
  if (isChosen) localStorage.setItem(storageKey, language);
  await Promise.all(always.map((name) => load(language, name)));
  await i18n.changeLanguage(language);
  current = language;
  document.documentElement.lang = language;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useLanguage(): Language {
  return useSyncExternalStore(subscribe, () => current);
}

/** Looks a word up: `t('title')`, `t('left', { count: 3 })`. */
export type Words = (key: string, values?: Readonly<Record<string, unknown>>) => string;

const lookUps = new Map<string, Words>();

/** The words of a file: `const t = useWords('payments')`. Waits until they are there. */
export function useWords(name: string): Words {
  const language = useLanguage();
  // Always, also where they are there: whoever has waited once has to ask again.
  use(load(language, name));
  const key = `${language} ${name}`;
  const known = lookUps.get(key);
  if (known !== undefined) return known;
  const fixed = i18n.getFixedT(language, name);
  const lookUp: Words = (word, values) => String(fixed(word, { ...values }));
  lookUps.set(key, lookUp);
  return lookUp;
}
