// Tests how a process reads ahead for an endpoint, skips known deliveries, slows down and ends.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createLane,
  isIdle,
  type Lane,
  laneCallsMax,
  learn,
  takeIn,
  wishOf,
} from './endpoint-queue.ts';
import type { DueDelivery } from './send-deliveries-sql.ts';

const key = { organizationId: 'o', endpointId: 'e' };
const keys = { keys: [], privateKeys: [], until: Number.POSITIVE_INFINITY };

const fresh = (failures = 0): Lane =>
  createLane({ key, url: 'https://a.example/', version: 1, failures, failingSince: null }, keys);

const due = (deliveryId: string): DueDelivery => ({
  ...key,
  deliveryId,
  eventId: deliveryId,
  attempts: 0,
  body: '{}',
  dueAt: new Date(0),
  createdAt: new Date(0),
});

test('what is in hand, or was written down while the look was under way, is not taken twice', () => {
  const lane = fresh();
  const wish = wishOf(lane, 5_000);
  assert.ok(wish);
  assert.equal(wish.isFromStart, true);
  takeIn(lane, [due('1'), due('2'), due('3')], wish, new Set(['2']));
  assert.deepEqual(
    lane.queue.map(({ deliveryId }) => deliveryId),
    ['1', '3'],
  );
  takeIn(lane, [due('1'), due('3'), due('4')], wish, new Set());
  assert.equal(lane.queue.length, 3);
});

test('a lane with room reads on behind its last one, and begins anew after a while', () => {
  const lane = fresh();
  const first = wishOf(lane, 5_000);
  assert.ok(first);
  const full = Array.from({ length: first.limit }, (_, index) => due(String(index)));
  takeIn(lane, full, first, new Set());
  assert.equal(wishOf(lane, 5_001), undefined, 'enough to do');
  lane.queue = [];
  const second = wishOf(lane, 5_002);
  assert.equal(second?.isFromStart, false);
  assert.equal(second?.after.deliveryId, String(first.limit - 1));
  const third = wishOf(lane, 6_100);
  assert.equal(third?.isFromStart, true);
  assert.ok((third?.limit ?? 0) > lane.inHand.size, 'what is in hand does not fill the page');
});

test('a lane is let go when a whole look found nothing, when it rests, and never under way', () => {
  const lane = fresh();
  assert.equal(isIdle(lane, 5_000), false, 'nobody has looked yet');
  const wish = wishOf(lane, 5_000);
  assert.ok(wish);
  takeIn(lane, [], wish, new Set());
  assert.equal(isIdle(lane, 5_000), true);
  lane.running = 1;
  assert.equal(isIdle(lane, 5_000), false);
  lane.restingUntil = 9_000;
  assert.equal(isIdle(lane, 5_000), false);
  lane.running = 0;
  assert.equal(isIdle(lane, 5_000), true);
  assert.equal(wishOf(lane, 5_000), undefined, 'a resting one reads nothing');
});

test('failures in a row shrink the window and bring a rest, and one success ends both', () => {
  const lane = fresh();
  for (let failure = 0; failure < 8; failure += 1)
    learn(lane, { status: 500 }, { at: 1_000, due: 1_000 });
  assert.deepEqual([lane.window, lane.failures, lane.failingSince], [1, 8, 1_000]);
  assert.ok(lane.restingUntil > 1_000);
  learn(lane, { status: 204 }, { at: 9_000, due: 9_000 });
  assert.deepEqual([lane.window, lane.failures, lane.failingSince], [2, 0, undefined]);
  for (let success = 0; success < 99; success += 1)
    learn(lane, { status: 200 }, { at: 9_000, due: 9_000 });
  assert.equal(lane.window, laneCallsMax);
  assert.equal(fresh(3).window, 1, 'one that failed elsewhere begins with one call');
});
