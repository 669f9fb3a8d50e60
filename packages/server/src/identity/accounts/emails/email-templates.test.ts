// Emails to users: in the user's language, with equal texts in all languages, and without markup from names.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  assertFrenchSpaces,
  assertTranslationsMatch,
} from '../../../../test/support/translation-checks.ts';
import {
  type AccountEmail,
  type AccountEmailKind,
  emailTexts,
  renderAccountEmail,
} from './email-templates.ts';

const kinds: AccountEmailKind[] = [
  'activate',
  'reset',
  'email',
  'email-changed',
  'password-changed',
  'second-factor-set',
  'second-factor-reset',
];
const email: AccountEmail = {
  kind: 'reset',
  to: 'ann@shop.example',
  username: 'ann',
  userDomainId: 'demo',
  link: { address: 'https://localhost:8443/x', expiresAt: Date.UTC(2027, 0, 15, 17, 30) },
};

describe('emails to users', () => {
  test('have the same keys and placeholders in each language, and every text is translated', () => {
    assertTranslationsMatch(emailTexts);
    assertFrenchSpaces(emailTexts.fr);
  });

  test('are in the language of the user if it is French or German, else in English', () => {
    const languages = ['fr', 'fr-CA', 'FR-fr', 'en', 'de-DE', 'it', undefined].map(
      (locale) => renderAccountEmail({ ...email, locale }).language,
    );
    assert.deepEqual(languages, ['fr', 'fr', 'fr', 'en', 'de', 'en', 'en']);
    const french = renderAccountEmail({ ...email, locale: 'fr', zoneinfo: 'Europe/Paris' });
    assert.match(french.subject, /^Choisissez un nouveau mot de passe/);
    assert.match(french.text, /jusqu’au 15 janvier 2027.*18:30/);
    assert.match(french.html, /<html lang="fr">/);
    const german = renderAccountEmail({ ...email, locale: 'de-AT', zoneinfo: 'Europe/Berlin' });
    assert.match(german.text, /bis 15\. Januar 2027.*18:30/);
    assert.match(renderAccountEmail(email).text, /until 15 January 2027.*17:30.*UTC/);
  });

  test('of every kind have the same paragraphs as text and as HTML', () => {
    for (const kind of kinds) {
      for (const locale of ['en', 'fr', 'de']) {
        const { subject, text, html } = renderAccountEmail({
          ...email,
          kind,
          locale,
          givenName: 'Ann',
        });
        assert.ok(subject.length > 10 && subject.length < 78, subject);
        assert.ok(text.includes('Ann,') && text.includes('demo'));
        assert.equal(text.split('\n\n').length, html.split('<p>').length - 1);
        assert.doesNotMatch(html, /src=|url\(|<script|<link/);
      }
    }
  });

  test('a given name becomes neither a link nor HTML', () => {
    const givenName = '<b onclick="x">& http://evil.example';
    const { html, text } = renderAccountEmail({ ...email, givenName });
    assert.ok(html.includes('Hello b onclick x http evil example,'));
    assert.doesNotMatch(text, /http:|evil\.example/);
  });
});
