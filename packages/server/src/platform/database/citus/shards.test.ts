import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testDatabase, testDatabaseUrl } from '../../../../test/support/database/test-database.ts';
import { createLog } from '../../observability/log.ts';
import { type Database, openDatabase } from '../database.ts';
import type { Shards } from '../queries.ts';
import { usesCitus } from './engine.ts';
import { routeToShard, runInTransaction } from './route-statement.ts';
import { createShardedGroupCommit } from './sharded-group-commit.ts';
import { findInAllShards, forEachShard, queryByShard } from './shards.ts';

const log = createLog({ logLevel: 'silent', instanceName: 'test' });

/** Buckets 0 and 1 are in one shard, bucket 2 is in another one. */
const groups = [[0, 1], [2]];
const shards: Shards = {
  groups,
  of: (bucket) => groups.find((group) => group.includes(bucket)) ?? [],
};

/** A database on Citus of which tests use only the shards, or the results of its workers. */
const onCitus = (...results: readonly PromiseSettledResult<{ bucket: number }[]>[]) =>
  ({
    queryWorkers: async () => results,
    shards: async () => shards,
    loadedShards: () => shards,
  }) as unknown as Database;

const onPostgres = {
  shards: async () => undefined,
  loadedShards: () => undefined,
} as unknown as Database;

test('a statement for one shard gets a condition on each table that a comment names', () => {
  const text = `UPDATE transactions t SET state = r.state FROM r WHERE t.bucket = r.bucket /* one shard: t */
    AND EXISTS (SELECT FROM operations o WHERE o.bucket = t.bucket /* one shard: o */)`;
  const routed = routeToShard(text, ['a', 'b'], [4, 5]);
  assert.deepEqual(routed.values, ['a', 'b', [4, 5]]);
  assert.match(routed.text, /t\.bucket = r\.bucket AND t\.bucket = ANY \(\$3::smallint\[\]\)/);
  assert.match(routed.text, /o\.bucket = t\.bucket AND o\.bucket = ANY \(\$3::smallint\[\]\)/);
});

test('PostgreSQL gets the statement unchanged', () => {
  const text = 'SELECT 1 FROM jobs j WHERE j.bucket = $1 /* one shard: j */';
  assert.deepEqual(routeToShard(text, [7], undefined), { text, values: [7] });
});

test('a statement without such a comment gets no further parameter', () => {
  const text = 'INSERT INTO jobs SELECT $1';
  assert.deepEqual(routeToShard(text, [7], [4, 5]), { text, values: [7] });
});

test('rows of several shards are read with one call for each shard', async () => {
  const calls: unknown[] = [];
  const read = async (rows: readonly number[], buckets: readonly number[] | undefined) => {
    calls.push([rows, buckets]);
    return [...rows];
  };
  const rows = [2, 0, 1, 2];
  const bucketOf = (row: number) => row;
  assert.deepEqual(await queryByShard(onCitus(), { rows, bucketOf }, read), [2, 2, 0, 1]);
  assert.deepEqual(calls.splice(0), [
    [[2, 2], [2]],
    [
      [0, 1],
      [0, 1],
    ],
  ]);
  assert.deepEqual(await queryByShard(onPostgres, { rows, bucketOf }, read), rows);
  assert.deepEqual(calls, [[rows, undefined]]);
});

const find = [{ name: 'find', text: 'SELECT bucket FROM jobs LIMIT 1' }, []] as const;
const fulfilled = (...buckets: number[]) =>
  ({ status: 'fulfilled', value: buckets.map((bucket) => ({ bucket })) }) as const;

test('a shard that fails does not keep the work from the others, and its error is thrown', async () => {
  const worked: unknown[] = [];
  const work = async (buckets: readonly number[] | undefined) => {
    if (buckets?.includes(0)) throw new Error('the worker is down');
    worked.push(buckets);
  };
  const database = onCitus(fulfilled(1), fulfilled(2));
  await assert.rejects(forEachShard(database, find, work), /the worker is down/);
  assert.deepEqual(worked, [[2]]);
});

