// The three languages say the same things, and all that the code asks for.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, test } from 'node:test';

const source = join(import.meta.dirname, '../src');
const languages = ['en', 'fr', 'de'] as const;
type Tree = { readonly [key: string]: string | Tree };

/** The path of each namespace below the folder of the language: `payments/qr-payments`. */
function filesOf(language: string): string[] {
  return globSync('*/*.json', { cwd: join(source, 'locales', language) })
    .map((file) => file.replace(/\.json$/, ''))
    .sort();
}

/** The texts of each namespace, by key. */
const textsOf = Object.fromEntries(
  languages.map((language) => [
    language,
    new Map(
      filesOf(language).map((file) => {
        const text = readFileSync(join(source, 'locales', language, `${file}.json`), 'utf8');
        return [basename(file), flatten(JSON.parse(text) as Tree)];
      }),
    ),
  ]),
);

function read(language: string, namespace: string): Map<string, string> {
  const texts = textsOf[language]?.get(namespace);
  assert.ok(texts !== undefined, `${language} has no namespace ${namespace}`);
  return texts;
}

function flatten(tree: Tree, path = ''): Map<string, string> {
  return new Map(
    Object.entries(tree).flatMap(([key, value]) => {
      const full = path === '' ? key : `${path}.${key}`;
      return typeof value === 'string' ? [[full, value] as const] : [...flatten(value, full)];
    }),
  );
}

const placeholders = (text: string) =>
  [...text.matchAll(/\{\{(\w+)/g)].map(([, name]) => name).sort();

describe('the locale files of the portal', () => {
  test('every language has the same files', () => {
    assert.ok(filesOf('en').length >= 8);
    for (const language of languages) assert.deepEqual(filesOf(language), filesOf('en'), language);
  });

  for (const name of filesOf('en').map((path) => basename(path))) {
    test(`${name}: all languages have the same keys and placeholders, and no empty text`, () => {
      const english = read('en', name);
      assert.ok(english.size > 0);
      for (const language of languages) {
        const words = read(language, name);
        assert.deepEqual([...words.keys()].sort(), [...english.keys()].sort(), language);
        for (const [key, text] of words) {
          assert.notEqual(text.trim(), '', `${language} ${key}`);
          assert.deepEqual(
            placeholders(text),
            placeholders(english.get(key) ?? ''),
            `${language} ${key}`,
          );
        }
      }
    });
  }

  test('every key in the code exists', () => {
    let wordCount = 0;
    for (const file of globSync('**/*.tsx', { cwd: source })) {
      const text = readFileSync(join(source, file), 'utf8');
      for (const [, variable = '', name = ''] of text.matchAll(
        /const (\w+) = useTranslate\('([\w-]+)'\)/g,
      )) {
        const englishWords = read('en', name);
        const calls = new RegExp(`(?<![\\w.])${variable}\\('([\\w.]+)'`, 'g');
        const bound = [...text.matchAll(/const (\w+) = useTranslate\('([\w-]+)'\)/g)];
        const others = bound.filter(([, each]) => each === variable).map(([, , each]) => each);
        for (const [, key = ''] of text.matchAll(calls)) {
          wordCount += 1;
          const files = others.map((each) => read('en', each ?? ''));
          const isKnown = [englishWords, ...files].some(
            (each) => each.has(key) || each.has(`${key}_other`),
          );
          assert.ok(isKnown, `${file} asks for ${key} of ${name}`);
        }
      }
    }
    assert.ok(wordCount > 100, `${wordCount} words were looked for`);
  });
});
