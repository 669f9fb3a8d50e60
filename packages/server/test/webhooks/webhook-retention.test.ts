// Old deliveries, and deliveries of deleted events: the server deletes them or reports their state.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, describe, test } from 'node:test';
import { smallestUuidAt } from '../../src/platform/index.ts';
import {
  deleteDeliveriesOfEndpoint,
  deleteOldDeliveries,
} from '../../src/webhooks/delivery/delivery-log-sql.ts';
import { eventually } from '../support/wait-for-condition.ts';
import { startTestWebhooks, type TestWebhooks } from './test-webhooks.ts';
import { type Receiver, receiver } from './webhook-receiver.ts';

const day = 86_400_000;

describe('old deliveries', () => {
  let opened: (Receiver | TestWebhooks)[] = [];
  afterEach(async () => {
    for (const each of opened.toReversed()) await each.stop();
    opened = [];
  });

  async function openWebhooks(): Promise<TestWebhooks> {
    const made = await startTestWebhooks();
    opened.push(made);
    return made;
  }

  const insert = ({ database, organizationId }: TestWebhooks, endpointId: string, ages: number[]) =>
    database.query(
      `INSERT INTO webhook_deliveries (organization_id, delivery_id, endpoint_id, event_id, type,
         position, status, attempts, due_at, log, created_at, updated_at)
       SELECT $1, i, $2, i, 'transaction.captured', 7, 'Delivered', 1, now(), '[]', now(), now()
       FROM unnest($3::uuid[]) AS r(i)`,
      [
        organizationId,
        endpointId,
        ages.map((age) => smallestUuidAt(Date.now() - age).slice(0, 14) + randomUUID().slice(14)),
      ],
    );

  // Spec: QRPROV-40
  test('are deleted by the age of their events, page by page, and younger ones stay', async () => {
    const webhooks = await openWebhooks();
    const made = await Promise.all(
      Array.from({ length: 3 }, () => webhooks.endpoint('http://127.0.0.1:9/')),
    );
    for (const { endpointId } of made) {
      await insert(webhooks, endpointId, [40 * day, 31 * day, 29 * day, 0]);
    }
    const { deleted, last } = await deleteOldDeliveries(
      webhooks.database,
      Date.now() - 30 * day,
      undefined,
    );
    assert.deepEqual([deleted, last], [6, undefined]);
    for (const { endpointId } of made) {
      assert.deepEqual(await webhooks.counts(endpointId), { Delivered: 2 });
    }
  });

  test('go on behind the last endpoint of a full page', async () => {
    const webhooks = await openWebhooks();
    const organizations = Array.from({ length: 3 }, () => randomUUID());
    await webhooks.database.query(
      `INSERT INTO webhook_delivery_queues (organization_id, endpoint_id, lease_until, resting_until, failures)
       SELECT o, gen_random_uuid(), 'epoch', 'epoch', 0
       FROM unnest($1::uuid[]) AS r(o), generate_series(1, 40)`,
      [organizations],
    );
    const first = await deleteOldDeliveries(webhooks.database, Date.now(), undefined);
    assert.ok(first.last);
    const second = await deleteOldDeliveries(webhooks.database, Date.now(), first.last);
    assert.deepEqual(second, { deleted: 0 });
  });

  test('of an endpoint that was deleted go in steps', async () => {
    const webhooks = await openWebhooks();
    const { endpointId } = await webhooks.endpoint('http://127.0.0.1:9/');
    await insert(
      webhooks,
      endpointId,
      Array.from({ length: 5_001 }, () => 0),
    );
    assert.equal(
      await deleteDeliveriesOfEndpoint(webhooks.database, webhooks.organizationId, endpointId),
      true,
    );
    assert.equal(
      await deleteDeliveriesOfEndpoint(webhooks.database, webhooks.organizationId, endpointId),
      false,
    );
    assert.deepEqual(await webhooks.counts(endpointId), {});
  });

  test('whose event the feed has forgotten fail, and say so', async () => {
    const webhooks = await openWebhooks();
    const to = await receiver();
    opened.push(to);
    const { endpointId } = await webhooks.endpoint(to.url);
    await insert(webhooks, endpointId, [0]);
    await webhooks.database.query(
      `UPDATE webhook_deliveries SET status = 'Pending', attempts = 0 WHERE endpoint_id = $1`,
      [endpointId],
    );
    webhooks.start();
    await eventually('it failed', async () => (await webhooks.counts(endpointId))['Failed'] === 1);
    const { items } = await webhooks.deliveries.list(webhooks, { endpointId }, { limit: 1 });
    assert.equal(items[0]?.lastAttempt?.fault, 'event_expired');
    assert.equal(to.received.length, 0);
    const { view } = await webhooks.endpoints.get(webhooks, endpointId);
    assert.equal(view.health?.failures, 0, 'no fault of the endpoint');
  });
});
