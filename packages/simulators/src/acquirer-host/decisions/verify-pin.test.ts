// PINs at the host: a correct PIN is accepted, a wrong PIN is 55, an undecryptable PIN block is 86.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { buildPinBlock, sealPinBlock } from '@switchyard/pin';
import { verifyPin } from './verify-pin.ts';

const pan = `4${'1'.repeat(15)}`;
const key = randomBytes(16);
const numbers = { ISO0: '00', ISO3: '03', ISO4: '04' } as const;
type Format = keyof typeof numbers;

const requestOf = (pin: number[], format: Format) => ({
  de52: sealPinBlock(format, key, buildPinBlock(format, pin, pan), pan).toString('hex'),
  de53: `${numbers[format]}01000000000000`,
  pan,
  key,
});

describe('the PIN of a request', () => {
  for (const format of Object.keys(numbers) as Format[]) {
    it(`${format}: 1234 is right, every other is 55`, () => {
      const responseCodeOf = (pin: number[]) => verifyPin(requestOf(pin, format));
      assert.equal(responseCodeOf([1, 2, 3, 4]), undefined);
      assert.equal(responseCodeOf([4, 3, 2, 1]), '55');
      assert.equal(responseCodeOf([1, 2, 3, 4, 5]), '55');
    });
  }

  it('another key, no key, half a block and an unknown format are 86', () => {
    const request = requestOf([1, 2, 3, 4], 'ISO0');
    assert.equal(verifyPin({ ...request, key: undefined }), '86');
    assert.equal(verifyPin({ ...request, de52: request.de52.slice(2) }), '86');
    assert.equal(verifyPin({ ...request, de53: undefined }), '86');
    assert.equal(verifyPin({ ...request, de53: '0701000000000000' }), '86');
    assert.notEqual(verifyPin({ ...request, key: randomBytes(16) }), undefined);
    assert.notEqual(verifyPin({ ...request, pan: '5413330089010012' }), undefined);
  });
});
