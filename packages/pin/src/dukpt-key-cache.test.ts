// Cached derivations give the same keys as new derivations, for any order of counters.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  aesWorkingKey,
  createDukptKeys,
  type KeySerialNumber,
  PinError,
  readKsn,
  tdesWorkingKey,
} from './index.ts';

const tdesBase = Buffer.from('0123456789ABCDEFFEDCBA9876543210', 'hex');
const aesBase = Buffer.from('FEDCBA9876543210F1F1F1F1F1F1F1F1', 'hex');

const onesOf = (counter: number) => counter.toString(2).replaceAll('0', '').length;
const counters = (most: number, ones: number) =>
  fc.integer({ min: 1, max: most }).filter((counter) => onesOf(counter) <= ones);

const cases = [
  {
    scheme: 'DukptTdes',
    base: tdesBase,
    ksn: (device: number, counter: number) =>
      readKsn(`FFFF98765432${(device * 0x200000 + counter).toString(16).padStart(8, '0')}`),
    counter: counters(0x1f_ffff, 10),
    fresh: (ksn: KeySerialNumber, purpose: 'pin' | 'data') =>
      tdesWorkingKey(tdesBase, ksn, purpose === 'pin' ? 'pin' : 'dataRequest'),
  },
  {
    scheme: 'DukptAes',
    base: aesBase,
    ksn: (device: number, counter: number) =>
      readKsn(`12345678${String(device).padStart(8, '0')}${counter.toString(16).padStart(8, '0')}`),
    counter: counters(0xffff_ffff, 16),
    fresh: (ksn: KeySerialNumber, purpose: 'pin' | 'data') =>
      aesWorkingKey(aesBase, ksn, purpose === 'pin' ? 'pin' : 'dataEncrypt'),
  },
] as const;

for (const { scheme, base, ksn, counter, fresh } of cases) {
  describe(`cached keys of ${scheme}`, () => {
    const device = fc.integer({ min: 0, max: 3 });
    const purpose = fc.constantFrom('pin' as const, 'data' as const);

    it('equal newly derived keys, in any order', () => {
      // Three of four devices are kept: some come back after they were forgotten.
      const keys = createDukptKeys(base, scheme, { devicesMost: 3 });
      fc.assert(
        fc.property(device, counter, purpose, (one, count, what) => {
          const number = ksn(one, count);
          assert.deepEqual(keys.workingKey(number, what), fresh(number, what));
        }),
        { numRuns: 300 },
      );
    });

    it('equal newly derived keys, in the order of a device', () => {
      const keys = createDukptKeys(base, scheme);
      for (let count = 1; count < 300; count += 1) {
        const number = ksn(1, count);
        assert.deepEqual(keys.workingKey(number, 'pin'), fresh(number, 'pin'));
      }
    });

    it('are of one scheme, and gone when they are forgotten', () => {
      const keys = createDukptKeys(base, scheme);
      const number = ksn(1, 5);
      const before = keys.workingKey(number, 'pin');
      const other = scheme === 'DukptAes' ? cases[0].ksn(1, 1) : cases[1].ksn(1, 1);
      assert.throws(() => keys.workingKey(other, 'pin'), PinError);
      keys.forget();
      assert.notDeepEqual(keys.workingKey(number, 'pin'), before);
    });
  });
}
