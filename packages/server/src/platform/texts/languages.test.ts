import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseLanguage } from './languages.ts';

test('the language is the one chosen on the page, else the requested, the remembered or the accepted one', () => {
  const all = { chosen: 'fr', requested: ['en'], remembered: 'en', acceptLanguage: 'en' };
  assert.equal(chooseLanguage(all), 'fr');
  assert.equal(chooseLanguage({ ...all, chosen: 'xx', requested: ['it', 'FR-ca'] }), 'fr');
  assert.equal(chooseLanguage({ requested: ['it'], remembered: 'fr', acceptLanguage: 'en' }), 'fr');
  for (const [acceptLanguage, language] of [
    [undefined, 'en'],
    ['fr', 'fr'],
    ['fr-CH, en;q=0.9', 'fr'],
    ['it, en;q=0.4, fr;q=0.8', 'fr'],
    ['de-AT, en;q=0.4', 'de'],
    ['de-CH,de;q=0.9,en;q=0.8', 'de'],
    ['en;q=0.1, de;q=0.9', 'de'],
    ['fr;q=0, en', 'en'],
    ['fr;q=0, *', 'en'],
    ['*', 'en'],
    ['', 'en'],
    [`${'x,'.repeat(500)}fr`, 'en'],
    ['constructor', 'en'],
    ['constructor, ;;q=x', 'en'],
  ] as const) {
    assert.equal(chooseLanguage({ acceptLanguage }), language, acceptLanguage?.slice(0, 40));
  }
});
