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
import { pageTexts, tooManyAttemptsText } from './page-texts.ts';

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
    assert.ok(textsByPath(pageTexts.en).length > 150);
    assertTranslationsMatch(pageTexts, equalToEnglish);
  });

  test('the waiting time after too many attempts is in whole minutes', () => {
    assert.match(tooManyAttemptsText(pageTexts.en, 10), /in one minute\.$/);
    assert.match(tooManyAttemptsText(pageTexts.de, 61), /in 2 Minuten erneut\.$/);
  });

  test('French has no-break spaces before double punctuation marks', () => {
    assertFrenchSpaces(pageTexts.fr);
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
