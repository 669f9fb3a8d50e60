// Tests how a process reads ahead for an endpoint, skips known deliveries, slows down and ends.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addDeliveries,
  createEndpointQueue,
  type EndpointQueue,
  endpointCallsMax,
  isIdle,
  nextRead,
  recordResponse,
} from './endpoint-queue.ts';
import type { DueDelivery } from './send-deliveries-sql.ts';

const key = { organizationId: 'o', endpointId: 'e' };
const keys = { keys: [], privateKeys: [], until: Number.POSITIVE_INFINITY };

const fresh = (failures = 0): EndpointQueue =>
  createEndpointQueue({ key, url: 'https://a.example/', version: 1, failures }, keys);

const due = (deliveryId: string): DueDelivery => ({
  ...key,
  deliveryId,
  eventId: deliveryId,
  attempts: 0,
  body: '{}',
  traceparent: null,
  dueAt: new Date(0),
  createdAt: new Date(0),
});

test('a delivery that is in flight, or was stored during the read, is not added twice', () => {
  const queue = fresh();
  const wish = nextRead(queue, 5_000);
  assert.ok(wish);
  assert.equal(wish.isFromStart, true);
  addDeliveries(queue, [due('1'), due('2'), due('3')], wish, new Set(['2']));
  assert.deepEqual(
    queue.waiting.map(({ deliveryId }) => deliveryId),
    ['1', '3'],
  );
  addDeliveries(queue, [due('1'), due('3'), due('4')], wish, new Set());
  assert.equal(queue.waiting.length, 3);
});

test('a queue with free slots reads after its last delivery, and from the start after a while', () => {
  const queue = fresh();
  const first = nextRead(queue, 5_000);
  assert.ok(first);
  const full = Array.from({ length: first.limit }, (_, index) => due(String(index)));
  addDeliveries(queue, full, first, new Set());
  assert.equal(nextRead(queue, 5_001), undefined, 'enough to do');
  queue.waiting = [];
  const second = nextRead(queue, 5_002);
  assert.equal(second?.isFromStart, false);
  assert.equal(second?.after.deliveryId, String(first.limit - 1));
  const third = nextRead(queue, 6_100);
  assert.equal(third?.isFromStart, true);
  assert.ok((third?.limit ?? 0) > queue.inFlight.size, 'deliveries in flight do not fill the page');
});

test('a queue is idle after an empty search or during a pause, but never while a delivery is in progress', () => {
  const queue = fresh();
  assert.equal(isIdle(queue, 5_000), false, 'no search has run yet');
  const wish = nextRead(queue, 5_000);
  assert.ok(wish);
  addDeliveries(queue, [], wish, new Set());
  assert.equal(isIdle(queue, 5_000), true);
  queue.running = 1;
  assert.equal(isIdle(queue, 5_000), false);
  queue.pausedUntil = 9_000;
  assert.equal(isIdle(queue, 5_000), false);
  queue.running = 0;
  assert.equal(isIdle(queue, 5_000), true);
  assert.equal(nextRead(queue, 5_000), undefined, 'a resting one reads nothing');
});

test('failures in a row shrink the window and bring a rest, and one success ends both', () => {
  const queue = fresh();
  for (let failure = 0; failure < 8; failure += 1)
    recordResponse(queue, { status: 500 }, { at: 1_000, due: 1_000 });
  assert.deepEqual([queue.window, queue.failures, queue.failingSince], [1, 8, 1_000]);
  assert.ok(queue.pausedUntil > 1_000);
  recordResponse(queue, { status: 204 }, { at: 9_000, due: 9_000 });
  assert.deepEqual([queue.window, queue.failures, queue.failingSince], [2, 0, undefined]);
  for (let success = 0; success < 99; success += 1)
    recordResponse(queue, { status: 200 }, { at: 9_000, due: 9_000 });
  assert.equal(queue.window, endpointCallsMax);
  assert.equal(fresh(3).window, 1, 'one that failed elsewhere begins with one call');
});
