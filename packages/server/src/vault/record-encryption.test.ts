import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { systemIdGenerator } from '../platform/index.ts';
import { decryptRecord, encryptRecord, isLegacyFormat, readKeyId } from './record-encryption.ts';

describe('the sealed record', () => {
  const key = randomBytes(32);
  const keyId = systemIdGenerator.uuid();
  const context = { organizationId: systemIdGenerator.uuid(), recordName: 'card|1' };
  const text = Buffer.from('4000000000000010|3012');
  const sealed = encryptRecord(key, keyId, context, text);

  test('names its key and opens at its place alone', () => {
    assert.equal(readKeyId(sealed), keyId);
    assert.equal(isLegacyFormat(sealed), false);
    assert.deepEqual(decryptRecord(key, context, sealed), text);
    const elsewhere = [
      { ...context, organizationId: systemIdGenerator.uuid() },
      { ...context, recordName: 'card|2' },
    ];
    for (const other of elsewhere) {
      assert.throws(() => decryptRecord(key, other, sealed), /record does not decrypt/);
    }
    assert.throws(() => decryptRecord(randomBytes(32), context, sealed), /record does not decrypt/);
  });

  test('is broken by any change of any byte', () => {
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      assert.throws(() => decryptRecord(key, context, changed), `byte ${at}`);
    }
    assert.throws(() => readKeyId(sealed.subarray(0, 30)), /not an encrypted record/);
  });

  test('differs for each encryption and contains no plain text', () => {
    assert.notDeepEqual(encryptRecord(key, keyId, context, text), sealed);
    assert.equal(sealed.includes(text.subarray(0, 6)), false);
  });
});
