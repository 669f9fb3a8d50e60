// Whole run: commands as users start them, each a process of its own.
// A failed start says why, on standard error and in the log, and its exit code says whether a retry can help.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { createLog, openDatabase, storePlatformKeyCheck } from '../../src/platform/index.ts';
import { startPostgresRelay } from '../support/database/postgres-tcp-relay.ts';
import { testDatabaseCopyUrl, testDatabaseUrl } from '../support/database/test-database.ts';
import { freePorts } from '../support/free-ports.ts';
import { assertReason, startInProduction } from '../support/processes/production-start.ts';

const password = 'correct-horse';

test('a database that does not answer is named with its host, port and setting, and the exit code is 1', async (t) => {
  const [port] = await freePorts(1);
  const ended = await startInProduction(t, {
    SWITCHYARD_DATABASE_URL: `postgresql://switchyard:${password}@127.0.0.1:${port}/pay`,
  });
  assert.equal(ended.status, 1);
  assertReason(
    ended,
    new RegExp(
      `^The database at 127\\.0\\.0\\.1:${port} is not available: connect ECONNREFUSED .*SWITCHYARD_DATABASE_URL`,
    ),
  );
  assert.doesNotMatch(ended.stdout + ended.stderr, new RegExp(password));
});

test('a refused user and a missing database are named with host and setting, and only the user ends with 78', async (t) => {
  const relay = await startPostgresRelay(await testDatabaseUrl());
  t.after(() => relay.close());
  const at = `127.0.0.1:${relay.port}`;
  for (const [user, database, reason, exitCode] of [
    ['stranger', 'postgres', 'role "stranger" does not exist', 78],
    ['switchyard', 'absent', 'database "absent" does not exist', 1],
  ] as const) {
    const ended = await startInProduction(t, {
      SWITCHYARD_DATABASE_URL: `postgresql://${user}:${password}@${at}/${database}`,
    });
    assert.equal(ended.status, exitCode, ended.stderr);
    assertReason(
      ended,
      new RegExp(`SWITCHYARD_DATABASE_URL is refused by PostgreSQL at ${at}: ${reason}`),
    );
    assert.doesNotMatch(ended.stdout + ended.stderr, new RegExp(password));
  }
});

test('a wrong password ends the start with 1, because its replacement takes a moment', async (t) => {
  const fields = ['SFATAL', 'C28P01', 'Mpassword authentication failed', ''].join('\0');
  const body = Buffer.from(`${fields}\0`);
  const header = Buffer.from('E\0\0\0\0');
  header.writeInt32BE(body.length + 4, 1);
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(Buffer.concat([header, body])));
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const ended = await startInProduction(t, {
    SWITCHYARD_DATABASE_URL: `postgresql://switchyard:${password}@127.0.0.1:${port}/pay`,
  });
  assert.equal(ended.status, 1, ended.stderr);
  assertReason(ended, /SWITCHYARD_DATABASE_URL is refused .*: password authentication failed/);
});

test('the platform key of another database ends the start with 78, before the migrations', async (t) => {
  const url = await testDatabaseCopyUrl();
  const database = openDatabase({
    url,
    log: createLog({ logLevel: 'silent', instanceName: 'test' }),
    connections: 1,
  });
  t.after(() => database.close());
  await storePlatformKeyCheck(database, randomBytes(32));
  await database.query('DROP TABLE schema_migrations, schema_lease');
  const ended = await startInProduction(t, { SWITCHYARD_DATABASE_URL: url });
  assert.equal(ended.status, 78, ended.stderr);
  assertReason(
    ended,
    /SWITCHYARD_PLATFORM_KEY is not the key of this database.*use an empty database/,
  );
  const [created] = await database.query("SELECT to_regclass('schema_migrations') AS name");
  assert.equal(created?.['name'], null, 'the migrations have not begun');
});

test('a fault of the settings is one line of the log', async (t) => {
  const ended = await startInProduction(t, { SWITCHYARD_DATABASE_URL: 'mysql://pay' });
  assert.equal(ended.status, 78);
  assertReason(ended, /SWITCHYARD_DATABASE_URL is not a URL/);
});

test('with SWITCHYARD_LOG_LEVEL=silent a failed start writes no line of the log', async (t) => {
  const { status, stdout, stderr } = await startInProduction(t, {
    SWITCHYARD_DATABASE_URL: 'mysql://pay',
    SWITCHYARD_LOG_LEVEL: 'silent',
  });
  assert.equal(status, 78);
  assert.equal(stdout, '');
  assert.match(stderr, /SWITCHYARD_DATABASE_URL is not a URL/);
});
