import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createMetrics } from '../../platform/index.ts';
import { createSample } from './sample-server.fixture.ts';

it('requests are counted by operation and status, never by URL', async () => {
  const metrics = createMetrics();
  const sample = await createSample({ metrics });
  try {
    await sample.app.inject({ url: '/sample/v1/fault' });
    await sample.app.inject({ url: '/sample/v1/things?limit=1' });
    await sample.app.inject({ url: '/somewhere/secret' });
    const text = await metrics.registry.metrics();
    const counted = (operation: string, status: number) =>
      text.includes(
        `switchyard_http_request_duration_seconds_count{operation="${operation}",status="${status}"} 1`,
      );
    assert.ok(counted('getFault', 500), text);
    assert.ok(counted('listThings', 401));
    assert.ok(counted('none', 404));
    assert.ok(!text.includes('secret'));
    assert.match(text, /switchyard_http_load_ratio \d/);
    assert.match(text, /switchyard_http_requests_in_flight 0/);
  } finally {
    await sample.close();
    metrics.close();
  }
});
