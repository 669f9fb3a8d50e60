import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { commonFilters, shortText } from './resource-schemas.ts';

test('a filter takes any text but one with U+0000, which no database can look for', () => {
  const Filters = Type.Object(commonFilters);
  for (const name of ['name', 'externalId']) {
    assert.equal(Value.Check(Filters, { [name]: "L'Étoile 100%" }), true);
    assert.equal(Value.Check(Filters, { [name]: 'a\u0000b' }), false);
    assert.equal(Value.Check(Filters, { [name]: '\u0000' }), false);
  }
});

test('a short text says something, and holds no control character, not even a single one', () => {
  const schema = shortText(10, 'A text.');
  for (const text of ['a', ' a ', 'é', '=1+1']) assert.equal(Value.Check(schema, text), true, text);
  for (const text of ['', ' ', '\u0000', 'a\u0000b', '\u0007', '\u007f', 'a\tb', 'a\n']) {
    assert.equal(Value.Check(schema, text), false, JSON.stringify(text));
  }
});
