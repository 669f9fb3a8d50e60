import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { systemIds } from '../platform/index.ts';
import { isLegacy, keyIdOf, openEnvelope, sealEnvelope } from './envelope-encryption.ts';

describe('the sealed record', () => {
  const key = randomBytes(32);
  const keyId = systemIds.uuid();
  const place = { organizationId: systemIds.uuid(), within: 'card|1' };
  const text = Buffer.from('4000000000000010|3012');
  const sealed = sealEnvelope(key, keyId, place, text);

  test('names its key and opens at its place alone', () => {
    assert.equal(keyIdOf(sealed), keyId);
    assert.equal(isLegacy(sealed), false);
    assert.deepEqual(openEnvelope(key, place, sealed), text);
    const elsewhere = [
      { ...place, organizationId: systemIds.uuid() },
      { ...place, within: 'card|2' },
    ];
    for (const other of elsewhere) {
      assert.throws(() => openEnvelope(key, other, sealed), /seal is broken/);
    }
    assert.throws(() => openEnvelope(randomBytes(32), place, sealed), /seal is broken/);
  });

  test('is broken by any change of any byte', () => {
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      assert.throws(() => openEnvelope(key, place, changed), `byte ${at}`);
    }
    assert.throws(() => keyIdOf(sealed.subarray(0, 30)), /no sealed bytes/);
  });

  test('differs each time, and holds nothing in clear', () => {
    assert.notDeepEqual(sealEnvelope(key, keyId, place, text), sealed);
    assert.equal(sealed.includes(text.subarray(0, 6)), false);
  });
});
