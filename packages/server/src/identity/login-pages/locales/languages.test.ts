import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  openSignInPages,
  submitForm,
} from '../../../../test/support/browser/test-sign-in-pages.ts';
import {
  assertFrenchSpaces,
  assertTranslationsMatch,
  textsByPath,
} from '../../../../test/support/translation-checks.ts';
import { chooseLanguage, textsByLanguage } from './languages.ts';

/** The same word as in English. */
const equalToEnglish = {
  fr: [],
  de: [
    '.passkeys.title',
    '.passkeys.name',
    '.passkeys.defaultName',
    '.account.passkeys',
    '.account.kinds.Browser',
    '.signUp.organizationName',
    '.colon',
  ],
};

describe('the texts of the sign-in pages', () => {
  test('have the same keys and placeholders in each language, and only listed texts equal the English text', () => {
    assert.ok(textsByPath(textsByLanguage.en).length > 150);
    assertTranslationsMatch(textsByLanguage, equalToEnglish);
  });

  test('French has no-break spaces before double punctuation marks', () => {
    assertFrenchSpaces(textsByLanguage.fr);
  });

  test('the language is the one chosen on the page, else the requested, the remembered or the accepted one', () => {
    const all = { chosen: 'fr', requested: ['en'], remembered: 'en', acceptLanguage: 'en' };
    assert.equal(chooseLanguage(all), 'fr');
    assert.equal(chooseLanguage({ ...all, chosen: 'xx', requested: ['it', 'FR-ca'] }), 'fr');
    assert.equal(
      chooseLanguage({ requested: ['it'], remembered: 'fr', acceptLanguage: 'en' }),
      'fr',
    );
    for (const [acceptLanguage, language] of [
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
      assert.equal(chooseLanguage({ acceptLanguage }), language, acceptLanguage.slice(0, 40));
    }
  });

  test('a choice on the page applies to the flow and to later flows without a requested language', async () => {
    const pages = await openSignInPages();
    try {
      const browser = pages.openBrowser();
      const page = await browser.browse(pages.linkWith({ ui_locales: 'en' }));
      assert.match(page.text, /<html lang="en">/);
      assert.match(page.text, /<a href="[^"]+\?lang=fr" hreflang="fr" lang="fr">Français<\/a>/);
      const chosen = await browser.visit(`${page.url.pathname}?lang=fr`);
      assert.match(chosen.text, /<html lang="fr">/);
      const wrong = await submitForm(browser, chosen, { username: 'jeanne', password: 'x' });
      assert.match(wrong.text, /<html lang="fr">/, 'although the application requests English');
      const entry = await browser.browse('/auth/sign-in');
      assert.match(entry.text, /Saisissez votre nom d’utilisateur et votre domaine/, 'later');
      const requestedPage = await browser.browse(pages.linkWith({ ui_locales: 'en' }));
      assert.match(requestedPage.text, /<html lang="en">/, 'another flow requests English again');
      const accepted = await pages
        .openBrowser()
        .browse('/auth/sign-in', { headers: { 'accept-language': 'fr-FR,fr;q=0.9' } });
      assert.match(accepted.text, /<html lang="fr">/);
    } finally {
      await pages.close();
    }
  });
});
