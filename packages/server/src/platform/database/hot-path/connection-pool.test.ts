import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer, type Socket } from 'node:net';
import { after, describe, test } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import { testDatabase, testDatabaseUrl } from '../../../../test/support/database/test-database.ts';
import { createLog } from '../../observability/log.ts';
import { postgresTypeParsers } from '../column-parsers.ts';
import { createHotPool, type HotPool, type HotPoolOptions } from './connection-pool.ts';
import type { PreparedStatement } from './prepared-query.ts';

const log = createLog({ logLevel: 'silent', instanceName: 'test' });
const opened: HotPool[] = [];

async function open(options: Partial<HotPoolOptions> & { url?: string } = {}): Promise<HotPool> {
  const url = options.url ?? (await testDatabaseUrl());
  const pool = createHotPool({
    config: { connectionString: url, types: postgresTypeParsers, connectionTimeoutMillis: 60_000 },
    connections: 2,
    waitLimitMs: 60_000,
    silenceLimitMs: 45_000,
    log,
    ...options,
  });
  opened.push(pool);
  return pool;
}

after(() => Promise.all(opened.map((pool) => pool.end())));

const isUnavailable = (error: unknown) =>
  error instanceof ProblemError && error.code === 'database_unavailable';

const echo = {
  name: 'hot-echo',
  text: `SELECT $1::text AS text, $2::int8 AS n, $3::bool AS yes, $4::text[] AS list,
    $5::bytea AS bytes, $6::timestamptz AS at, $7::jsonb AS json`,
};

const run = async (pool: HotPool, statement: PreparedStatement, values: readonly unknown[]) =>
  (await pool.run([[statement, values]]))[0] ?? [];