test('only shards with waiting rows are visited, also while a worker is down', async () => {
  const worked: unknown[] = [];
  const work = async (buckets: readonly number[] | undefined) => void worked.push(buckets);
  await forEachShard(onCitus(fulfilled(0), fulfilled()), find, work);
  assert.deepEqual(worked.splice(0), [[0, 1]]);
  const lost = { status: 'rejected', reason: new Error('the worker is down') } as const;
  await assert.rejects(forEachShard(onCitus(lost, fulfilled(2)), find, work), lost.reason);
  assert.deepEqual(worked, [[2]]);
});

test('rows of all shards are found up to a limit, also while a worker is down', async () => {
  const [statement] = find;
  const search = { values: [], limit: 2 };
  const lost = { status: 'rejected', reason: new Error('the worker is down') } as const;
  const database = onCitus(fulfilled(0, 1), lost, fulfilled(2));
  assert.deepEqual(await findInAllShards(database, statement, search), [
    { bucket: 0 },
    { bucket: 1 },
  ]);
  await assert.rejects(findInAllShards(onCitus(lost, fulfilled()), statement, search), lost.reason);
});

function createCommit(database: Database) {
  const batches: unknown[] = [];
  const commit = createShardedGroupCommit<number, number>({
    name: 'test',
    database,
    bucketOf: (row) => row,
    key: String,
    run: async (rows, buckets) => {
      batches.push({ rows, buckets });
      if (buckets?.includes(2)) throw new Error('the worker is down');
      return rows.map((row) => row * 10);
    },
  });
  return { commit, batches };
}

test('rows are committed by shard, and a shard that fails rejects only its own rows', async () => {
  const { commit, batches } = createCommit(onCitus());
  const results = await Promise.allSettled([0, 2, 1].map((row) => commit.submit(row)));
  assert.deepEqual(
    results.map((result) => (result.status === 'fulfilled' ? result.value : 'rejected')),
    [0, 'rejected', 10],
  );
  assert.deepEqual(batches, [
    { rows: [0, 1], buckets: [0, 1] },
    { rows: [2], buckets: [2] },
  ]);
});

test('on PostgreSQL the rows of all buckets are committed together', async () => {
  const { commit, batches } = createCommit(onPostgres);
  assert.deepEqual(await Promise.all([0, 1, 2].map((row) => commit.submit(row))), [0, 10, 20]);
  assert.deepEqual(batches, [{ rows: [0, 1, 2], buckets: undefined }]);
});

test('Citus is found by its extension, and demanded or left out by the setting', async () => {
  const database = await testDatabase();
  const hasExtension = { query: async () => [{}] } as unknown as Database;
  assert.deepEqual(
    [await usesCitus(database, 'auto'), await usesCitus(hasExtension)],
    [false, true],
  );
  assert.equal(await usesCitus(hasExtension, 'postgresql'), false);
  await assert.rejects(
    usesCitus(database, 'citus'),
    /the database has no extension citus: run CREATE EXTENSION citus/,
  );
});

test('a transaction finds out first whether the tables are distributed, and else is not committed', async () => {
  const database = openDatabase({ url: await testDatabaseUrl(), log, engine: 'citus' });
  try {
    let isRun = false;
    const run = database.transaction(async () => {
      isRun = true;
    });
    await assert.rejects(run, /the database has no extension citus/);
    assert.equal(isRun, false);
  } finally {
    await database.close();
  }
});

test('in a transaction for a shard the parts of a statement run, and the last one returns the rows', async () => {
  const database = await testDatabase();
  const statement = {
    name: 'parts',
    text: 'SELECT 0 AS n',
    inShard: ['SELECT 1 AS n', 'SELECT 2 AS n'],
  };
  const run = (buckets?: readonly number[]) =>
    database.transaction((trx) => runInTransaction(trx, statement, [], buckets));
  assert.deepEqual([await run(), await run([0, 1])], [[{ n: 0 }], [{ n: 2 }]]);
});
