// Whole run: the key rounds take long.
// The commands on the keys of stored cards, beside a platform and without a key of it.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  createLog,
  type Database,
  migrate,
  openDatabase,
  systemClock,
  systemIdGenerator,
} from '../../packages/server/src/platform/index.ts';
import { createLocalKeyProvider } from '../../packages/server/src/vault/key-providers/open-key-provider.ts';
import {
  migrationsFolder,
  testDatabaseCopyUrl,
} from '../../packages/server/test/support/database/test-database.ts';
import {
  openTestVault,
  type TestVault,
} from '../../packages/server/test/support/hsm/test-vault.ts';
import { runAdminCommand } from './run-admin-command.fixture.ts';

const card = { pan: '4000000000000010', expiry: '3012' };

type Run = Awaited<ReturnType<typeof runAdminCommand>>;

const run = (args: readonly string[], variables: Record<string, string>) =>
  runAdminCommand(['vault', ...args], variables);

describe('switchyard admin vault', { concurrency: 2 }, () => {
  const organizationId = systemIdGenerator.uuid();
  let dataDir = '';
  let database: Database;
  let testVault: TestVault;
  let variables: Record<string, string> = {};

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'switchyard-vault-'));
    const url = await testDatabaseCopyUrl();
    const log = createLog({ logLevel: 'silent', instanceName: 'test' });
    database = openDatabase({ url, log, connections: 2 });
    await migrate(database, migrationsFolder, { log, clock: systemClock, ids: systemIdGenerator });
    const master = randomBytes(32);
    testVault = await openTestVault({ database, provider: createLocalKeyProvider(master) });
    variables = {
      SWITCHYARD_DATA_DIR: dataDir,
      SWITCHYARD_DATABASE_URL: url,
      // Named as for the platform, and not opened: it is not there.
      SWITCHYARD_VAULT_KEY_FILE: join(dataDir, 'absent.key'),
    };
  });
  after(async () => {
    await testVault.close();
    await database.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  test('lists keys, rotates them, and lists the accesses to card numbers', async () => {
    const { vault } = testVault;
    const fingerprint = vault.fingerprintCard(organizationId, card);
    const token = await vault.tokenizeCard(organizationId, card, fingerprint);
    await vault.detokenizeCard(organizationId, token, { purpose: 'Refund', actor: 'till-1' });
    await vault.drain();

    type Key = { organizationId: string; purpose: string; state: string; wrappedBy: string };
    const keysOf = (done: Run) => (JSON.parse(done.stdout) as { keys: Key[] }).keys;
    const status = await run(['status', '--json'], variables);
    assert.equal(status.code, 0, status.stderr);
    assert.deepEqual(
      keysOf(status).map(({ purpose, state }) => [purpose, state]),
      [
        ['Index', 'Active'],
        ['Data', 'Active'],
      ],
    );
    const rotated = await run(
      ['rotate-keys', '--organization', organizationId, '--json'],
      variables,
    );
    assert.equal(rotated.code, 0, rotated.stderr);
    assert.deepEqual(JSON.parse(rotated.stdout), { organizations: [organizationId] });
    const [job] = await database.query<{ kind: string; due_at: Date }>(
      `SELECT kind, due_at FROM jobs WHERE organization_id = $1 AND kind = 'vault-round'`,
      [organizationId],
    );
    assert.ok(job !== undefined && job.due_at.getTime() <= Date.now());
    const records = await database.query(
      `SELECT action, actor_kind AS kind, actor_client_id AS command
       FROM audit_records WHERE organization_id = $1`,
      [organizationId],
    );
    assert.deepEqual(records, [
      { action: 'vault.keyReplaced', kind: 'Command', command: 'admin vault rotate-keys' },
    ]);
    await testVault.runRound(organizationId);
    const text = await run(['status', '--organization', organizationId], variables);
    assert.match(text.stdout, /Retiring .*\n.*Active /);
    assert.deepEqual(
      await vault.detokenizeCard(organizationId, token, { purpose: 'Refund', actor: 'x' }),
      card,
    );

    const accessesOutput = await run(
      ['accesses', '--organization', organizationId, '--json'],
      variables,
    );
    const { accesses } = JSON.parse(accessesOutput.stdout) as {
      accesses: Record<string, string>[];
    };
    const [first] = accesses;
    assert.deepEqual(
      [first?.['purpose'], first?.['actor'], first?.['result'], first?.['token']],
      ['Refund', 'till-1', 'Opened', token],
    );
    const lines = await run(['accesses', '--organization', organizationId], variables);
    assert.match(lines.stdout, /Opened +Refund +till-1/);
    for (const { stdout } of [status, text, accessesOutput, lines])
      assert.doesNotMatch(stdout, /400000/);
  });

  test('fails with 1 where it cannot, and with 2 where it is used wrongly', async () => {
    const { SWITCHYARD_DATABASE_URL: _url, ...without } = variables;
    const nowhere = await run(['status'], without);
    assert.equal(nowhere.code, 1);
    assert.match(nowhere.stderr, /contains no platform/);
    const wrong = [
      ['status', '--all'],
      ['rotate-keys'],
      ['rotate-keys', '--all', '--organization', organizationId],
      ['accesses', '--organization', organizationId, '--from', 'once'],
      ['accesses', '--organization', organizationId, '--limit', '0'],
    ];
    const ends = await Promise.all(wrong.map((args) => run(args, variables)));
    for (const [index, end] of ends.entries()) {
      assert.equal(end.code, 2, wrong[index]?.join(' '));
      assert.match(end.stderr, /error: .*--(?:all|organization|from|limit)/);
    }
  });
});
