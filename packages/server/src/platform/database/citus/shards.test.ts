import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testDatabase } from '../../../../test/support/database/test-database.ts';
import type { Database } from '../database.ts';
import type { Shards } from '../queries.ts';
import { usesCitus } from './engine.ts';
import { routeToShard } from './route-statement.ts';
import { createShardedGroupCommit } from './sharded-group-commit.ts';
import { forEachShard, queryByShard } from './shards.ts';

/** Buckets 0 and 1 are in one shard, bucket 2 is in another one. */
const groups = [[0, 1], [2]];
const shards: Shards = {
  groups,
  of: (bucket) => groups.find((group) => group.includes(bucket)) ?? [],
};

/** A database on Citus of which tests use only the shards, or a list of buckets with due rows. */
const onCitus = (dueBuckets: readonly number[] = []) =>
  ({
    query: async () => dueBuckets.map((bucket) => ({ bucket })),
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

test('a shard that fails does not keep the work from the others, and its error is thrown', async () => {
  const worked: unknown[] = [];
  const work = async (buckets: readonly number[] | undefined) => {
    if (buckets?.includes(0)) throw new Error('the worker is down');
    worked.push(buckets);
  };
  await assert.rejects(forEachShard(onCitus([1, 2, 0]), ['', []], work), /the worker is down/);
  assert.deepEqual(worked, [[2]]);
});

test('only shards with waiting rows are visited', async () => {
  const worked: unknown[] = [];
  await forEachShard(onCitus([0, 1]), ['', []], async (buckets) => void worked.push(buckets));
  assert.deepEqual(worked, [[0, 1]]);
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

test('the parts of a statement run in a transaction that begins with BEGIN, and an error undoes all', async () => {
  const database = await testDatabase();
  const table = `parts_${process.pid}`;
  await database.query(`CREATE TABLE ${table} (n integer)`);
  const run = (...inShard: string[]) =>
    database.hot<{ n: number }>({ name: 'parts', text: 'SELECT 0 AS n', inShard }, [], [0, 1]);
  const insert = `INSERT INTO ${table} VALUES (7)`;
  const select = `SELECT n FROM ${table}`;
  // PostgreSQL refuses SAVEPOINT for statements that are only sent together.
  assert.deepEqual(await run('SAVEPOINT start', insert, select), [{ n: 7 }]);
  await assert.rejects(run(insert, 'SELECT 1 / 0 AS n'), /division by zero/);
  assert.deepEqual(await database.query(select), [{ n: 7 }]);
  await database.query(`DROP TABLE ${table}`);
});
