import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openSignInPages, submit } from '../../../../test/sign-in-pages.ts';
import { chooseLanguage, languages } from './languages.ts';

/** Every text with the way to it; functions are asked for one. */
function textsIn(value: unknown, path = ''): [string, string][] {
  if (typeof value === 'string') return [[path, value]];
  if (typeof value === 'function') return [[path, String(value(7, 'x'))]];
  return Object.entries(value as object).flatMap(([key, part]) => textsIn(part, `${path}.${key}`));
}

/** The same word as in English. */
const alike = {
  fr: new Set(['.fields.code', '.account.kinds.CustomToken']),
  de: new Set([
    '.passkeys.title',
    '.passkeys.name',
    '.passkeys.defaultName',
    '.account.passkeys',
    '.account.kinds.Browser',
    '.signUp.organizationName',
    '.colon',
  ]),
} as const;

describe('the words of the pages', () => {
  test('are there in each language, and nowhere left in English', () => {
    const english = new Map(textsIn(languages.en));
    assert.ok(english.size > 150);
    for (const language of ['fr', 'de'] as const) {
      const texts = textsIn(languages[language]);
      const same: ReadonlySet<string> = alike[language];
      for (const [path, text] of texts) {
        assert.notEqual(text.trim(), '', path);
        if (!same.has(path)) assert.notEqual(text, english.get(path), `${language} ${path}`);
      }
      assert.deepEqual(texts.map(([path]) => path).sort(), [...english.keys()].sort());
    }
  });

  test('French sets a no-break space before its double signs', () => {
    for (const [path, text] of textsIn(languages.fr)) {
      assert.equal(/[^\s\u00a0][:;?!](?:\s|$)| [:;?!»]|« /.test(text), false, `${path}: ${text}`);
    }
  });

  test('the language is the chosen one, the asked one, the kept one, the accepted one', () => {
    const all = { chosen: 'fr', asked: ['en'], kept: 'en', accept: 'en' };
    assert.equal(chooseLanguage(all), 'fr');
    assert.equal(chooseLanguage({ ...all, chosen: 'xx', asked: ['it', 'FR-ca'] }), 'fr');
    assert.equal(chooseLanguage({ asked: ['it'], kept: 'fr', accept: 'en' }), 'fr');
    for (const [accept, language] of [
      ['fr', 'fr'],
      ['fr-CH, en;q=0.9', 'fr'],
      ['it, en;q=0.4, fr;q=0.8', 'fr'],
      ['de-AT, en;q=0.4', 'de'],
      ['fr;q=0, en', 'en'],
      ['*', 'en'],
      ['', 'en'],
      [`${'x,'.repeat(500)}fr`, 'en'],
      ['constructor', 'en'],
    ] as const) {
      assert.equal(chooseLanguage({ accept }), language, accept.slice(0, 40));
    }
  });

  test('a choice on the page holds for the flow, and is kept for later ones', async () => {
    const pages = await openSignInPages();
    try {
      const browser = pages.openBrowser();
      const page = await browser.browse(pages.linkWith({ ui_locales: 'en' }));
      assert.match(page.text, /<html lang="en">/);
      assert.match(page.text, /<a href="[^"]+\?lang=fr" hreflang="fr" lang="fr">Français<\/a>/);
      const chosen = await browser.visit(`${page.url.pathname}?lang=fr`);
      assert.match(chosen.text, /<html lang="fr">/);
      const wrong = await submit(browser, chosen, { username: 'jeanne', password: 'x' });
      assert.match(wrong.text, /<html lang="fr">/, 'although the application asks for English');
      const entry = await browser.browse('/auth/sign-in');
      assert.match(entry.text, /Dites-nous d’abord qui vous êtes/, 'later');
      const asked = await browser.browse(pages.linkWith({ ui_locales: 'en' }));
      assert.match(asked.text, /<html lang="en">/, 'another flow asks anew');
      const accepted = await pages
        .openBrowser()
        .browse('/auth/sign-in', { headers: { 'accept-language': 'fr-FR,fr;q=0.9' } });
      assert.match(accepted.text, /<html lang="fr">/);
    } finally {
      await pages.close();
    }
  });
});
