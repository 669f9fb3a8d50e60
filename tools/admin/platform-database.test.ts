import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  createLog,
  openDatabase,
  storePlatformKeyCheck,
} from '../../packages/server/src/platform/index.ts';
import {
  testDatabaseCopyUrl,
  testDatabaseUrl,
} from '../../packages/server/test/support/database/test-database.ts';
import { createAuditAndJobs, withExistingPlatform } from './platform-database.ts';

test('the application_name of a database connection names the command', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'switchyard-command-'));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const variables = {
    SWITCHYARD_DATA_DIR: dataDir,
    SWITCHYARD_DATABASE_URL: await testDatabaseUrl(),
    SWITCHYARD_PLATFORM_KEY: randomBytes(32).toString('base64'),
    SWITCHYARD_INSTANCE_NAME: 'pay-1',
  };
  await withExistingPlatform(variables, 'realm-keys', async ({ database }) => {
    const rows = await database.query("SELECT current_setting('application_name') AS name");
    assert.deepEqual(rows, [{ name: 'switchyard pay-1 realm-keys' }]);
  });
});

test('a command with another platform key is refused, and stores no key of its own', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'switchyard-command-'));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const databaseUrl = await testDatabaseCopyUrl();
  const openAudit = () =>
    withExistingPlatform(
      {
        SWITCHYARD_DATA_DIR: dataDir,
        SWITCHYARD_DATABASE_URL: databaseUrl,
        SWITCHYARD_PLATFORM_KEY: randomBytes(32).toString('base64'),
      },
      'realm-keys',
      async (platform) => void (await createAuditAndJobs(platform)),
    );
  await openAudit();
  await openAudit();
  const database = openDatabase({
    url: databaseUrl,
    log: createLog({ logLevel: 'silent', instanceName: 'test' }),
    connections: 1,
  });
  t.after(() => database.close());
  await storePlatformKeyCheck(database, randomBytes(32));
  await assert.rejects(openAudit(), /SWITCHYARD_PLATFORM_KEY is not the key of this database/);
});
