// Keys for data, MACs and wrapped keys: published values, and that a wrong key or length is noticed.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  aesCmac,
  aesWorkingKey,
  decryptDukptData,
  encryptDukptData,
  PinError,
  readKsn,
  retailMac,
  tdesWorkingKey,
  unwrapKey,
  wrapKey,
} from './index.ts';

const bytes = (hex: string) => Buffer.from(hex, 'hex');
const hex = (data: Uint8Array) => Buffer.from(data).toString('hex').toUpperCase();
const refused = (code: string) => (error: unknown) =>
  error instanceof PinError && error.code === code && error.message === code;

const tdesBase = bytes('0123456789ABCDEFFEDCBA9876543210');
const aesBase = bytes('FEDCBA9876543210F1F1F1F1F1F1F1F1');
const tdesKsn = 'FFFF9876543210E00001';
const aesKsn = '123456789012345600000001';

describe('DUKPT data', () => {
  it('has the key for AES data that X9.24-3 publishes', () => {
    const key = aesWorkingKey(aesBase, readKsn(aesKsn), 'dataEncrypt');
    assert.equal(hex(key), 'A35C412EFD41FDB98B69797C02DCD08F');
  });

  it('has the key for TDES data that X9.24-1 publishes: the variant, encrypted under itself', () => {
    // The transaction key 042666B49184CFA368DE9628D0397BC9 with FF at byte 5, then TDES of itself.
    const key = tdesWorkingKey(tdesBase, readKsn(tdesKsn), 'dataRequest');
    assert.equal(hex(key), '448D3F076D8304036A55A3D7E0055A78');
  });

  for (const [ksn, baseKey, algorithm, blockBytes] of [
    [tdesKsn, tdesBase, 'tdes2', 8],
    [aesKsn, aesBase, 'aes128', 16],
    [aesKsn, Buffer.concat([aesBase, aesBase]), 'aes128', 16],
    [aesKsn, aesBase, 'tdes3', 8],
  ] as const) {
    const under = `${ksn}, ${algorithm} of ${baseKey.length} bytes`;
    it(`decrypts to the original data under ${under} over several blocks`, () => {
      const data = Buffer.alloc(blockBytes * 3, 'track data ');
      const sealed = encryptDukptData({ baseKey, ksn, algorithm, data });
      assert.notDeepEqual(sealed.subarray(0, blockBytes), data.subarray(0, blockBytes));
      assert.deepEqual(decryptDukptData({ baseKey, ksn, algorithm, data: sealed }), data);
    });

    it(`of ${under} is whole blocks or refused`, () => {
      for (const length of [0, 1, blockBytes - 1, blockBytes + 1]) {
        const request = { baseKey, ksn, algorithm, data: Buffer.alloc(length) };
        assert.throws(() => decryptDukptData(request), refused('data_invalid'));
      }
    });
  }
});

describe('MACs', () => {
  const key = bytes('2B7E151628AED2A6ABF7158809CF4F3C');
  const message = bytes(
    '6BC1BEE22E409F96E93D7E117393172AAE2D8A571E03AC9C9EB76FAC45AF8E5130C81C46A35CE411E5FBC1191A0A52EFF69F2445DF4F9B17AD2B417BE66C3710',
  );

  for (const [length, mac] of [
    [0, 'BB1D6929E95937287FA37D129B756746'],
    [16, '070A16B46B4D4144F79BDD9DD04A287C'],
    [40, 'DFA66747DE9AE63030CA32611497C827'],
    [64, '51F0BEBF7E3B9D92FC49741779363CFE'],
  ] as const) {
    it(`of AES-CMAC over ${length} bytes are those of RFC 4493`, () => {
      assert.equal(hex(aesCmac(key, message.subarray(0, length))), mac);
    });
  }

  it('of the retail MAC are those of ISO/IEC 9797-1 annex B', () => {
    const text = Buffer.from('Now is the time for all ');
    assert.equal(hex(retailMac(tdesBase, text)), 'A1C72E74EA3FA9B6');
  });

  it('fill the last block of the retail MAC with zeros', () => {
    const short = Buffer.from('Now is the time for it');
    const filled = Buffer.concat([short, Buffer.alloc(2)]);
    assert.deepEqual(retailMac(tdesBase, short), retailMac(tdesBase, filled));
    assert.deepEqual(retailMac(tdesBase, Buffer.alloc(0)), retailMac(tdesBase, Buffer.alloc(8)));
  });

  it('refuse keys of other lengths', () => {
    assert.throws(() => retailMac(bytes('00'.repeat(24)), message), refused('key_invalid'));
    assert.throws(() => aesCmac(bytes('00'.repeat(15)), message), refused('key_invalid'));
  });
});

describe('wrapped keys', () => {
  const key = bytes('00112233445566778899AABBCCDDEEFF');

  it('under AES are those of RFC 3394 4.1', () => {
    const wrapping = bytes('000102030405060708090A0B0C0D0E0F');
    const wrapped = wrapKey(wrapping, key, 'Aes');
    assert.equal(hex(wrapped), '1FA68B0A8112B447AEF34BD8FB5A7B829D3E862371D2CFE5');
    assert.deepEqual(unwrapKey(wrapping, wrapped, 'Aes'), key);
    const other = bytes('FF0102030405060708090A0B0C0D0E0F');
    assert.throws(() => unwrapKey(other, wrapped, 'Aes'), refused('key_invalid'));
  });

  it('under TDES are the key block by block', () => {
    const wrapped = wrapKey(tdesBase, key, 'Tdes');
    assert.equal(wrapped.length, 16);
    assert.deepEqual(unwrapKey(tdesBase, wrapped, 'Tdes'), key);
  });

  it('of no length that a key has are refused', () => {
    assert.throws(() => wrapKey(tdesBase, bytes('0011'), 'Tdes'), refused('key_invalid'));
    assert.throws(() => unwrapKey(tdesBase, bytes('0011'), 'Tdes'), refused('key_invalid'));
    assert.throws(() => unwrapKey(aesBase, bytes('00'.repeat(23)), 'Aes'), refused('key_invalid'));
  });
});
