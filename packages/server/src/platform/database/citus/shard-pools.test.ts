import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import type { HotPool } from '../hot-path/connection-pool.ts';
import type { HotStatement } from '../hot-path/prepared-query.ts';
import { createShardPools, withShardTables } from './shard-pools.ts';

const tables = { transactions: 'transactions_7', outbox: 'outbox_8' };

test('a statement for a shard names its tables, keeps aliases, and leaves columns alone', () => {
  const text = `WITH r AS (SELECT operations AS outbox FROM transactions t JOIN merchants m ON m.id = t.id)
    UPDATE outbox SET kind = outbox.kind FROM transactions AS t
    WHERE t.bucket = (SELECT bucket FROM outbox WHERE true FOR UPDATE OF outbox)`;
  assert.equal(
    withShardTables(text, tables),
    `WITH r AS (SELECT operations AS outbox FROM transactions_7 t JOIN merchants m ON m.id = t.id)
    UPDATE outbox_8 AS outbox SET kind = outbox.kind FROM transactions_7 AS t
    WHERE t.bucket = (SELECT bucket FROM outbox_8 AS outbox WHERE true FOR UPDATE OF outbox)`,
  );
  assert.equal(
    withShardTables('INSERT INTO outbox (bucket) VALUES ($1)', tables),
    'INSERT INTO outbox_8 AS outbox (bucket) VALUES ($1)',
  );
});

const buckets = [4, 5];
const statement: HotStatement = [
  { name: 'find', text: 'SELECT 1 FROM outbox o' },
  ['value'],
  buckets,
];

/** Shard 7 is on the worker a, then on the worker b. */
function openMovedShard(answer: (host: string) => unknown, hosts = ['a', 'b']) {
  const sent: unknown[] = [];
  const pools = createShardPools({
    queries: {
      query: async () => [{ shardId: '7', host: hosts.shift(), port: 1, tables }] as never,
    },
    preparedStatements: true,
    openPool: (host) =>
      ({
        async run(statements: readonly HotStatement[]) {
          sent.push([host, statements.at(-1)]);
          const error = answer(host);
          if (error !== undefined) throw error;
          return statements.map(([{ name }]) => [{ name }]);
        },
      }) as unknown as HotPool,
  });
  const search = () => pools.runAtWorkers(statement, [buckets, [6]]);
  return { run: () => pools.run([statement], buckets), search, sent };
}

const moved = Object.assign(new Error('division by zero'), { code: '22012' });

test('a statement runs at the worker with the shard, and follows the shard to another worker', async () => {
  const { run, sent } = openMovedShard((host) => (host === 'a' ? moved : undefined));
  assert.deepEqual(await run(), [[{ name: 'find-7' }]]);
  const ofShard = [{ name: 'find-7', text: 'SELECT 1 FROM outbox_8 o' }, ['value']];
  assert.deepEqual(sent, [
    ['a', ofShard],
    ['b', ofShard],
  ]);
});

test('a query of all shards is a union for each worker, and follows a moved shard', async () => {
  const answer = (host: string) => (host === 'a' ? moved : undefined);
  const { search, sent } = openMovedShard(answer, ['a', 'a', 'b', 'b']);
  const [result] = await search();
  assert.equal(result?.status, 'fulfilled');
  assert.equal(sent.length, 2);
  const [host, [{ name, text }]] = sent.at(-1) as [string, HotStatement];
  assert.equal(host, 'b');
  assert.match(name, /^find-[\w-]{22}$/);
  assert.equal(text, '(SELECT 1 FROM outbox_8 o) UNION ALL (SELECT 1 FROM outbox_8 o)');
});

test('after the loss of a worker its address is read again', async () => {
  const lost = new ProblemError('database_unavailable', 'The database is unavailable.');
  const { run, sent } = openMovedShard((host) => (host === 'a' ? lost : undefined));
  await assert.rejects(run(), lost);
  assert.deepEqual(await run(), [[{ name: 'find-7' }]]);
  assert.equal(sent.length, 2);
});

test('a worker that is down, and a shard without a worker, do not affect other workers', async () => {
  const lost = new ProblemError('database_unavailable', 'The database is unavailable.');
  const readBuckets: unknown[] = [];
  const hosts = new Map([
    [1, 'a'],
    [2, 'b'],
  ]);
  const pools = createShardPools({
    queries: {
      async query(_text: unknown, [bucket]: readonly unknown[] = []) {
        readBuckets.push(bucket);
        const host = hosts.get(Number(bucket));
        return (
          host === undefined ? [] : [{ shardId: `${bucket}`, host, port: 1, tables }]
        ) as never;
      },
    },
    preparedStatements: true,
    openPool: (host) =>
      ({
        async run(statements: readonly HotStatement[]) {
          if (host === 'b') throw lost;
          return statements.map(() => [{ host }]);
        },
        usage: () => ({ max: 1, inUse: 0, waiting: 0 }),
      }) as unknown as HotPool,
  });
  const groups = [[1], [2], [3]];
  const search = async () =>
    (await pools.runAtWorkers(statement, groups)).map((each) =>
      each.status === 'fulfilled' ? each.value : String(each.reason),
    );
  const [rows, ofWorker, ofShard] = await search();
  assert.deepEqual([rows, ofWorker], [[{ host: 'a' }], String(lost)]);
  assert.match(String(ofShard), /no worker with metadata has the shard of bucket 3/);
  await search();
  assert.deepEqual(readBuckets, [1, 2, 3, 2, 3]);
  assert.deepEqual(Object.keys(pools.usage()), ['worker a:1', 'worker b:1']);
});

test('a statement with another error is not repeated', async () => {
  const invalid = Object.assign(new Error('duplicate key'), { code: '23505' });
  const { run, sent } = openMovedShard(() => invalid);
  await assert.rejects(run(), invalid);
  assert.equal(sent.length, 1);
});
