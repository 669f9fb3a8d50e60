// Whole run: databases are made, started and stopped.
// A primary and its standby, both real: a fail-over needs no new address and no restart.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { ProblemError } from '@switchyard/contract';
import {
  copyTemplateCluster,
  testPostgresSettings,
} from '../../../test/support/database/migrated-database-template.ts';
import {
  type PostgresRelay,
  startPostgresRelay,
} from '../../../test/support/database/postgres-tcp-relay.ts';
import { until } from '../../../test/support/wait-for-result.ts';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../embedded-postgres/embedded-postgres.ts';
import { createLog } from '../observability/log.ts';
import { type Database, openDatabase } from './database.ts';

const log = createLog({ logLevel: 'silent', instanceName: 'test' });
const connectSeconds = 5;
const insert = { name: 'test-fail-over', text: 'INSERT INTO fail_over VALUES ($1) RETURNING n' };
const replicating = { ...testPostgresSettings, wal_level: 'replica', max_wal_senders: '4' };

describe('several database hosts', () => {
  let directory: string;
  let primary: EmbeddedPostgres;
  let standby: EmbeddedPostgres;
  let ports: PostgresRelay[];
  let database: Database;

  const start = (name: string, settings: Record<string, string> = {}) =>
    startEmbeddedPostgres({
      dataDir: join(directory, name),
      log,
      settings: { ...replicating, ...settings },
    });

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'switchyard-hosts-'));
    await copyTemplateCluster(join(directory, 'primary'));
    const first = await start('primary');
    await first.stop();
    await mkdir(join(directory, 'standby'), { mode: 0o711 });
    const copied = ['-a', join(directory, 'primary/data'), join(directory, 'standby')];
    await promisify(execFile)('cp', copied);
    await writeFile(join(directory, 'standby/data/standby.signal'), '');
    primary = await start('primary');
    const socket = new URL(primary.url).searchParams.get('host');
    standby = await start('standby', {
      primary_conninfo: `host=${socket} port=5432 user=switchyard`,
    });
    ports = await Promise.all([
      startPostgresRelay(),
      startPostgresRelay(standby.url),
      startPostgresRelay(primary.url),
    ]);
    const hosts = ports.map(({ port }) => `127.0.0.1:${port}`).join(',');
    const query = `target_session_attrs=read-write&sslmode=disable&connect_timeout=${connectSeconds}`;
    const url = `postgresql://switchyard@${hosts}/postgres?${query}`;
    database = openDatabase({ url, log, connections: 2, hotConnections: 1 });
  });

  after(async () => {
    await database.close();
    for (const port of ports) await port.close();
    await standby.stop();
    await primary.stop();
    await rm(directory, { recursive: true, force: true });
  });

  // Spec: SET-32
  test('writes go to the primary, and to the standby after its promotion', async () => {
    const beganMs = performance.now();
    await database.query('CREATE TABLE fail_over (n int)');
    await database.hot(insert, [1]);
    await database.session((queries) => queries.query('INSERT INTO fail_over VALUES (2)'));
    assert.ok(performance.now() - beganMs < connectSeconds * 1000, 'the silent host holds up none');

    await primary.stop();
    const lost = (error: unknown) =>
      error instanceof ProblemError && error.code === 'database_unavailable';
    const write = (n: number) => () =>
      database.hot(insert, [n]).catch((error: unknown) => {
        assert.ok(lost(error), String(error));
        return undefined;
      });
    await until(async () => ((await write(3)()) === undefined ? true : undefined), 'the loss');
    const query = database.session((queries) => queries.query('SELECT 1'));
    await assert.rejects(query, (error) => {
      assert.ok(error instanceof ProblemError && error.outcome === 'NotProcessed');
      assert.match(String(error.logDetail), /^no database host accepts writes: .*read-only/);
      return lost(error);
    });

    const other = openDatabase({ url: standby.url, log, connections: 1 });
    await other.query('SELECT pg_promote()');
    await other.close();
    await until(write(4), 'writes at the other host', 60_000);
    await database.transaction(async () => {});
    const rows = await database.query('SELECT n FROM fail_over WHERE n <> 3 ORDER BY n');
    assert.deepEqual(
      rows.map(({ n }) => n),
      [1, 2, 4],
    );
    assert.equal(await database.healthy(), true);
  });
});
