import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import { testDatabase, testDatabaseUrl } from '../../../test/support/database/test-database.ts';
import { eventually } from '../../../test/support/wait-for-condition.ts';
import { createLog } from '../observability/log.ts';
import { createMetrics } from '../observability/metrics.ts';
import { applicationName, joinRoleNames } from './application-name.ts';
import { parseSafeInteger, parseTimestamp } from './column-parsers.ts';
import { type Database, openDatabase, type Queries } from './database.ts';
import { isRetryable, toDatabaseProblem } from './database-errors.ts';
import { registerDatabaseMetrics } from './database-metrics.ts';

const log = createLog({ logLevel: 'silent', instanceName: 'test' });

function failure(code: string): Error {
  return Object.assign(new Error('simulated'), { code });
}

describe('column values', () => {
  test('int8 is a number, and is never rounded', async () => {
    const database = await testDatabase();
    const [row] = await database.query('SELECT 9007199254740991::int8 AS n, 5::int4 AS i');
    assert.deepEqual(row, { n: Number.MAX_SAFE_INTEGER, i: 5 });
    await assert.rejects(database.query('SELECT 9007199254740992::int8'), RangeError);
    assert.throws(() => parseSafeInteger('-9007199254740992'), RangeError);
    const [sum] = await database.query('SELECT sum(n) AS n FROM (VALUES (1::int8)) AS v(n)');
    assert.deepEqual(sum, { n: '1' });
  });

  test('a timestamp of any format is a Date with milliseconds', async () => {
    const database = await testDatabase();
    const instants = ['2026-01-02T03:04:05.678Z', '1999-12-31T23:59:59.000Z'];
    for (const instant of instants) {
      const [row] = await database.query('SELECT $1::timestamptz AS t', [instant]);
      assert.deepEqual(row, { t: new Date(instant) });
    }
    assert.deepEqual(
      parseTimestamp('2026-01-02 03:04:05.6+00'),
      new Date('2026-01-02T03:04:05.600Z'),
    );
    assert.deepEqual(parseTimestamp('2026-01-02 03:04:05.678901+00'), new Date(instants[0] ?? ''));
    assert.deepEqual(parseTimestamp('2026-01-02 05:04:05.678+02'), new Date(instants[0] ?? ''));
    assert.equal(parseTimestamp('infinity'), Number.POSITIVE_INFINITY);
  });
});

