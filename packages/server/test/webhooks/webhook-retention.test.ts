// Old deliveries, and deliveries of deleted events: the server deletes them or reports their state.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, describe, test } from 'node:test';
import {
  deleteDeliveriesOfEndpoint,
  deleteOldDeliveries,
  lowestDeliveryIdAt,
} from '../../src/webhooks/delivery/delivery-log-sql.ts';
import { createDatabaseRunner } from '../../src/webhooks/endpoints/endpoint-sql.ts';
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

  async function room(): Promise<TestWebhooks> {
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
        ages.map(
          (age) => lowestDeliveryIdAt(Date.now() - age).slice(0, 14) + randomUUID().slice(14),
        ),
      ],
    );

  test('are deleted by the age of their events, page by page, and younger ones stay', async () => {
    const on = await room();
    const made = await Promise.all(
      Array.from({ length: 3 }, () => on.endpoint('http://127.0.0.1:9/')),
    );
    for (const { endpointId } of made) {
      await insert(on, endpointId, [40 * day, 31 * day, 29 * day, 0]);
    }
    const { deleted, last } = await deleteOldDeliveries(
      createDatabaseRunner(on.database),
      Date.now() - 30 * day,
      undefined,
    );
    assert.deepEqual([deleted, last], [6, undefined]);
    for (const { endpointId } of made) {
      assert.deepEqual(await on.counts(endpointId), { Delivered: 2 });
    }
  });

  test('go on behind the last endpoint of a full page', async () => {
    const on = await room();
    const organizations = Array.from({ length: 3 }, () => randomUUID());
    await on.database.query(
      `INSERT INTO webhook_delivery_queues (organization_id, endpoint_id, lease_until, resting_until, failures)
       SELECT o, gen_random_uuid(), 'epoch', 'epoch', 0
       FROM unnest($1::uuid[]) AS r(o), generate_series(1, 40)`,
      [organizations],
    );
    const run = createDatabaseRunner(on.database);
    const first = await deleteOldDeliveries(run, Date.now(), undefined);
    assert.ok(first.last);
    const second = await deleteOldDeliveries(run, Date.now(), first.last);
    assert.deepEqual(second, { deleted: 0 });
  });

  test('of an endpoint that was deleted go in steps', async () => {
    const on = await room();
    const { endpointId } = await on.endpoint('http://127.0.0.1:9/');
    await insert(
      on,
      endpointId,
      Array.from({ length: 5_001 }, () => 0),
    );
    const run = createDatabaseRunner(on.database);
    assert.equal(await deleteDeliveriesOfEndpoint(run, on.organizationId, endpointId), true);
    assert.equal(await deleteDeliveriesOfEndpoint(run, on.organizationId, endpointId), false);
    assert.deepEqual(await on.counts(endpointId), {});
  });

  test('whose event the feed has forgotten fail, and say so', async () => {
    const on = await room();
    const to = await receiver();
    opened.push(to);
    const { endpointId } = await on.endpoint(to.url);
    await insert(on, endpointId, [0]);
    await on.database.query(
      `UPDATE webhook_deliveries SET status = 'Pending', attempts = 0 WHERE endpoint_id = $1`,
      [endpointId],
    );
    on.start();
    await eventually('it failed', async () => (await on.counts(endpointId))['Failed'] === 1);
    const { items } = await on.deliveries.list(on, { endpointId }, { limit: 1 });
    assert.equal(items[0]?.lastAttempt?.fault, 'event_expired');
    assert.equal(to.received.length, 0);
    const { view } = await on.endpoints.get(on, endpointId);
    assert.equal(view.health?.failures, 0, 'no fault of the endpoint');
  });
});
