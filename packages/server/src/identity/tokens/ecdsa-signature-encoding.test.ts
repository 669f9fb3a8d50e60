// Tests that both encodings of a signature verify in node:crypto, with leading zeros too.
import assert from 'node:assert/strict';
import { generateKeyPairSync, sign, verify } from 'node:crypto';
import { test } from 'node:test';
import { asn1ToRaw, rawToAsn1 } from './ecdsa-signature-encoding.ts';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const dsaEncoding = 'ieee-p1363';

test('node:crypto verifies 600 signatures in both forms', () => {
  const lengths = new Set<number>();
  for (let number = 0; number < 600; number += 1) {
    const data = Buffer.from(`message ${number}`);
    const asn1 = sign('sha256', data, privateKey);
    lengths.add(asn1.length);
    const plain = asn1ToRaw(asn1);
    assert.equal(plain.length, 64);
    assert.ok(verify('sha256', data, { key: publicKey, dsaEncoding }, plain));
    assert.deepEqual(rawToAsn1(plain), asn1);
    const other = sign('sha256', data, { key: privateKey, dsaEncoding });
    const turned = rawToAsn1(other);
    assert.ok(turned !== undefined && verify('sha256', data, publicKey, turned));
    assert.deepEqual(asn1ToRaw(turned), other);
  }
  assert.ok(lengths.size >= 3, 'long numbers, short ones, and both');
});

test('short integers are padded correctly', () => {
  const plain = Buffer.alloc(64);
  plain[31] = 1;
  plain[63] = 0x80;
  const asn1 = rawToAsn1(plain);
  assert.equal(asn1?.toString('hex'), '3007020101020200' + '80');
  assert.deepEqual(asn1ToRaw(asn1 ?? Buffer.alloc(0)), plain);
  const zero = rawToAsn1(Buffer.alloc(64));
  assert.equal(zero?.toString('hex'), '3006020100020100');
});

test('a value of another length is not a signature', () => {
  for (const length of [0, 63, 65, 128]) assert.equal(rawToAsn1(Buffer.alloc(length)), undefined);
});
