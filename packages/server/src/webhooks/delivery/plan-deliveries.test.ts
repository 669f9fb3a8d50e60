// Tests which events an endpoint gets, and that a delivery has one fixed identifier.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deliveryIdOf, subscribesTo } from './plan-deliveries.ts';

const eventId = '019823f0-5d2c-7a31-9a53-0c6f1f2e9b11';
const endpointId = '019823f8-55ee-72b9-9d88-a071e4d5b399';

test('an event has one delivery for each endpoint, with an identifier that sorts by time', () => {
  const one = deliveryIdOf(eventId, endpointId);
  assert.match(one, /^019823f0-5d2c-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(deliveryIdOf(eventId, endpointId), one);
  assert.notEqual(deliveryIdOf(eventId, eventId), one);
  const later = deliveryIdOf('019823f0-5d2d-7a31-9a53-0c6f1f2e9b11', endpointId);
  assert.ok(later > one);
  const many = Array.from({ length: 1000 }, (_, index) =>
    deliveryIdOf(`019823f0-5d2c-7a31-9a53-${String(index).padStart(12, '0')}`, endpointId),
  );
  assert.equal(new Set(many).size, 1000);
});

test('an endpoint gets only its event types, and only the events of its merchant if it has one', () => {
  const event = { type: 'transaction.captured', merchantId: 'm1' };
  const asking = (eventTypes: string[], merchantId: string | null = null) => ({
    eventTypes,
    merchantId,
  });
  assert.ok(subscribesTo(asking(['*']), event));
  assert.ok(subscribesTo(asking(['batch.completed', 'transaction.*']), event));
  assert.ok(subscribesTo(asking(['transaction.captured'], 'm1'), event));
  assert.ok(!subscribesTo(asking(['transaction.refunded']), event));
  assert.ok(!subscribesTo(asking(['*'], 'm2'), event));
  // Only the organisation gets events that belong to no merchant.
  assert.ok(!subscribesTo(asking(['*'], 'm1'), { ...event, merchantId: null }));
});
