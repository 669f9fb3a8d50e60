// Whole run: new RSA keys take long.
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { hostname, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createIdentity } from '../../packages/server/src/identity/index.ts';
import {
  createLog,
  systemClock,
  systemIdGenerator,
} from '../../packages/server/src/platform/index.ts';
import {
  testDatabase,
  testDatabaseUrl,
} from '../../packages/server/test/support/database/test-database.ts';
import { runAdminCommand } from './run-admin-command.fixture.ts';

type Run = Awaited<ReturnType<typeof runAdminCommand>>;
type Key = { keyId: string; algorithm: string; state: string; verifiesUntil: string | null };

const run = (args: readonly string[], variables: Record<string, string>) =>
  runAdminCommand(['realm-keys', ...args], variables);

describe('switchyard admin realm-keys', { concurrency: 2 }, () => {
  const masterKey = randomBytes(32);
  const domain = `realm-${randomUUID()}`;
  const organizationId = randomUUID();
  let dataDir = '';
  let variables: Record<string, string> = {};

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'switchyard-realm-'));
    variables = {
      SWITCHYARD_DATA_DIR: dataDir,
      SWITCHYARD_DATABASE_URL: await testDatabaseUrl(),
      SWITCHYARD_PLATFORM_KEY: masterKey.toString('base64'),
    };
    const log = createLog({ logLevel: 'silent', instanceName: 'test' });
    const identity = createIdentity({
      database: await testDatabase(),
      clock: systemClock,
      ids: systemIdGenerator,
      log,
      masterKey,
      settings: { authUrl: 'https://localhost:8443' },
      findDevice: async () => undefined,
    });
    await identity.createUserDomain({ userDomainId: domain, organizationId });
    await identity.close();
  });
  after(() => rm(dataDir, { recursive: true, force: true }));

  // Spec: IDENT-18
  test('publishes new keys, reports already published keys, and with --now replaces all keys', async () => {
    const keysOf = (done: Run) => (JSON.parse(done.stdout) as { keys: Key[] }).keys;
    const old = keysOf(await run(['list', domain, '--json'], variables));
    assert.deepEqual(
      old.map(({ state, verifiesUntil }) => [state, verifiesUntil]),
      [
        ['Signing', null],
        ['Signing', null],
      ],
    );
    const rotated = await run(['rotate', domain, '--json'], variables);
    assert.equal(rotated.code, 0, rotated.stderr);
    const states = keysOf(rotated).map(({ state }) => state);
    assert.deepEqual(states, ['Published', 'Published', 'Signing', 'Signing']);
    assert.ok(
      keysOf(rotated)
        .slice(2)
        .every(({ verifiesUntil }) => verifiesUntil !== null),
    );

    const again = await run(['rotate', domain], variables);
    assert.equal(again.code, 0, again.stderr);
    assert.match(again.stderr, /already/);
    assert.equal(again.stdout.trim().split('\n').length, 5, 'the titles and four keys');

    const replaced = await run(['rotate', domain, '--now', '--json'], variables);
    assert.equal(replaced.code, 0, replaced.stderr);
    const now = keysOf(replaced);
    assert.deepEqual(
      now.map(({ state }) => state),
      ['Signing', 'Signing'],
    );
    const before = new Set(keysOf(rotated).map(({ keyId }) => keyId));
    assert.ok(now.every(({ keyId }) => !before.has(keyId)));

    const records = await (await testDatabase()).query(
      `SELECT action, actor_kind AS kind, actor_client_id AS command, actor_subject AS account
       FROM audit_records WHERE organization_id = $1`,
      [organizationId],
    );
    const record = {
      action: 'userDomain.keysReplaced',
      kind: 'Command',
      command: 'admin realm-keys rotate',
      account: `${userInfo().username}@${hostname()}`,
    };
    assert.deepEqual(records, [record, record]);
  });

  test('fails with 1 where it cannot, says why, and prints no secret', async () => {
    const unknown = await run(['list', 'no-such-domain'], variables);
    assert.equal(unknown.code, 1);
    assert.match(unknown.stderr, /user domain does not exist/);
    const { SWITCHYARD_DATABASE_URL: _url, ...without } = variables;
    const nowhere = await run(['list', domain], without);
    assert.equal(nowhere.code, 1);
    assert.match(nowhere.stderr, /contains no platform/);
    for (const { stdout, stderr } of [unknown, nowhere]) {
      const secret = String(variables['SWITCHYARD_PLATFORM_KEY']);
      assert.equal(`${stdout}${stderr}`.includes(secret), false);
    }
  });

  test('ends with 2 where it is used wrongly, and explains itself', async () => {
    const wrong = [
      [],
      ['fly', domain],
      ['list'],
      ['list', 'a', 'b'],
      ['list', domain, '--now'],
      ['list', domain, '--fast'],
    ];
    for (const args of wrong) {
      const { code, stderr } = await run(args, variables);
      assert.equal(code, 2, args.join(' '));
      assert.match(stderr, /--help/);
    }
    const help = await run(['rotate', '--help'], variables);
    assert.equal(help.code, 0);
    assert.match(help.stdout, /stolen key/);
  });
});
