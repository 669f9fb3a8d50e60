// The words of our mail: in the user's language, and no markup from names.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Letter, type LetterKind, writeLetter } from './email-templates.ts';

const kinds: LetterKind[] = [
  'activate',
  'reset',
  'email',
  'email-changed',
  'password-changed',
  'second-factor-set',
  'second-factor-reset',
];
const letter: Letter = {
  kind: 'reset',
  to: 'ann@shop.example',
  username: 'ann',
  userDomainId: 'demo',
  link: { address: 'https://localhost:8443/x', expiresAt: Date.UTC(2027, 0, 15, 17, 30) },
};

describe('letters', () => {
  test('are in French or German for those who speak it, else in English', () => {
    const languages = ['fr', 'fr-CA', 'FR-fr', 'en', 'de-DE', 'it', undefined].map(
      (locale) => writeLetter({ ...letter, locale }).language,
    );
    assert.deepEqual(languages, ['fr', 'fr', 'fr', 'en', 'de', 'en', 'en']);
    const french = writeLetter({ ...letter, locale: 'fr', zoneinfo: 'Europe/Paris' });
    assert.match(french.subject, /^Choisissez un nouveau mot de passe/);
    assert.match(french.text, /jusqu’au 15 janvier 2027.*18:30/);
    assert.match(french.html, /<html lang="fr">/);
    const german = writeLetter({ ...letter, locale: 'de-AT', zoneinfo: 'Europe/Berlin' });
    assert.match(german.text, /bis 15\. Januar 2027.*18:30/);
    assert.match(writeLetter(letter).text, /until 15 January 2027.*17:30.*UTC/);
  });

  test('of every kind have the same lines in both forms and every language', () => {
    for (const kind of kinds) {
      for (const locale of ['en', 'fr', 'de']) {
        const { subject, text, html } = writeLetter({ ...letter, kind, locale, givenName: 'Ann' });
        assert.ok(subject.length > 10 && subject.length < 78, subject);
        assert.ok(text.includes('Ann,') && text.includes('demo'));
        assert.equal(text.split('\n\n').length, html.split('<p>').length - 1);
        assert.doesNotMatch(html, /src=|url\(|<script|<link/);
      }
    }
  });

  test('a name becomes neither a link nor HTML', () => {
    const givenName = '<b onclick="x">& http://evil.example';
    const { html, text } = writeLetter({ ...letter, givenName });
    assert.ok(html.includes('Hello b onclick x http evil example,'));
    assert.doesNotMatch(text, /http:|evil\.example/);
  });
});
