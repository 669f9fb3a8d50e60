import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createLog, openDatabase } from '../../packages/server/src/platform/index.ts';
import { testDatabaseCopyUrl } from '../../packages/server/test/support/database/test-database.ts';
import { runAdminCommand } from './run-admin-command.fixture.ts';

test('the audit records the operator, its user and its new secret as changes by the command', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'switchyard-operator-'));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const url = await testDatabaseCopyUrl();
  const log = createLog({ logLevel: 'silent', instanceName: 'test' });
  const database = openDatabase({ url, log, connections: 1 });
  t.after(() => database.close());
  const variables = {
    SWITCHYARD_DATA_DIR: dataDir,
    SWITCHYARD_DATABASE_URL: url,
    SWITCHYARD_PLATFORM_KEY: randomBytes(32).toString('base64'),
  };
  const create = ['operator', 'create', '--administrator', 'Ops@pay.example'];
  for (const command of [create, ['operator', 'rotate-secret']]) {
    const { code, stderr } = await runAdminCommand(command, variables);
    assert.equal(code, 0, stderr);
  }
  const records = await database.query<{ action: string; kind: string; command: string }>(
    `SELECT action, actor_kind AS kind, actor_client_id AS command
     FROM audit_records ORDER BY organization_id, sequence`,
  );
  assert.deepEqual(
    records.map(({ action, kind, command }) => [action, kind, command]),
    [
      ['organization.created', 'Command', 'admin operator create'],
      ['userDomain.created', 'Command', 'admin operator create'],
      ['application.created', 'Command', 'admin operator create'],
      ['application.created', 'Command', 'admin operator create'],
      ['user.created', 'Command', 'admin operator create'],
      ['application.secretRenewed', 'Command', 'admin operator rotate-secret'],
    ],
  );
});