describe('database', () => {
  test('only statements of the sale have special planner settings', async () => {
    const database = await testDatabase();
    const text = "SELECT current_setting('enable_seqscan') AS seqscan";
    assert.deepEqual(await database.hot({ name: 'test-seqscan', text }, []), [{ seqscan: 'off' }]);
    assert.deepEqual(await database.query(text), [{ seqscan: 'on' }]);
    const plan = await database.explain('SELECT * FROM jobs WHERE bucket = $1 AND job_id = $2');
    assert.match(plan.join('\n'), /Index Cond: \(\(bucket = \$1\) AND \(job_id = \$2\)\)/);
  });

  test('a prepared statement is stored by its name and has the usual plan', async () => {
    const database = openDatabase({ url: await testDatabaseUrl(), log, connections: 1 });
    try {
      const text = "SELECT $1::int AS n, current_setting('enable_seqscan') AS seqscan";
      const statement = { name: 'test-prepared', text };
      for (const n of [1, 2]) {
        assert.deepEqual(await database.query(statement, [n]), [{ n, seqscan: 'on' }]);
      }
      await database.transaction((trx) => trx.query({ name: 'test-in-transaction', text }, [3]));
      const preparedStatements = await database.query(
        'SELECT name FROM pg_prepared_statements ORDER BY name DESC',
      );
      assert.deepEqual(preparedStatements, [
        { name: 'test-prepared' },
        { name: 'test-in-transaction' },
      ]);
      const name = 'x'.repeat(64);
      await assert.rejects(database.query({ name, text }, [1]), RangeError);
    } finally {
      await database.close();
    }
  });

  test('only statements without a free connection count as waiting', async () => {
    const database = openDatabase({ url: await testDatabaseUrl(), log, connections: 1 });
    const metrics = createMetrics();
    registerDatabaseMetrics(metrics, database);
    try {
      await database.query('SELECT 1');
      // The metric database_up runs a statement itself.
      assert.match(await metrics.registry.metrics(), /requests_waiting\{pool="general"\} 0\n/);
      const statements = [1, 2, 3].map((n) => database.query(`SELECT ${n}`));
      assert.equal(database.poolUsage()['general']?.waiting, 2);
      await Promise.all(statements);
    } finally {
      await database.close();
    }
  });

  // Spec: SET-28
  test('connections name the instance and the roles of the process', async () => {
    const name = applicationName('pay-1', joinRoleNames(new Set(['jobs', 'cards'])));
    assert.equal(name, 'switchyard pay-1 cards+jobs');
    const all = new Set(['cards', 'identity', 'connector', 'portal', 'jobs']);
    assert.equal(applicationName('pay-1', joinRoleNames(all)), 'switchyard pay-1 all');
    const long = applicationName(`${'x'.repeat(58)}-42-ab`, 'cards+connector+identity+portal');
    assert.match(long, /^switchyard x{14}-42-ab cards\+connector\+identity\+portal$/);
    assert.equal(long.length, 63);
    for (const preparedStatements of [true, false]) {
      const url = await testDatabaseUrl();
      const database = openDatabase({ url, log, preparedStatements, applicationName: long });
      try {
        const text = "SELECT current_setting('application_name') AS name";
        const hot = { name: 'test-application-name', text };
        assert.deepEqual(await database.query(text), [{ name: long }]);
        assert.deepEqual(await database.hot(hot, []), [{ name: long }]);
        assert.deepEqual(await database.session((queries) => queries.query(text)), [
          { name: long },
        ]);
      } finally {
        await database.close();
      }
    }
  });

  test('a connection that looks for the writable host names the process too', async () => {
    const startupMessages: string[] = [];
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', (message) => {
        startupMessages.push(message.toString('latin1'));
        socket.destroy();
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const hosts = `127.0.0.1:${port},127.0.0.1:${port}`;
    const url = `postgresql://pay@${hosts}/pay?target_session_attrs=read-write&sslmode=disable`;
    const database = openDatabase({ url, log, applicationName: 'switchyard pay-1 all' });
    try {
      await assert.rejects(database.query('SELECT 1'), { code: 'database_unavailable' });
      assert.ok(startupMessages.length >= 2);
      for (const message of startupMessages) {
        assert.match(message, /\0application_name\0switchyard pay-1 all\0/);
      }
    } finally {
      await database.close();
      server.close();
    }
  });

  test('statements work without prepared statements and connection options', async () => {
    const database = openDatabase({ url: await testDatabaseUrl(), log, preparedStatements: false });
    try {
      const statement = {
        name: 'test-unnamed',
        text: 'SELECT count(*) AS n FROM pg_prepared_statements',
      };
      assert.deepEqual(await database.hot(statement, []), [{ n: 0 }]);
      assert.deepEqual(await database.query(statement, []), [{ n: 0 }]);
      await eventually('it answers', () => database.healthy());
    } finally {
      await database.close();
    }
  });

  test('two transactions that deadlock both succeed', async () => {
    const database = await testDatabase();
    const [left, right] = [randomUUID(), randomUUID()];
    await database.query(
      `INSERT INTO jobs (bucket, organization_id, job_id, kind, payload, due_at, created_at)
       SELECT 0, $1, id, 'test-deadlock', '{}', 'infinity', now() FROM unnest($2::uuid[]) AS id`,
      [randomUUID(), [left, right]],
    );
    let runs = 0;
    let lockedRows = 0;
    // Each transaction locks its first row before the other requests its second: the deadlock is certain.
    const bothHold = Promise.withResolvers<void>();
    const bump = (first: string, second: string) =>
      database.transaction(async (trx) => {
        runs += 1;
        await trx.query('UPDATE jobs SET attempts = attempts + 1 WHERE job_id = $1', [first]);
        lockedRows += 1;
        if (lockedRows === 2) {
          bothHold.resolve();
        }
        await bothHold.promise;
        await trx.query('UPDATE jobs SET attempts = attempts + 1 WHERE job_id = $1', [second]);
      });
    await Promise.all([bump(left, right), bump(right, left)]);
    assert.ok(runs > 2, 'one of them was tried again');
    const rows = await database.query('SELECT attempts FROM jobs WHERE job_id IN ($1, $2)', [
      left,
      right,
    ]);
    assert.deepEqual(rows, [{ attempts: 2 }, { attempts: 2 }]);
  });

  test('a failed transaction writes nothing and reports its error', async () => {
    const database = await testDatabase();
    const organizationId = randomUUID();
    const insert = (trx: Queries) =>
      trx.query(
        `INSERT INTO outbox (bucket, organization_id, outbox_id, kind, subject_id, sequence, created_at)
       VALUES (0, $1, $1, 'test-rollback', $1, 1, now())`,
        [organizationId],
      );
    await assert.rejects(
      database.transaction(async (trx) => {
        await insert(trx);
        throw new Error('no');
      }),
      /^Error: no$/,
    );
    await assert.rejects(
      database.transaction(async (trx) => {
        await insert(trx);
        await insert(trx);
      }),
      { code: '23505' },
    );
    const rows = await database.query('SELECT 1 FROM outbox WHERE organization_id = $1', [
      organizationId,
    ]);
    assert.deepEqual(rows, []);
  });

  test('a statement after the end of its transaction is not executed', async () => {
    const database = await testDatabase();
    const ended = await database.transaction(async (trx) => trx);
    await assert.rejects(ended.query('SELECT 1'), /^Error: the transaction has ended$/);
  });

  test('a transaction whose failed statement was caught reports that it wrote nothing', async () => {
    const database = await testDatabase();
    const caught = database.transaction(async (trx) => {
      await trx.query('SELECT 1 / 0').catch(() => undefined);
      return 'written';
    });
    await assert.rejects(caught, /an earlier statement had failed/);
    assert.equal((await database.query('SELECT 1 AS one')).length, 1);
  });

  test('a lost connection is one error, and the next query works', async () => {
    const database = openDatabase({ url: await testDatabaseUrl(), log, connections: 1 });
    const other = await testDatabase();
    try {
      const [{ pid } = { pid: 0 }] = await database.query<{ pid: number }>(
        'SELECT pg_backend_pid() AS pid',
      );
      const sleeping = database.query('SELECT pg_sleep(30)');
      const refused = assert.rejects(
        sleeping,
        (error) =>
          error instanceof ProblemError &&
          error.code === 'database_unavailable' &&
          error.outcome === 'Unknown' &&
          error.retryAfterMs === 1000,
      );
      await other.query('SELECT pg_terminate_backend($1)', [pid]);
      await refused;
      assert.deepEqual(await database.query('SELECT 1 AS n'), [{ n: 1 }]);
      // Lost while idle inside a transaction: no event may end the process.
      await assert.rejects(
        database.transaction(async (trx) => {
          const [own] = await trx.query('SELECT pg_backend_pid() AS pid');
          await other.query('SELECT pg_terminate_backend($1)', [own?.['pid']]);
          await trx.query('SELECT pg_sleep(1)');
        }),
        { code: 'database_unavailable' },
      );
      await eventually('it answers', () => database.healthy());
    } finally {
      await database.close();
    }
  });

  test('an unavailable server is an error with the outcome NotProcessed', async () => {
    const nowhere = openDatabase({
      url: 'postgresql:///postgres?host=/nowhere&user=switchyard',
      log,
    });
    const refusal = (error: unknown) =>
      error instanceof ProblemError &&
      error.code === 'database_unavailable' &&
      error.outcome === 'NotProcessed';
    await assert.rejects(nowhere.query('SELECT 1'), refusal);
    await assert.rejects(nowhere.hot({ name: 'x', text: 'SELECT 1' }, []), refusal);
    await assert.rejects(
      nowhere.transaction(async () => {}),
      refusal,
    );
    await assert.rejects(
      nowhere.session(async () => {}),
      refusal,
    );
    assert.equal(await nowhere.healthy(), false);
    await nowhere.close();
  });

  test('a silent server is an error after the time-out of its URL', async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as AddressInfo;
    const url = `postgresql://somebody@127.0.0.1:${port}/none?sslmode=disable&connect_timeout=1`;
    const database = openDatabase({ url, log });
    const usual = openDatabase({ url: url.replace('&connect_timeout=1', ''), log });
    try {
      const ended: string[] = [];
      const refused = async (name: string, database: Database) => {
        await assert.rejects(database.query('SELECT 1'), { code: 'database_unavailable' });
        ended.push(name);
      };
      const beganMs = performance.now();
      // Five seconds if the URL does not set it.
      const later = refused('usual', usual);
      await refused('told', database);
      assert.ok(performance.now() - beganMs >= 990);
      await later;
      assert.deepEqual(ended, ['told', 'usual']);
    } finally {
      await database.close();
      await usual.close();
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => silent.close(resolve));
    }
  });

  test('a database can be closed twice, and refuses queries afterwards', async () => {
    const database = openDatabase({ url: await testDatabaseUrl(), log });
    await eventually('it answers', () => database.healthy());
    await database.close();
    await database.close();
    await assert.rejects(database.query('SELECT 1'), { code: 'database_unavailable' });
  });

  test('endless serialization failures are refused as overloaded', async () => {
    const database = await testDatabase();
    let runs = 0;
    await assert.rejects(
      database.transaction(async () => {
        runs += 1;
        throw failure('40001');
      }),
      { code: 'overloaded' },
    );
    assert.equal(runs, 6);
  });
});

describe('driver errors', () => {
  test('errors are classified by their code', () => {
    for (const code of ['40001', '40P01']) assert.ok(isRetryable(failure(code)));
    for (const code of ['08006', '53300', '57P01', '57P03', '58030', 'ECONNREFUSED', 'ENOENT']) {
      assert.ok(toDatabaseProblem(failure(code), true) instanceof ProblemError, code);
    }
    for (const code of ['23505', '22P02', '42601', 'ERR_INVALID_ARG_TYPE']) {
      const error = failure(code);
      assert.equal(toDatabaseProblem(error, true), error, code);
    }
    const cancelled = toDatabaseProblem(failure('57014'), true);
    assert.ok(cancelled instanceof ProblemError && cancelled.outcome === 'NotProcessed');
  });
});
