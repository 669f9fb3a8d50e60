// Whole run: databases are made, started and stopped.
// Restores, fail-overs and copies of a real PostgreSQL under an open database.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import {
  migrationsFolder,
  withDatabaseName,
} from '../../../../test/support/database/migrated-database-template.ts';
import { until } from '../../../../test/support/wait-for-result.ts';
import {
  type PostgresServer,
  postgresServer,
} from '../../embedded-postgres/postgres-server.fixture.ts';
import { bucketSql } from '../../identifiers/bucket.ts';
import { systemIdGenerator } from '../../identifiers/ids.ts';
import { createLog } from '../../observability/log.ts';
import { systemClock } from '../../time/clock.ts';
import { type Database, openDatabase } from '../database.ts';
import { migrate } from '../migrations/migrate.ts';
import { createDatabaseTimeline, type DatabaseTimeline } from './database-timeline.ts';

const silent = createLog({ logLevel: 'silent', instanceName: 'test' });
const restorePoint = 'before_the_loss';

type Process = {
  readonly timeline: DatabaseTimeline;
  readonly database: Database;
  readonly logged: string[];
  /** Writes a payment as the repository does. */
  pay(): Promise<void>;
  close(): Promise<void>;
};

/** Behind a pooler the server changes without a new connection of the process. */
async function startProcess(
  url: string,
  dataDir: string,
  { isPooled = false, settlingMs = 100 } = {},
): Promise<Process> {
  const logged: string[] = [];
  const log = createLog(
    { logLevel: 'info', instanceName: 'test' },
    { write: (line: string) => void logged.push(line) },
  );
  const timeline = createDatabaseTimeline({ log, dataDir, pollMs: 50, settlingMs });
  const verify = isPooled ? {} : { verifyConnection: timeline.verifyConnection };
  const database = openDatabase({ url, log: silent, connections: 2, ...verify });
  try {
    await migrate(database, migrationsFolder, {
      log: silent,
      clock: systemClock,
      ids: systemIdGenerator,
    });
    await timeline.start(database);
  } catch (error) {
    await database.close();
    throw error;
  }
  return {
    timeline,
    database,
    logged,
    async pay() {
      const row = { organizationId: randomUUID(), transactionId: randomUUID(), version: 1 };
      const onCommitted = timeline.numbering.beginWrite();
      await database.query(insertPayment, [row.organizationId, row.transactionId]);
      onCommitted({ table: 'transactions', ...row });
    },
    async close() {
      await timeline.stop();
      await database.close();
    },
  };
}

const insertPayment = `INSERT INTO transactions (bucket, organization_id, transaction_id, merchant_id,
    client_transaction_id, contract_id, state, phase, amount, currency, over_capture_allowance, authorized, captured, cancelled,
    refunded, capture_reserved, cancel_reserved, refund_reserved, version, operation_count, deadline,
    created_at, updated_at)
  VALUES (${bucketSql('$2::uuid')}, $1, $2, gen_random_uuid(), 'client', gen_random_uuid(), 'Captured', 'Approved', 1, 'EUR', 0, 1, 1, 0,
    0, 0, 0, 0, 1, 0, now(), now(), now())`;

const numberOfPayments = async ({ database }: Process) =>
  (await database.query<{ n: number }>('SELECT count(*)::int AS n FROM transactions'))[0]?.n;

/** Until the pool has a connection again, which was verified. */
const reconnect = (node: Process) =>
  until(() => node.database.healthy().then((isUp) => isUp || undefined), 'a new connection');

function assertRecoveryRequired({ timeline }: Process): void {
  assert.equal(timeline.status().isRecoveryRequired, true);
  assert.throws(
    () => timeline.numbering.requireAvailable(),
    (error) => error instanceof ProblemError && error.code === 'recovery_required',
  );
}

/** The last numbers of the feed, the audit and the request log of an organisation. */
async function insertHeads({ database }: Process): Promise<void> {
  const organizationId = systemIdGenerator.uuid();
  await database.query('INSERT INTO feed_heads (organization_id, position) VALUES ($1, 7)', [
    organizationId,
  ]);
  await database.query(
    `INSERT INTO audit_heads (organization_id, sequence, hash, at, checkpoint_sequence)
     VALUES ($1, 7, '', now(), 0)`,
    [organizationId],
  );
  await database.query('INSERT INTO request_log_heads (organization_id, sequence) VALUES ($1, 7)', [
    organizationId,
  ]);
}

