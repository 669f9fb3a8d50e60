import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { defined, ProblemError } from '@switchyard/contract';
import fc from 'fast-check';
import { eventually } from '../../../../test/support/wait-for-condition.ts';
import { type Span, startSpan } from '../../tracing/span.ts';
import { createGroupCommit } from './group-commit.ts';

type Row = { id: number; key: string; fault?: 'bad' | 'once' };
const keyOf = (row: Row): string => row.key;

function serializationFailure(): Error {
  return Object.assign(new Error('could not serialize'), { code: '40001' });
}

/** A statement that runs until the test ends it. */
function gated() {
  const batches: { rows: Row[]; end(): void }[] = [];
  const run = (rows: Row[]) =>
    new Promise<number[]>((resolve) => {
      batches.push({ rows, end: () => resolve(rows.map(({ id }) => id)) });
    });
  return { batches, run };
}

const nextEventLoopTurn = () => new Promise((resolve) => setImmediate(resolve));

describe('group commit', () => {
  test('every row gets its own result in any combination of batches and failures', async () => {
    const rowFacts = fc.record({
      key: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'),
      fault: fc.option(fc.constantFrom('bad', 'once'), { nil: undefined, freq: 4 }),
      pauseBefore: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(rowFacts, { maxLength: 60 }),
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 1, max: 4 }),
        fc.boolean(),
        async (facts, concurrentStatements, maxRows, secondStatementRows, allowsSameKey) => {
          let inFlight = 0;
          let mostInFlight = 0;
          const busyKeys = new Set<string>();
          const failedOnce = new Set<number>();
          const committed: Row[] = [];
          const group = createGroupCommit<Row, number>({
            name: 'test',
            concurrentStatements,
            maxRows,
            secondStatementRows,
            allowsSameKey,
            key: keyOf,
            async run(rows) {
              inFlight += 1;
              mostInFlight = Math.max(mostInFlight, inFlight);
              assert.ok(rows.length <= maxRows);
              const keys = rows.map(keyOf);
              assert.deepEqual(keys, keys.toSorted());
              if (!allowsSameKey) {
                assert.equal(new Set(keys).size, keys.length, 'one key twice in a batch');
                assert.ok(
                  !keys.some((key) => busyKeys.has(key)),
                  'one key in two concurrent statements',
                );
              }
              for (const key of keys) busyKeys.add(key);
              await nextEventLoopTurn();
              for (const key of keys) busyKeys.delete(key);
              inFlight -= 1;
              if (rows.some(({ fault }) => fault === 'bad')) throw new Error('bad row');
              const once = rows.filter(({ id, fault }) => fault === 'once' && !failedOnce.has(id));
              for (const { id } of once) failedOnce.add(id);
              if (once.length > 0) throw serializationFailure();
              committed.push(...rows);
              return rows.map(({ id }) => id);
            },
          });
          const results = [];
          for (const [id, { key, fault, pauseBefore }] of facts.entries()) {
            if (pauseBefore) await nextEventLoopTurn();
            results.push(
              group.submit({ id, key, ...defined({ fault }) }).then(
                (result) => assert.equal(result, id),
                (error: Error) => assert.equal(fault === 'bad' && error.message, 'bad row'),
              ),
            );
          }
          await group.drain();
          await Promise.all(results);
          assert.ok(mostInFlight <= concurrentStatements);
          assert.equal(group.waiting(), 0);
          const good = facts.flatMap(({ fault }, id) => (fault === 'bad' ? [] : [id]));
          assert.deepEqual(
            committed.map(({ id }) => id).toSorted((first, second) => first - second),
            good,
            'each good row once',
          );
          if (!allowsSameKey) {
            for (const key of 'abcdefg') {
              const order = committed.filter((row) => row.key === key).map(({ id }) => id);
              const sorted = order.toSorted((first, second) => first - second);
              assert.deepEqual(order, sorted, 'rows of one key keep their order');
            }
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  test('rows of one event loop turn share a statement, and further rows wait for the running statements', async () => {
    const { batches, run } = gated();
    const group = createGroupCommit<Row, number>({
      name: 'test',
      secondStatementRows: 2,
      key: keyOf,
      run,
    });
    const keys = () => batches.map(({ rows }) => rows.map(keyOf));
    const results = [group.submit({ id: 0, key: 'e' })];
    await nextEventLoopTurn();
    assert.deepEqual(keys(), [['e']]);
    for (const [id, key] of ['d', 'c'].entries()) results.push(group.submit({ id: id + 1, key }));
    await nextEventLoopTurn();
    assert.deepEqual(keys(), [['e'], ['c', 'd']]);
    for (const [id, key] of ['b', 'a'].entries()) results.push(group.submit({ id: id + 3, key }));
    await nextEventLoopTurn();
    assert.equal(batches.length, 2, 'both statements run');
    assert.equal(group.waiting(), 2);
    batches[0]?.end();
    await eventually('the third batch', () => batches.length === 3);
    assert.deepEqual(keys()[2], ['a', 'b']);
    batches[1]?.end();
    batches[2]?.end();
    assert.deepEqual(await Promise.all(results), [0, 1, 2, 3, 4]);
    await group.drain();
    assert.equal(await Promise.race([group.drain(), Promise.resolve('late')]), undefined);
  });

  test('few rows wait for the running statement', async () => {
    const { batches, run } = gated();
    const options = { name: 'test', secondStatementRows: 2, maxHoldMs: 60_000, key: keyOf, run };
    const group = createGroupCommit<Row, number>(options);
    const results = [group.submit({ id: 0, key: 'a' })];
    await nextEventLoopTurn();
    results.push(group.submit({ id: 1, key: 'b' }));
    await nextEventLoopTurn();
    assert.deepEqual([batches.length, group.waiting()], [1, 1]);
    batches[0]?.end();
    await eventually('the second batch', () => batches.length === 2);
    batches[1]?.end();
    assert.deepEqual(await Promise.all(results), [0, 1]);
    await group.drain();
  });

  test('no row waits long for a slow statement', async () => {
    const { batches, run } = gated();
    const options = { name: 'test', secondStatementRows: 2, maxHoldMs: 1, key: keyOf, run };
    const group = createGroupCommit<Row, number>(options);
    const results = [group.submit({ id: 0, key: 'a' })];
    await nextEventLoopTurn();
    results.push(group.submit({ id: 1, key: 'b' }));
    await eventually('the second batch, beside the first', () => batches.length === 2);
    for (const { end } of batches) end();
    assert.deepEqual(await Promise.all(results), [0, 1]);
    await group.drain();
  });

  test('a full queue refuses rows with a retry time', async () => {
    const { batches, run } = gated();
    const group = createGroupCommit<Row, number>({
      name: 'test',
      concurrentStatements: 1,
      queueLimit: 2,
      key: keyOf,
      run,
    });
    const accepted = [group.submit({ id: 0, key: 'a' })];
    await nextEventLoopTurn();
    accepted.push(group.submit({ id: 1, key: 'b' }), group.submit({ id: 2, key: 'b' }));
    await assert.rejects(
      group.submit({ id: 9, key: 'z' }),
      (error) =>
        error instanceof ProblemError && error.code === 'overloaded' && error.retryAfterMs === 1000,
    );
    assert.equal(group.waiting(), 2);
    for (const index of [0, 1, 2]) {
      await eventually(`batch ${index}`, () => batches.length > index);
      batches[index]?.end();
      assert.equal(await accepted[index], index);
    }
    await group.drain();
  });

  test('an unavailable database fails all rows without a retry', async () => {
    let runs = 0;
    const group = createGroupCommit<Row, number>({
      name: 'test',
      concurrentStatements: 1,
      key: keyOf,
      async run() {
        runs += 1;
        throw new ProblemError('database_unavailable', 'gone');
      },
    });
    const results = await Promise.allSettled(
      ['a', 'b', 'c'].map((key, id) => group.submit({ id, key })),
    );
    assert.ok(results.every(({ status }) => status === 'rejected'));
    assert.equal(runs, 1);
  });

  test('endless serialization failures are reported', async () => {
    let runs = 0;
    const group = createGroupCommit<Row, number>({
      name: 'test',
      key: keyOf,
      async run() {
        runs += 1;
        throw serializationFailure();
      },
    });
    await assert.rejects(group.submit({ id: 1, key: 'a' }), /could not serialize/);
    assert.equal(runs, 5);
  });

  test('missing results are an error, and no row gets the result of another row', async () => {
    const group = createGroupCommit<Row, number>({ name: 'test', key: keyOf, run: async () => [] });
    await assert.rejects(group.submit({ id: 1, key: 'a' }), /0 results for 1 rows/);
  });

  test('each attempt of a batch with sampled rows is a span with links, also after a failure', async () => {
    const ended: Span[] = [];
    const record = (span: Span) => void ended.push(span);
    const group = createGroupCommit<Row, number>({
      name: 'test',
      key: keyOf,
      async run(rows) {
        if (rows.some(({ fault }) => fault === 'bad')) throw new Error('bad row');
        return rows.map(({ id }) => id);
      },
    });
    const parents = ['a', 'b'].map((name) => startSpan(record, undefined, name));
    const results = await Promise.allSettled([
      group.submit({ id: 0, key: 'a' }, parents[0]),
      group.submit({ id: 1, key: 'b', fault: 'bad' }, parents[1]),
      group.submit({ id: 2, key: 'c' }),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    const batches = ended.filter(({ name }) => name === 'BATCH test');
    assert.deepEqual(
      batches.map((span) => [
        span.attributes['db.operation.batch.size'],
        span.links.length,
        span.isFailed,
      ]),
      [
        [3, 2, true],
        [1, 1, false],
        [1, 1, true],
      ],
    );
    const commits = ended.filter(({ name }) => name === 'commit test');
    assert.deepEqual(
      commits.map(({ parentSpanId, isFailed, links }) => [parentSpanId, isFailed, links.length]),
      [
        [parents[0]?.spanId, false, 2],
        [parents[1]?.spanId, true, 2],
      ],
    );
  });
});
