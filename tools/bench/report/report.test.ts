import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatReport } from './report.ts';

test('the calibration of the machine before and after the run is printed', () => {
  const text = formatReport({ figures: {}, sections: [], notes: [] }, 7, {
    cpu: 'A',
    cores: 2,
    memoryGib: 4,
    system: 'Linux',
    node: 'v24',
    loadBefore: 0,
    calibration: {
      before: { cpuWorkMs: 204.4, pipeRoundTripUs: 21.04 },
      after: { cpuWorkMs: 210.6, pipeRoundTripUs: 22 },
    },
  });
  assert.match(text, /CPU work 204, 211 ms; pipe round trip 21\.0, 22\.0 µs\n/);
});