const readHeads = ({ database }: Process) =>
  database.query<{ position: number; skipped: number; sequence: number }>(
    `SELECT f.position::int AS position, a.skipped::int AS skipped, l.sequence::int AS sequence
     FROM feed_heads f JOIN audit_heads a USING (organization_id)
     JOIN request_log_heads l USING (organization_id)`,
  );

const headsAfterJump = [{ position: 1_000_007, skipped: 100_000, sequence: 1_007 }];

const recover = ({ database, timeline }: Process) =>
  database.transaction((trx) => timeline.recover(trx));

describe('database timeline', { concurrency: false }, () => {
  let base: string;
  let server: PostgresServer;
  let backup: string;
  let processes: Process[] = [];

  before(async () => {
    base = await mkdtemp(join(tmpdir(), 'switchyard-timeline-'));
    await chmod(base, 0o755);
    backup = join(base, 'backup');
    server = await postgresServer(join(base, 'first'));
    await server.start();
    await (await startProcess(server.url, join(base, 'setup'))).close();
    await server.stop();
    await server.backUp(backup);
  });
  after(() => rm(base, { recursive: true, force: true }));

  async function start(
    dataDir: string,
    options: { url?: string; isPooled?: boolean; settlingMs?: number } = {},
  ): Promise<Process> {
    const started = await startProcess(options.url ?? server.url, dataDir, options);
    processes.push(started);
    return started;
  }

  async function withServer(work: (dataDir: string) => Promise<void>): Promise<void> {
    const directory = join(base, randomUUID());
    await mkdir(directory, { mode: 0o755 });
    server = await postgresServer(join(directory, 'server'), backup);
    await server.start();
    try {
      await work(join(directory, 'data'));
    } finally {
      for (const each of processes) await each.close();
      processes = [];
      await server.stop();
    }
  }

  async function restore(): Promise<void> {
    await server.query('SELECT pg_switch_wal()');
    await server.stop();
    await server.restore(backup, restorePoint);
    await server.start();
  }

  const createRestorePoint = () =>
    server.query(`SELECT pg_create_restore_point('${restorePoint}')`);

  /** Loses the only payment, whose process has ended. */
  async function restoreBeforeOnlyPayment(dataDir: string): Promise<void> {
    const node = await start(dataDir);
    await createRestorePoint();
    await node.pay();
    await node.close();
    await restore();
  }

  // Spec: INV-17
  test('a restore that loses an acknowledged payment stops new numbers in all processes until the recovery', () =>
    withServer(async (dataDir) => {
      const node = await start(dataDir);
      const idle = await start(`${dataDir}-idle`);
      await node.pay();
      await createRestorePoint();
      await node.pay();
      await restore();
      await reconnect(node);
      assertRecoveryRequired(node);
      assert.equal(await numberOfPayments(node), 1);
      await until(
        () => idle.timeline.status().isRecoveryRequired || undefined,
        'the other process',
      );
      assert.match(node.logged.join(''), /"level":"error".*the database went back in time/);
      const { jumps } = node.timeline.status();
      assert.ok(jumps >= 1);

      await insertHeads(node);
      assert.equal(await recover(idle), true);
      assert.equal(await recover(idle), false, 'a second recovery changes nothing');
      assert.deepEqual(await readHeads(node), headsAfterJump);
      await until(
        () => node.timeline.numbering.isAvailable() || undefined,
        'the end of the recovery',
      );
      assert.equal(node.timeline.status().jumps, jumps + 1);
      await node.pay();
      await node.timeline.refresh();
      assert.equal(node.timeline.numbering.isAvailable(), true);
    }));

  test('after a restore that loses no payment the numbers jump, and payments continue', () =>
    withServer(async (dataDir) => {
      const node = await start(dataDir);
      const settling = await start(`${dataDir}-settling`, { settlingMs: 3_600_000 });
      await node.pay();
      await insertHeads(node);
      await createRestorePoint();
      await restore();
      await reconnect(settling);
      assert.throws(
        () => settling.timeline.numbering.requireAvailable(),
        (error) => error instanceof ProblemError && error.code === 'database_unavailable',
        'other processes may still compare their last payments',
      );
      await reconnect(node);
      const { isRecoveryRequired, jumps, timeline } = node.timeline.status();
      assert.deepEqual(
        { isRecoveryRequired, jumps, timeline },
        { isRecoveryRequired: false, jumps: 1, timeline: 2 },
      );
      assert.deepEqual(await readHeads(node), headsAfterJump);
      // The first process to compare logs the decision.
      const logged = [...node.logged, ...settling.logged].join('');
      assert.match(logged, /no acknowledged payment is missing/);
      await until(
        () => node.timeline.numbering.isAvailable() || undefined,
        'the end of the settling',
      );
    }));

  test('a process that restarts after the restore compares the file in its data directory', () =>
    withServer(async (dataDir) => {
      await restoreBeforeOnlyPayment(dataDir);
      assertRecoveryRequired(await start(dataDir));
    }));

  // Spec: INV-19
  test('a loss is detected by the position of the log, if the file in the data directory names no payment', () =>
    withServer(async (dataDir) => {
      const node = await start(dataDir);
      await createRestorePoint();
      // The position moves to the next segment, which the restored database does not reach.
      await server.query('SELECT pg_switch_wal()');
      await node.timeline.refresh();
      await node.pay();
      await node.close();
      const file = join(dataDir, 'database-timeline.json');
      const record = JSON.parse(await readFile(file, 'utf8')) as { writes: unknown[] };
      assert.equal(record.writes.length, 1);
      await writeFile(file, JSON.stringify({ ...record, writes: [] }));
      await restore();
      assertRecoveryRequired(await start(dataDir));
    }));

  test('if processes restart without a data directory after a restore, the numbers jump and the log warns', () =>
    withServer(async (dataDir) => {
      await restoreBeforeOnlyPayment(dataDir);
      const restarted = await start(`${dataDir}-new`);
      assert.equal(restarted.timeline.status().jumps, 1);
      assert.equal(restarted.timeline.numbering.isAvailable(), true);
      assert.match(restarted.logged.join(''), /"level":"warn".*no record of its last writes/);
      const later = await start(`${dataDir}-later`);
      assert.equal(later.timeline.status().jumps, 1, 'the numbers jump once for each timeline');
    }));

  // Spec: INV-19
  test('without a data directory, a copy of the database on the same server makes the numbers jump', () =>
    withServer(async (dataDir) => {
      const node = await start(dataDir);
      await insertHeads(node);
      await node.close();
      const restored = withDatabaseName(server.url, 'restored');
      // The same result as dropdb, createdb and pg_restore.
      await server.query(
        'CREATE DATABASE restored TEMPLATE postgres',
        withDatabaseName(server.url, 'template1'),
      );
      const copied = await start(`${dataDir}-new`, { url: restored });
      assert.equal(copied.timeline.status().jumps, 1);
      assert.equal(copied.timeline.status().timeline, 1, 'the server has the same timeline');
      assert.deepEqual(await readHeads(copied), headsAfterJump);
      assert.match(copied.logged.join(''), /"level":"warn".*no record of its last writes/);
      const later = await start(`${dataDir}-later`, { url: restored });
      assert.equal(later.timeline.status().jumps, 1, 'the numbers jump once for each copy');
    }));

  // Spec: INV-19
  test('tables that pg_restore --clean created again make the numbers jump, also in a running process', () =>
    withServer(async (dataDir) => {
      const node = await start(dataDir);
      await server.query(
        `BEGIN; ALTER TABLE database_timeline RENAME TO dropped;
         CREATE TABLE database_timeline (LIKE dropped INCLUDING ALL);
         INSERT INTO database_timeline SELECT * FROM dropped; DROP TABLE dropped; COMMIT`,
      );
      await until(() => node.timeline.status().jumps === 1 || undefined, 'the comparison');
      assert.equal(node.timeline.status().isRecoveryRequired, false);
      const restarted = await start(`${dataDir}-new`);
      assert.equal(restarted.timeline.status().jumps, 1);
    }));

  // Spec: INV-17
  test('a restore that creates all tables before it loads their rows does not hide lost payments', () =>
    withServer(async (dataDir) => {
      const other = await start(`${dataDir}-other`);
      await other.pay();
      await other.close();
      const node = await start(dataDir);
      await server.query('CREATE TABLE dumped AS SELECT * FROM database_timeline');
      await node.pay();
      await server.query(
        `BEGIN; ALTER TABLE database_timeline RENAME TO dropped;
         CREATE TABLE database_timeline (LIKE dropped INCLUDING ALL); DROP TABLE dropped;
         DELETE FROM transactions; COMMIT`,
      );
      const failedPolls = () => node.logged.join('').split('timeline could not be read').length - 1;
      await until(() => failedPolls() >= 2 || undefined, 'two comparisons during the restore');
      assert.equal(node.timeline.numbering.isAvailable(), false);
      await assert.rejects(
        start(`${dataDir}-other`),
        (error) => error instanceof ProblemError && error.code === 'database_unavailable',
        'a process with a file waits too',
      );
      await server.query('INSERT INTO database_timeline SELECT * FROM dumped');
      await until(() => node.timeline.status().isRecoveryRequired || undefined, 'the comparison');
      assertRecoveryRequired(node);
      assertRecoveryRequired(await start(`${dataDir}-other`));
    }));

  // Spec: INV-17
  test('a second restore before the recovery is compared with the same payments', () =>
    withServer(async (dataDir) => {
      const node = await start(dataDir);
      await server.query('CREATE TABLE dumped AS SELECT * FROM database_timeline');
      await node.pay();
      await node.close();
      for (const restore of [1, 2]) {
        await server.query(
          `BEGIN; ALTER TABLE database_timeline RENAME TO dropped;
           CREATE TABLE database_timeline (LIKE dropped INCLUDING ALL); DROP TABLE dropped;
           INSERT INTO database_timeline SELECT * FROM dumped; DELETE FROM transactions; COMMIT`,
        );
        const restarted = await start(dataDir);
        assertRecoveryRequired(restarted);
        assert.equal(restarted.timeline.status().jumps, restore, 'no number is used twice');
        await restarted.close();
      }
    }));

  test('a process that was down during the recovery does not require another one', () =>
    withServer(async (dataDir) => {
      const [node, other] = [await start(dataDir), await start(`${dataDir}-other`)];
      await createRestorePoint();
      await other.pay();
      await node.pay();
      await other.close();
      await restore();
      await reconnect(node);
      assertRecoveryRequired(node);
      await recover(node);
      await node.pay();
      const restarted = await start(`${dataDir}-other`);
      assert.equal(restarted.timeline.status().isRecoveryRequired, false);
    }));

  // Spec: INV-17
  test('a snapshot of the disk, which has no new timeline, is detected by the position and the payments', () =>
    withServer(async (dataDir) => {
      const node = await start(dataDir);
      await node.pay();
      await server.stop();
      await server.replace(backup);
      await server.start();
      await reconnect(node);
      assertRecoveryRequired(node);
      assert.equal(node.timeline.status().timeline, 1);
    }));

  test('behind a pooler the comparison of each second detects a restore', () =>
    withServer(async (dataDir) => {
      const node = await start(dataDir, { isPooled: true });
      await createRestorePoint();
      await node.pay();
      await restore();
      await until(() => node.timeline.status().isRecoveryRequired || undefined, 'the comparison');
      assertRecoveryRequired(node);
    }));

  test('a server on an older timeline than before is not used', () =>
    withServer(async (dataDir) => {
      const node = await start(dataDir);
      await createRestorePoint();
      await restore();
      await reconnect(node);
      assert.equal(node.timeline.status().timeline, 2);
      await server.stop();
      await server.replace(backup);
      await server.start();
      await assert.rejects(
        node.database.query('SELECT 1'),
        (error) => error instanceof ProblemError && error.code === 'database_unavailable',
      );
      assert.match(node.logged.join(''), /on an older timeline than before/);
    }));

  test('a second loss after the recovery is detected', () =>
    withServer(async (dataDir) => {
      const node = await start(dataDir);
      for (const loss of [1, 2]) {
        await node.pay();
        await server.stop();
        await server.replace(backup);
        await server.start();
        await reconnect(node);
        assertRecoveryRequired(node);
        assert.equal(await recover(node), true, `loss ${loss}`);
        await until(() => node.timeline.numbering.isAvailable() || undefined, 'the recovery');
        assert.equal(node.timeline.status().jumps, loss * 2);
      }
    }));

  test('after a crash of the database server that loses nothing the numbers do not jump', () =>
    withServer(async (dataDir) => {
      const node = await start(dataDir);
      await node.pay();
      await node.timeline.refresh();
      await node.pay();
      process.kill(server.pid(), 'SIGQUIT');
      await server.stop();
      await server.start();
      await reconnect(node);
      const { isRecoveryRequired, jumps } = node.timeline.status();
      assert.deepEqual({ isRecoveryRequired, jumps }, { isRecoveryRequired: false, jumps: 0 });
    }));
});
