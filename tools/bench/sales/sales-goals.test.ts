import assert from 'node:assert/strict';
import { test } from 'node:test';
import { layOutTable } from '../report/report-table.ts';
import { compareWithGoals } from './sales-goals.ts';

test('each goal is compared with the baselines, and a figure without a measurement is not judged', () => {
  const { results, section } = compareWithGoals({
    kneePerSecond: 1200,
    fixedLine: { perSecond: 1500, postgresUs: 400 },
    postgresUsAtKnee: 560,
    bareServerKneePerSecond: 2000,
    at70: {
      platform: { p99Us: 50_000, cpuUs: { server: 480 } },
      bareServer: { p99Us: 20_000, cpuUs: { server: 400 } },
    },
    walBytesPerSale: 4012.4,
    residentHighestMib: 281,
  });
  assert.deepEqual(
    results.map(({ isReached }) => isReached),
    [true, false, true, false, false, true, true],
  );
  assert.deepEqual(results[0], {
    label: 'knee / fixed line',
    value: 0.8,
    target: { atLeast: 0.8 },
    isReached: true,
  });
  const text = layOutTable([section]);
  assert.match(text, /knee \/ knee of the bare server +0\.60 +at least 0\.75 +✗ missed/);
  assert.match(text, /write-ahead log per sale, at 70 % +4,012 B +at most 2,200 B +✗ missed/);
  assert.match(text, /allocated per sale +not measured/);
});
