import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demandVersion, entityTag, ifMatchAdmits, ifMatchOf } from './entity-tags.ts';

test('If-Match admits the current tag, one of several, and any', () => {
  for (const header of ['"3"', '"1", "3"', '*']) assert.ok(ifMatchAdmits(header, 3), header);
  for (const header of ['"2"', 'W/"3"', '3', '']) assert.ok(!ifMatchAdmits(header, 3), header);
  assert.equal(entityTag(3), '"3"');
});

test('a version that was not seen is not changed; without If-Match any will do', () => {
  assert.throws(() => demandVersion('"2"', 3), /precondition_failed/);
  demandVersion('"3"', 3);
  demandVersion(ifMatchOf({}), 3);
  assert.equal(ifMatchOf({ 'if-match': '"3"' }), '"3"');
  assert.equal(ifMatchOf({ 'if-match': ['"3"', '"4"'] }), undefined);
});
