// The metric of waiting deliveries.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestWebhooks } from './test-webhooks.ts';

test('a metric shows the delay of the oldest delivery, and keeps its value without the database', async () => {
  const webhooks = await startTestWebhooks();
  try {
    const minutes = async () => {
      const text = await webhooks.metrics.registry.metrics();
      const dueSeconds = /^switchyard_webhook_oldest_due_seconds ([\d.e-]+)$/m.exec(text)?.[1];
      return Math.round(Number(dueSeconds) / 60);
    };
    const { endpointId } = await webhooks.endpoint('http://127.0.0.1:9/');
    assert.equal(await minutes(), 0);
    await webhooks.database.query(
      `INSERT INTO webhook_deliveries (organization_id, delivery_id, endpoint_id, event_id, type,
         position, status, attempts, due_at, log, created_at, updated_at)
       SELECT $1, gen_random_uuid(), $2, gen_random_uuid(), 'transaction.captured', 7, 'Pending', 0,
         now() - make_interval(mins => m), '[]', now(), now()
       FROM unnest(ARRAY[10, 3, -60]) AS r(m)`,
      [webhooks.organizationId, endpointId],
    );
    assert.equal(await minutes(), 10);
    await webhooks.database.close();
    assert.equal(await minutes(), 10);
  } finally {
    await webhooks.stop();
  }
});
