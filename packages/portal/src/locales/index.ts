/** The texts of the portal: one JSON file per language and namespace, loaded with the screen that uses it. */
import { createInstance } from 'i18next';
import { use, useSyncExternalStore } from 'react';

export const languages = { en: 'English', fr: 'Français', de: 'Deutsch' } as const;
export type Language = keyof typeof languages;

const regionOf: Readonly<Record<Language, string>> = { en: 'en-GB', fr: 'fr-FR', de: 'de-DE' };
const storageKey = 'switchyard-language';
const sharedNamespaces = ['components', 'shell', 'navigation'];
const files = import.meta.glob<Record<string, unknown>>('./*/*/*.json', { import: 'default' });
/** By language and namespace: `en payments` for `./en/payments/payments.json`. */
const loaders = new Map(
  Object.entries(files).map(([path, load]) => [
    path.replace(/^\.\/(\w+)\/.*\/([\w-]+)\.json$/, '$1 $2'),
    load,
  ]),
);

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

/** The language chosen in this browser, else that of the user, that of the browser, or English. */
export function chooseLanguage(locale: string | undefined): Language {
  const preferred = [localStorage.getItem(storageKey), locale, ...navigator.languages];
  return preferred.map((each) => each?.slice(0, 2)).find(isLanguage) ?? 'en';
}

/** Numbers and dates follow the user's locale if its language is the language of the page. */
export function localeFor(language: Language, locale: string | undefined): string {
  return locale?.slice(0, 2) === language ? locale : regionOf[language];
}

function loadNamespace(language: Language, namespace: string): Promise<void> {
  const key = `${language} ${namespace}`;
  const started = loads.get(key);
  if (started !== undefined) return started;
  const load = loaders.get(key);
  if (load === undefined) throw new Error(`no locale file for ${key}`);
  const loading: Promise<void> = load().then((texts) => {
    i18n.addResourceBundle(language, namespace, texts);
    // With these members React reads the loaded texts without suspending.
    void Object.assign(loading, { status: 'fulfilled', value: undefined });
  });
  loads.set(key, loading);
  // The next render loads the file again after a failure.
  loading.catch(() => loads.delete(key));
  return loading;
}

/** Loads the texts of every screen in parallel with the session. */
export function preloadSharedTexts(language: Language): Promise<unknown> {
  return Promise.allSettled(sharedNamespaces.map((name) => loadNamespace(language, name)));
}

export async function setLanguage(language: Language, isChosen: boolean): Promise<void> {
  if (isChosen) localStorage.setItem(storageKey, language);
  await Promise.all(sharedNamespaces.map((name) => loadNamespace(language, name)));
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

/** Returns the text of a key: `t('title')`, `t('left', { count: 3 })`. */
export type Translate = (key: string, values?: Readonly<Record<string, unknown>>) => string;

const translators = new Map<string, Translate>();

/** Suspends until the texts are loaded: `const t = useTranslate('payments')`. */
export function useTranslate(namespace: string): Translate {
  const language = useLanguage();
  // A component that has suspended must call `use` again, also if the texts are loaded.
  use(loadNamespace(language, namespace));
  const key = `${language} ${namespace}`;
  const cached = translators.get(key);
  if (cached !== undefined) return cached;
  const fixed = i18n.getFixedT(language, namespace);
  const translate: Translate = (name, values) => String(fixed(name, { ...values }));
  translators.set(key, translate);
  return translate;
}