describe('statements of the sale', () => {
  test('accept and return values of every type on every connection', async () => {
    const pool = await open();
    const awkward = ['', 'NULL', 'a "quoted" \\ one', '{,}', 'ä€😀', null];
    const bytes = Buffer.from([0, 1, 255]);
    const at = new Date('2026-01-02T03:04:05.678Z');
    const values = ['x', 12, true, awkward, bytes, at, '{"a":[1]}'];
    const row = { text: 'x', n: 12, yes: true, list: awkward, bytes, at, json: { a: [1] } };
    const empty = Object.fromEntries(Object.keys(row).map((name) => [name, null]));
    for (let round = 0; round < 3; round += 1) {
      const rounds = [values, values.map(() => null), values.map(() => undefined)];
      const answers = await Promise.all(rounds.map((each) => run(pool, echo, each)));
      assert.deepEqual(answers, [[row], [empty], [empty]]);
    }
    const nested = { name: 'hot-nested', text: 'SELECT $1::int4[] AS list' };
    const lists = [
      [1, 2],
      [3, 4],
    ];
    assert.deepEqual(await run(pool, nested, [lists]), [{ list: lists }]);
    await assert.rejects(run(pool, nested, [{}]), TypeError);
  });

  test('return many rows, no row, or no columns', async () => {
    const pool = await open();
    const series = { name: 'hot-series', text: 'SELECT n FROM generate_series(1, $1::int4) AS n' };
    for (const count of [3, 0, 5000])
      assert.equal((await run(pool, series, [count])).length, count);
    const nothing = { name: 'hot-nothing', text: 'DELETE FROM jobs WHERE organization_id IS NULL' };
    assert.deepEqual(await run(pool, nothing, []), []);
    assert.deepEqual(await run(pool, nothing, []), []);
  });

  test('are described once', async () => {
    const pool = await open({ connections: 1 });
    const described = {
      name: 'hot-shown',
      text: 'SELECT count(*) AS n FROM pg_prepared_statements',
    };
    assert.deepEqual(await run(pool, described, []), [{ n: 1 }]);
    assert.deepEqual(await run(pool, described, []), [{ n: 1 }]);
    await assert.rejects(run(pool, { name: 'hot-shown', text: 'SELECT 1' }, []), /two statements/);
    assert.deepEqual(await run(pool, described, []), [{ n: 1 }]);
  });

  test('fail alone: the connection runs the next statement', async () => {
    const pool = await open({ connections: 1 });
    const divide = { name: 'hot-divide', text: 'SELECT 1 / $1::int4 AS n' };
    await assert.rejects(run(pool, divide, [0]), { code: '22012' });
    assert.deepEqual(await run(pool, divide, [1]), [{ n: 1 }]);
    await assert.rejects(run(pool, divide, [0]), { code: '22012' });
    await assert.rejects(run(pool, { name: 'hot-wrong', text: 'SELEC 1' }, []), { code: '42601' });
    await assert.rejects(run(pool, { name: 'hot-wrong', text: 'SELEC 1' }, []), { code: '42601' });
    const large = { name: 'hot-large', text: 'SELECT $1::int8 AS n FROM generate_series(1, 3)' };
    await assert.rejects(run(pool, large, ['9007199254740992']), RangeError);
    assert.equal((await run(pool, large, [7])).length, 3);
    assert.deepEqual(await pool.plain([[{ name: '', text: 'SELECT $1::int4 AS n' }, [5]]]), [
      [{ n: 5 }],
    ]);
  });

  for (const way of ['run', 'plain'] as const) {
    test(`commit together with others, or not at all (${way})`, async () => {
      const pool = await open({ connections: 1 });
      const id = randomUUID();
      const add = {
        name: `hot-add-${way}`,
        text: `INSERT INTO outbox (bucket, organization_id, outbox_id, kind, subject_id, sequence, created_at)
          VALUES ($2, $1, gen_random_uuid(), 'test', $1, 1, now()) RETURNING bucket`,
      };
      const count = {
        name: `hot-count-${way}`,
        text: 'SELECT count(*) AS n FROM outbox WHERE subject_id = $1',
      };
      const divide = { name: `hot-divide-${way}`, text: 'SELECT 1 / $1::int4 AS n' };
      const n = async () => (await pool[way]([[count, [id]]]))[0];
      for (let round = 0; round < 2; round += 1) {
        await assert.rejects(
          pool[way]([
            [add, [id, 1]],
            [divide, [0]],
            [count, [id]],
          ]),
          {
            code: '22012',
          },
        );
        assert.deepEqual(await n(), [{ n: 0 }]);
      }
      assert.deepEqual(
        await pool[way]([
          [add, [id, 1]],
          [divide, [1]],
          [add, [id, 2]],
        ]),
        [[{ bucket: 1 }], [{ n: 1 }], [{ bucket: 2 }]],
      );
      assert.deepEqual(await n(), [{ n: 2 }]);
    });
  }

  test('are prepared again after a statement before them failed', async () => {
    const pool = await open({ connections: 1 });
    const divide = { name: 'hot-first', text: 'SELECT 1 / $1::int4 AS n' };
    const second = { name: 'hot-second', text: 'SELECT $1::int4 + 1 AS n' };
    const wrong = { name: 'hot-wrong-second', text: 'SELEC 1' };
    await assert.rejects(
      pool.run([
        [divide, [0]],
        [second, [1]],
      ]),
      { code: '22012' },
    );
    assert.deepEqual(
      await pool.run([
        [second, [1]],
        [divide, [1]],
      ]),
      [[{ n: 2 }], [{ n: 1 }]],
    );
    const fresh = { name: 'hot-fresh', text: 'SELECT $1::int4 + 2 AS n' };
    await assert.rejects(
      pool.run([
        [fresh, [1]],
        [wrong, []],
      ]),
      { code: '42601' },
    );
    assert.deepEqual(
      await pool.run([
        [fresh, [1]],
        [second, [1]],
      ]),
      [[{ n: 3 }], [{ n: 2 }]],
    );
  });

  test('wait for a connection until the time-out', async () => {
    const queue = await open({ connections: 1 });
    const pool = await open({ connections: 1, waitLimitMs: 150 });
    const sleep = { name: 'hot-sleep', text: 'SELECT pg_sleep($1::float8)' };
    const echo = { name: 'hot-one', text: 'SELECT $1::int4 AS n' };
    // The time to open a connection does not count.
    await run(pool, echo, [0]);
    assert.deepEqual(await Promise.all([1, 2, 3].map((n) => run(queue, echo, [n]))), [
      [{ n: 1 }],
      [{ n: 2 }],
      [{ n: 3 }],
    ]);
    const sleeping = run(pool, sleep, [2]);
    await assert.rejects(run(pool, echo, [4]), (error) => {
      assert.ok(error instanceof ProblemError);
      return error.code === 'database_unavailable' && error.outcome === 'NotProcessed';
    });
    await sleeping;
    assert.deepEqual(await run(pool, echo, [5]), [{ n: 5 }]);
  });
});

