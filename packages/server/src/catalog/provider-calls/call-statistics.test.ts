import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CallCount } from './call-count-sql.ts';
import { addCall, countIntervalMs, countRetentionMs } from './call-counter.ts';
import { summarizeCalls } from './call-statistics.ts';

const began = Date.parse('2026-03-01T10:00:00.000Z');
const count = (members: Partial<CallCount>): CallCount => ({
  serviceId: 's',
  call: 'create',
  at: began,
  answered: 0,
  failed: 0,
  totalMs: 0,
  longestMs: 0,
  fault: undefined,
  faultAt: undefined,
  ...members,
});
const summarize = (...counts: CallCount[]) =>
  summarizeCalls('s', counts, { from: began, to: began + 86_400_000 });

describe('the statistics of a provider server', () => {
  test('is said by the last steps in which it was called', () => {
    assert.equal(summarize().status, 'Quiet');
    assert.equal(summarize(count({ answered: 3 })).status, 'Up');
    assert.equal(summarize(count({ answered: 3, failed: 1 })).status, 'Degraded');
    assert.equal(summarize(count({ failed: 1 })).status, 'Down');
    assert.equal(summarize(count({ answered: 5, failed: 5 })).status, 'Down');
    const bad = count({ failed: 50 });
    const good = [1, 2, 3].map((step) =>
      count({ at: began + step * countIntervalMs, answered: 1 }),
    );
    assert.equal(summarize(bad, ...good).status, 'Up', 'old failures do not count');
    assert.equal(summarize(bad, ...good.slice(0, 2)).status, 'Down');
  });

  test('is summarized for each call with counts, times and the last fault', () => {
    const faultAt = began + 1_000;
    const { calls } = summarize(
      count({ answered: 2, totalMs: 30, longestMs: 20 }),
      count({ call: 'health', answered: 1, totalMs: 5, longestMs: 5 }),
      count({
        at: began + countIntervalMs,
        failed: 1,
        totalMs: 30,
        longestMs: 30,
        fault: 'timeout',
        faultAt,
      }),
      count({ at: began + 2 * countIntervalMs, answered: 1 }),
    );
    assert.deepEqual(calls, [
      {
        call: 'create',
        answered: 3,
        failed: 1,
        meanMs: 15,
        longestMs: 30,
        lastFault: { at: '2026-03-01T10:00:01.000Z', reason: 'timeout' },
      },
      { call: 'health', answered: 1, failed: 0, meanMs: 5, longestMs: 5 },
    ]);
  });

  test('is summarized for each hour, without hours that have no calls', () => {
    const { hours } = summarize(
      count({ answered: 1 }),
      count({ at: began + countIntervalMs, failed: 1 }),
      count({ at: began + 3 * 3_600_000 + countIntervalMs, answered: 2 }),
    );
    assert.deepEqual(hours, [
      { at: '2026-03-01T10:00:00.000Z', answered: 1, failed: 1 },
      { at: '2026-03-01T13:00:00.000Z', answered: 2, failed: 0 },
    ]);
  });
});

test('the statistics count each call once, and store at most 100 characters of a fault', () => {
  const call = { serviceId: 's', call: 'create', ms: 12.4 };
  const good = addCall(count({}), { ...call, isAnswered: true }, began);
  assert.deepEqual([good.answered, good.failed, good.totalMs, good.longestMs], [1, 0, 12, 12]);
  const fault = 'x'.repeat(500);
  const bad = addCall(good, { ...call, isAnswered: false, ms: -1, fault }, began);
  assert.deepEqual([bad.answered, bad.failed, bad.totalMs, bad.longestMs], [1, 1, 12, 12]);
  assert.deepEqual([bad.fault?.length, bad.faultAt], [100, began]);
  assert.ok(countRetentionMs > countIntervalMs);
});
