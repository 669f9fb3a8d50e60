// Checks that translations have the same keys and placeholders, and that every text is translated.
import assert from 'node:assert/strict';

/** Every text of a JSON file with its path. */
export function textsByPath(value: unknown, path = ''): [path: string, text: string][] {
  if (typeof value === 'string') return [[path, value]];
  return Object.entries(value as object).flatMap(([key, part]) =>
    textsByPath(part, `${path}.${key}`),
  );
}

const placeholdersIn = (text: string): string[] => (text.match(/\{\{\w+\}\}/g) ?? []).sort();

/** `equalToEnglish` lists the paths of texts that are the same in that language and in English. */
export function assertTranslationsMatch(
  languages: Readonly<Record<'en' | 'fr' | 'de', unknown>>,
  equalToEnglish: Readonly<Record<'fr' | 'de', readonly string[]>> = { fr: [], de: [] },
): void {
  const english = new Map(textsByPath(languages.en));
  for (const language of ['fr', 'de'] as const) {
    const texts = textsByPath(languages[language]);
    assert.deepEqual(texts.map(([path]) => path).sort(), [...english.keys()].sort(), language);
    for (const [path, text] of texts) {
      const source = english.get(path) ?? '';
      assert.notEqual(text.trim(), '', `${language} ${path}`);
      assert.deepEqual(placeholdersIn(text), placeholdersIn(source), `${language} ${path}`);
      if (equalToEnglish[language].includes(path)) continue;
      assert.notEqual(text, source, `${language} ${path}`);
    }
  }
}

/** French puts a no-break space before `:`, `;`, `?`, `!` and inside quotation marks. */
export function assertFrenchSpaces(french: unknown): void {
  for (const [path, text] of textsByPath(french)) {
    const plain = text.replaceAll(/\{\{\w+\}\}/g, 'x');
    assert.equal(/[^\s\u00a0][:;?!](?:\s|$)| [:;?!»]|« /.test(plain), false, `${path}: ${text}`);
  }
}
