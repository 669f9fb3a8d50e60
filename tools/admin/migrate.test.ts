import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createLog, openDatabase } from '../../packages/server/src/platform/index.ts';
import { testSchemaUrl } from '../../packages/server/test/support/database/test-database.ts';
import { runAdminCommand } from './run-admin-command.fixture.ts';

test('admin migrate creates the schema of an empty database, and a second run changes nothing', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'switchyard-migrate-'));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const url = await testSchemaUrl();
  const variables = {
    SWITCHYARD_DATA_DIR: dataDir,
    SWITCHYARD_DATABASE_URL: url,
    SWITCHYARD_PLATFORM_KEY: randomBytes(32).toString('base64'),
  };
  const log = createLog({ logLevel: 'silent', instanceName: 'test' });
  const database = openDatabase({ url, log, connections: 1 });
  t.after(() => database.close());
  const readHistory = () => database.query('SELECT version, finished_at FROM schema_migrations');
  const first = await runAdminCommand(['migrate'], variables);
  assert.equal(first.code, 0, first.stderr);
  const history = await readHistory();
  assert.ok(history.length > 0);
  const second = await runAdminCommand(['migrate', '--json'], variables);
  assert.deepEqual(JSON.parse(second.stdout), { isUpToDate: true });
  assert.deepEqual(await readHistory(), history);
});
