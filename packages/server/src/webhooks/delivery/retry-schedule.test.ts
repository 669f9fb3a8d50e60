// Tests the retry schedule, the Retry-After header and the pauses of failing endpoints.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  findPauseMs,
  findRetryDelayMs,
  nextWindow,
  parseRetryAfterMs,
  retryDelaysMs,
  toOutcome,
} from './retry-schedule.ts';

const all = (ms: number) => ms;
const noJitter = () => 0;

// Spec: EVT-12
test('the pauses are those of Standard Webhooks, with a fifth by chance at most', () => {
  const total = retryDelaysMs.reduce((sum, ms) => sum + ms, 0);
  assert.equal(total, ((75 * 60 + 35) * 60 + 5) * 1000);
  const failed = { status: 500 };
  assert.equal(findRetryDelayMs(1, failed, retryDelaysMs, noJitter), 5_000);
  assert.equal(findRetryDelayMs(1, failed, retryDelaysMs, all), 6_000);
  assert.equal(findRetryDelayMs(9, failed, retryDelaysMs, noJitter), 86_400_000);
  assert.equal(findRetryDelayMs(10, failed, retryDelaysMs, noJitter), undefined);
});

test('a receiver can extend the retry delay up to an hour, and cannot shorten it', () => {
  const busy = (retryAfterMs: number) => ({ status: 429, retryAfterMs });
  assert.equal(findRetryDelayMs(1, busy(60_000), retryDelaysMs, noJitter), 60_000);
  assert.equal(findRetryDelayMs(1, busy(1), retryDelaysMs, noJitter), 5_000);
  assert.equal(findRetryDelayMs(1, busy(1e12), retryDelaysMs, noJitter), 3_600_000);
});

test('Retry-After is seconds or a date, and anything else is nothing', () => {
  const now = Date.parse('2026-03-01T00:00:00Z');
  assert.equal(parseRetryAfterMs('120', now), 120_000);
  assert.equal(parseRetryAfterMs('Sun, 01 Mar 2026 00:01:00 GMT', now), 60_000);
  assert.equal(parseRetryAfterMs('Sat, 28 Feb 2026 00:01:00 GMT', now), 0);
  for (const odd of [undefined, '', '-5', '1.5', 'soon', '99999999999999', '2026-03-01', '٣']) {
    assert.equal(parseRetryAfterMs(odd, now), undefined, String(odd));
  }
});

test('2xx alone is a success, and 410 alone is the end', () => {
  for (const status of [200, 202, 204, 299]) assert.equal(toOutcome({ status }), 'Delivered');
  for (const status of [100, 199, 300, 301, 304, 307, 400, 401, 404, 409, 429, 500, 999]) {
    assert.equal(toOutcome({ status }), 'Failed');
  }
  assert.equal(toOutcome({ status: 410 }), 'Gone');
  assert.equal(toOutcome({ fault: 'timed_out' }), 'Failed');
});

test('deliveries to an endpoint pause after eight failures, or at once after status 429, 502, 503 or 504', () => {
  const failed = { status: 500 };
  for (let failures = 1; failures < 8; failures += 1)
    assert.equal(findPauseMs(failures, failed), 0);
  const rests = [8, 9, 10, 11, 12, 13, 99].map((failures) => findPauseMs(failures, failed));
  assert.deepEqual(rests, [5_000, 15_000, 60_000, 300_000, 900_000, 900_000, 900_000]);
  for (const status of [429, 502, 503, 504]) {
    assert.equal(findPauseMs(1, { status }), 5_000);
    assert.equal(findPauseMs(1, { status, retryAfterMs: 30_000 }), 30_000);
  }
});

test('a failing endpoint has one call at a time after a few failures, and grows back one by one', () => {
  let window = 32;
  for (let failure = 0; failure < 5; failure += 1) window = nextWindow(window, false, 32);
  assert.equal(window, 1);
  assert.equal(nextWindow(window, false, 32), 1);
  for (let success = 0; success < 40; success += 1) window = nextWindow(window, true, 32);
  assert.equal(window, 32);
});
