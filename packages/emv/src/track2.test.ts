import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { EmvError } from './errors.ts';
import { parseTrack2 } from './track2.ts';

test('every way to write a track gives the same', () => {
  const text = '4111111111111111=30122010000000000';
  const ways = [text, `;${text}?`, '4111111111111111D30122010000000000F', text.replace('=', 'd')];
  for (const way of ways) {
    assert.deepEqual(parseTrack2(way), {
      pan: '4111111111111111',
      expiry: '3012',
      serviceCode: '201',
      text,
    });
  }
});

test('an invalid track is rejected without its value in the error', () => {
  const faults = [
    '',
    '4111111111111111',
    '4111111111111111=3013201',
    '4111111111111111=3012',
    '41111111111=3012201',
    '4111111111111111=3012201ABC',
    `4111111111111111=3012201${'0'.repeat(20)}`,
  ];
  for (const fault of faults) {
    assert.throws(
      () => parseTrack2(fault),
      (error) => error instanceof EmvError && error.message === 'track_invalid',
      fault,
    );
  }
});

test('no text makes the reader fail with anything but its own error', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[;\d=DF?]{0,45}$/), (text) => {
      try {
        assert.equal(parseTrack2(parseTrack2(text).text).text, parseTrack2(text).text);
      } catch (error) {
        assert.ok(error instanceof EmvError);
      }
    }),
  );
});
