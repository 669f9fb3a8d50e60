import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { commonFilters } from './provisioned.ts';

test('a filter takes any text but one with U+0000, which no database can look for', () => {
  const Filters = Type.Object(commonFilters);
  for (const name of ['name', 'externalId']) {
    assert.equal(Value.Check(Filters, { [name]: "L'Étoile 100%" }), true);
    assert.equal(Value.Check(Filters, { [name]: 'a\u0000b' }), false);
    assert.equal(Value.Check(Filters, { [name]: '\u0000' }), false);
  }
});
