// Counters that raise an alarm start at 0, so that the alarm sees the first event.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createApplication } from '../../src/application.ts';
import { createLog, readSettings } from '../../src/platform/index.ts';
import { testDatabase } from '../support/database/test-database.ts';

test('the alarm counters of jobs, the card vault and webhooks start at 0; without an HSM, its metrics are absent', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'switchyard-metrics-'));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const settings = readSettings({
    SWITCHYARD_DATA_DIR: dataDir,
    SWITCHYARD_LOG_LEVEL: 'silent',
    SWITCHYARD_HSM: 'none',
  });
  const log = createLog(settings);
  const application = await createApplication({ settings, database: await testDatabase(), log });
  t.after(() => application.stop());
  const lines = (await application.metrics.registry.metrics()).split('\n');
  for (const series of [
    'switchyard_jobs_repeated_failures_total{kind="accounts.email"}',
    'switchyard_vault_keys_unwrapped_total{outcome="refused"}',
    'switchyard_vault_keys_unwrapped_total{outcome="unavailable"}',
    'switchyard_vault_pan_access_log_failures_total',
    'switchyard_webhook_endpoints_disabled_total{reason="Gone"}',
    'switchyard_webhook_endpoints_disabled_total{reason="Unreachable"}',
  ]) {
    assert.ok(lines.includes(`${series} 0`), series);
  }
  assert.deepEqual(
    lines.filter((line) => line.includes('switchyard_hsm_')),
    [],
  );
});
