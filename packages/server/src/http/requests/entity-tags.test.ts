import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entityTag, ifMatchAllows, readIfMatch, requireVersion } from './entity-tags.ts';

// Spec: PROV-17
test('If-Match allows the current tag, a list with it, and *', () => {
  for (const header of ['"3"', '"1", "3"', '*']) assert.ok(ifMatchAllows(header, 3), header);
  for (const header of ['"2"', 'W/"3"', '3', '']) assert.ok(!ifMatchAllows(header, 3), header);
  assert.equal(entityTag(3), '"3"');
});

test('another version is rejected; without If-Match every version is accepted', () => {
  assert.throws(() => requireVersion('"2"', 3), /precondition_failed/);
  requireVersion('"3"', 3);
  requireVersion(readIfMatch({}), 3);
  assert.equal(readIfMatch({ 'if-match': '"3"' }), '"3"');
  assert.equal(readIfMatch({ 'if-match': ['"3"', '"4"'] }), undefined);
});
