import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemIdGenerator } from './ids.ts';
import {
  bytesToUuid,
  isLowerCaseUuid,
  isUuid,
  isUuidV7,
  nilUuid,
  smallestUuidAt,
  uuidToBytes,
} from './uuid.ts';

const uuid = '01890000-0000-7000-8000-00000000abcd';

test('only texts of 36 characters in the form of RFC 9562 are UUIDs', () => {
  for (const text of [uuid, uuid.toUpperCase(), nilUuid]) assert.ok(isUuid(text), text);
  for (const text of ['', 'abc', uuid.slice(1), `${uuid}0`, uuid.replaceAll('-', ''), `${uuid}\n`])
    assert.ok(!isUuid(text), text);
  assert.ok(isLowerCaseUuid(uuid));
  assert.ok(!isLowerCaseUuid(uuid.toUpperCase()));
  assert.ok(isUuidV7(uuid.toUpperCase()));
  assert.ok(!isUuidV7(nilUuid));
});

test('a UUID and its 16 bytes are converted into each other', () => {
  assert.equal(uuidToBytes(uuid).length, 16);
  assert.equal(bytesToUuid(uuidToBytes(uuid)), uuid);
});

test('the smallest UUID of a millisecond is before its identifiers', () => {
  const before = Date.now();
  const id = systemIdGenerator.uuid();
  assert.ok(nilUuid < smallestUuidAt(before));
  assert.ok(smallestUuidAt(before) < id);
  assert.ok(id < smallestUuidAt(before + 60_000));
  assert.equal(smallestUuidAt(-1), nilUuid);
});
