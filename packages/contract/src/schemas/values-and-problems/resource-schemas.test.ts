import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { commonFilters, shortText } from './resource-schemas.ts';

test('a filter accepts any text that does not contain U+0000, which PostgreSQL cannot search for', () => {
  const Filters = Type.Object(commonFilters);
  for (const name of ['name', 'externalId']) {
    assert.equal(Value.Check(Filters, { [name]: "L'Étoile 100%" }), true);
    assert.equal(Value.Check(Filters, { [name]: 'a\u0000b' }), false);
    assert.equal(Value.Check(Filters, { [name]: '\u0000' }), false);
  }
});

test('a short text is not blank and contains no control character', () => {
  const schema = shortText(10, 'A text.');
  for (const text of ['a', ' a ', 'é', '=1+1']) assert.equal(Value.Check(schema, text), true, text);
  for (const text of ['', ' ', '\u0000', 'a\u0000b', '\u0007', '\u007f', 'a\tb', 'a\n']) {
    assert.equal(Value.Check(schema, text), false, JSON.stringify(text));
  }
});