describe('connections for statements of the sale', () => {
  test('are replaced when they are lost, in use or idle', async () => {
    const other = await testDatabase();
    const pool = await open({ connections: 1 });
    const pid = { name: 'hot-pid', text: 'SELECT pg_backend_pid() AS pid' };
    const sleep = { name: 'hot-long', text: 'SELECT pg_sleep(30)' };
    const pidOf = async () => (await run(pool, pid, []))[0]?.['pid'];
    const first = await pidOf();
    const sleeping = run(pool, sleep, []);
    const behind = pidOf();
    const refused = assert.rejects(sleeping, (error) => {
      assert.ok(isUnavailable(error));
      return (error as ProblemError).outcome === 'Unknown';
    });
    await other.query('SELECT pg_terminate_backend($1)', [first]);
    await refused;
    const second = await behind;
    assert.notEqual(second, first);
    await other.query('SELECT pg_terminate_backend($1)', [second]);
    const endMs = performance.now() + 30_000;
    for (;;) {
      assert.ok(performance.now() < endMs, 'no new connection');
      const next = await pidOf().catch((error: unknown) => assert.ok(isUnavailable(error)));
      if (next !== undefined && next !== second) break;
    }
  });

  test('are closed when the server does not respond', async () => {
    const sockets: Socket[] = [];
    // Accepts every client, reports readiness, and then sends nothing.
    const welcome = Buffer.from(`${'520000000800000000'}${'5a0000000549'}`, 'hex');
    const silent = createServer((socket) => {
      sockets.push(socket);
      socket.on('error', () => {});
      socket.once('data', () => socket.write(welcome));
    });
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const address = silent.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const pool = await open({
      url: `postgresql://somebody@127.0.0.1:${port}/none?sslmode=disable`,
      silenceLimitMs: 60,
    });
    try {
      const statement = { name: 'hot-silent', text: 'SELECT 1' };
      await assert.rejects(run(pool, statement, []), isUnavailable);
      await assert.rejects(pool.plain([[{ name: '', text: 'SELECT 1' }, []]]), isUnavailable);
      assert.equal(sockets.length, 2, 'a connection that was silent is not used again');
    } finally {
      await pool.end();
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => silent.close(resolve));
      opened.splice(opened.indexOf(pool), 1);
    }
  });

  test('close after running statements and before waiting ones', async () => {
    const pool = await open({ connections: 1 });
    opened.splice(opened.indexOf(pool), 1);
    const nap = { name: 'hot-nap', text: 'SELECT pg_sleep($1::float8)' };
    await run(pool, nap, [0]);
    const napping = run(pool, nap, [0.1]);
    const refused = assert.rejects(run(pool, nap, [0]), isUnavailable);
    const ended = pool.end();
    await refused;
    assert.equal((await napping).length, 1);
    await ended;
    await assert.rejects(run(pool, nap, [0]), isUnavailable);
  });
});
