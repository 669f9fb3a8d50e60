// Whole run: much is made, or waited for, before it shows.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, describe, test } from 'node:test';
import {
  migrationsFolder,
  testDatabase,
  testDatabaseCopyUrl,
} from '../../../test/support/database/test-database.ts';
import { eventually } from '../../../test/support/wait-for-condition.ts';
import { type Database, openDatabase } from '../database/database.ts';
import { migrate } from '../database/migrations/migrate.ts';
import { bucketSql } from '../identifiers/bucket.ts';
import { systemIdGenerator } from '../identifiers/ids.ts';
import { createLog } from '../observability/log.ts';
import { createMetrics } from '../observability/metrics.ts';
import { type Clock, pause, systemClock } from '../time/clock.ts';
import { createJobs, type Job, type JobsDeps } from './job-queue.ts';
import {
  claimText,
  deleteJobSql,
  finishText,
  oldestDueText,
  postponeText,
  renewText,
} from './job-sql.ts';

const log = createLog({ logLevel: 'silent', instanceName: 'test' });

/** Stopped after the test, also after a failure. */
let working: { stop(): Promise<void> }[] = [];

/** A separate kind keeps the jobs of each test apart in the shared table. */
function setUp(database: Database, extra: Partial<JobsDeps> = {}) {
  const metrics = createMetrics();
  const base = { database, clock: systemClock, ids: systemIdGenerator, log, metrics, pollMs: 20 };
  const kind = `test-${randomUUID()}`;
  const organizationId = randomUUID();
  const remainingJobs = async () => {
    const [row] = await database.query<{ n: number }>(
      'SELECT count(*) AS n FROM jobs WHERE organization_id = $1',
      [organizationId],
    );
    return row?.n ?? 0;
  };
  const jobs = createJobs({ ...base, ...extra });
  working.push(jobs);
  return { jobs, metrics, kind, organizationId, remainingJobs };
}

/** The same database, with a count of one statement. */
function counting(database: Database, counted: string) {
  let times = 0;
  const query: Database['query'] = async (text, values) => {
    const rows = await database.query(text, values);
    if (text === counted) times += 1;
    return rows as never;
  };
  return { database: { ...database, query }, times: () => times };
}

describe('jobs', () => {
  afterEach(async () => {
    const all = working;
    working = [];
    await Promise.all(all.map((jobs) => jobs.stop()));
  });

  test('each job runs once, in whichever process claims it', async () => {
    const database = await testDatabase();
    const { jobs, kind, organizationId, remainingJobs } = setUp(database);
    const others = [setUp(database).jobs, setUp(database).jobs];
    const done = new Map<string, number>();
    const all = [jobs, ...others];
    for (const [index, jobs] of all.entries()) {
      const work = async (job: Job) => {
        await pause(1);
        done.set(job.jobId, (done.get(job.jobId) ?? 0) + 1);
      };
      jobs.handle(kind, work, { maxConcurrent: [8, 8, 100][index] ?? 8 });
    }
    const ids = Array.from({ length: 300 }, () => randomUUID());
    await Promise.all(
      ids.map((jobId) => jobs.enqueue({ organizationId, jobId, kind, payload: { a: 1 } })),
    );
    // Two jobs with the same id are one job.
    await jobs.enqueue({ organizationId, jobId: ids[0] ?? '', kind, payload: {} });
    for (const each of all) each.start();
    await eventually('all are done', async () => (await remainingJobs()) === 0);
    await Promise.all(all.map((jobs) => jobs.stop()));
    assert.equal(done.size, 300);
    assert.ok([...done.values()].every((times) => times === 1));
  });

  test('a job has its members, and one that is not due waits', async () => {
    const database = await testDatabase();
    const { jobs, kind, organizationId, remainingJobs } = setUp(database);
    const seenJobs: Job[] = [];
    jobs.handle(kind, async (job) => {
      seenJobs.push(job);
    });
    const dueAt = systemClock.now() - 5;
    const jobId = randomUUID();
    await jobs.enqueue({ organizationId, jobId, kind, payload: { text: 'x' }, dueAt });
    await jobs.enqueue({ organizationId, kind, payload: {}, dueAt: systemClock.now() + 60_000 });
    jobs.start();
    await eventually('the due one is done', async () => (await remainingJobs()) === 1);
    await jobs.stop();
    assert.deepEqual(seenJobs, [
      { organizationId, jobId, kind, payload: { text: 'x' }, attempts: 0, dueAt },
    ]);
  });

  test('after the clock goes back an hour queued jobs run, and delays are as long as before', async () => {
    const database = await testDatabase();
    let stepMs = 0;
    const clock = { now: () => Date.now() + stepMs };
    const { jobs, kind, organizationId, remainingJobs } = setUp(database, { clock });
    const begun: number[] = [];
    jobs.handle(kind, async (job) => {
      begun.push(performance.now());
      return job.attempts < 2 ? { retryAt: clock.now() + 500 } : undefined;
    });
    jobs.start();
    await jobs.enqueue({ organizationId, kind, payload: {}, dueAt: clock.now() + 1_000 });
    stepMs = -3_600_000;
    await eventually('it is done', async () => (await remainingJobs()) === 0);
    await jobs.stop();
    const [first = 0, second = 0, third = 0] = begun;
    assert.ok(second - first >= 490 && third - second >= 490, begun.join());
  });

  test('an enqueued job exists only if the transaction commits', async () => {
    const database = await testDatabase();
    const { jobs, kind, organizationId, remainingJobs } = setUp(database);
    const job = { organizationId, kind, payload: {} };
    await assert.rejects(
      database.transaction(async (trx) => {
        await jobs.enqueue(job, trx);
        throw new Error('no');
      }),
    );
    assert.equal(await remainingJobs(), 0);
    await database.transaction((trx) => jobs.enqueue(job, trx));
    assert.equal(await remainingJobs(), 1);
  });

  test('a failing job is retried with growing delays, is reported, and is never dropped', async () => {
    const database = await testDatabase();
    let skew = 0;
    const clock: Clock = { now: () => systemClock.now() + skew };
    const { jobs, kind, organizationId, remainingJobs, metrics } = setUp(database, {
      clock,
      alertAfterAttempts: 3,
    });
    const attempts: number[] = [];
    const pauses: number[] = [];
    let failedAt = 0;
    jobs.handle(kind, async (job) => {
      attempts.push(job.attempts);
      if (failedAt > 0) pauses.push(job.dueAt - failedAt);
      failedAt = clock.now();
      if (job.attempts < 12) throw new Error('card 4000000000000010 refused');
    });
    await jobs.enqueue({ organizationId, kind, payload: {} });
    jobs.start();
    for (let tries = 1; tries <= 12; tries += 1) {
      await eventually(`try ${tries}`, async () => {
        const [row] = await database.query<{ last_error: string | null; lease_token: string }>(
          'SELECT last_error, lease_token FROM jobs WHERE organization_id = $1 AND attempts = $2',
          [organizationId, tries],
        );
        assert.ok(!row?.last_error?.includes('4000'), row?.last_error ?? '');
        return row !== undefined && row.lease_token === null && row.last_error !== null;
      });
      skew += 600_001;
      jobs.wake();
    }
    await eventually('done in the end', async () => (await remainingJobs()) === 0);
    await jobs.stop();
    assert.deepEqual(
      attempts,
      Array.from({ length: 13 }, (_, index) => index),
    );
    assert.ok((pauses[0] ?? 0) >= 400 && (pauses[0] ?? 0) <= 1_200, String(pauses[0]));
    assert.ok(Math.max(...pauses) <= 600_100 && Math.max(...pauses) >= 300_000, String(pauses));
    assert.match(
      await metrics.registry.metrics(),
      /switchyard_jobs_repeated_failures_total\{[^}]*\} 10/,
    );
  });

  test('a handler sets the time of its next attempt', async () => {
    const database = await testDatabase();
    const { jobs, kind, organizationId, remainingJobs } = setUp(database);
    let runs = 0;
    jobs.handle(kind, async () => {
      runs += 1;
      return runs < 3 ? { retryAt: systemClock.now() + 30 } : undefined;
    });
    await jobs.enqueue({ organizationId, kind, payload: {} });
    jobs.start();
    await eventually('done at the third look', async () => (await remainingJobs()) === 0);
    await jobs.stop();
    assert.equal(runs, 3);
  });

  test('a job that its handler deleted is done, not lost', async () => {
    const database = await testDatabase();
    const { jobs, kind, organizationId, remainingJobs, metrics } = setUp(database);
    const work = async ({ jobId }: Job) => {
      await database.query(deleteJobSql('$1::uuid'), [jobId]);
    };
    jobs.handle(kind, work, { deletesItself: true });
    await jobs.enqueue({ organizationId, kind, payload: {} });
    jobs.start();
    await eventually('it is done', async () => (await remainingJobs()) === 0);
    await jobs.stop();
    assert.match(await metrics.registry.metrics(), /outcome="done"\} 1/);
  });

  test('an attempt with countAttempt false does not count', async () => {
    const database = await testDatabase();
    const { jobs, kind, organizationId, remainingJobs } = setUp(database);
    const attempts: number[] = [];
    jobs.handle(kind, async (job) => {
      attempts.push(job.attempts);
      const retryAt = systemClock.now();
      if (attempts.length < 3) return { retryAt, countAttempt: false };
      return attempts.length < 5 ? { retryAt } : undefined;
    });
    await jobs.enqueue({ organizationId, kind, payload: {} });
    jobs.start();
    await eventually('done at the fifth look', async () => (await remainingJobs()) === 0);
    await jobs.stop();
    assert.deepEqual(attempts, [0, 0, 0, 1, 2]);
  });

  test('another process runs a job of a dead process once its lease has expired', async () => {
    const database = await testDatabase();
    const dead = setUp(database);
    const { jobs, kind, organizationId, remainingJobs } = setUp(database);
    // Claims jobs and then neither runs nor renews them, like a stopped process.
    const [claimed] = await database
      .query(
        `INSERT INTO jobs (bucket, organization_id, job_id, kind, payload, due_at, created_at)
         VALUES (${bucketSql('$2::uuid')}, $1, $2, $3, '{}', now() - interval '1 second', now()) RETURNING job_id`,
        [organizationId, randomUUID(), kind],
      )
      .then(() =>
        database.query(claimText, [
          new Date(),
          1,
          randomUUID(),
          3_000,
          JSON.stringify([{ kind, free: 1 }]),
        ]),
      );
    assert.ok(claimed !== undefined && dead.jobs !== undefined);
    const attempts: number[] = [];
    jobs.handle(kind, async (job) => {
      attempts.push(job.attempts);
    });
    jobs.start();
    await pause(100);
    assert.deepEqual(attempts, [], 'not while the lease runs');
    await eventually('taken over', async () => (await remainingJobs()) === 0);
    await jobs.stop();
    assert.deepEqual(attempts, [1]);
  });

  test('a long job renews its lease, and a job that lost its lease ends nothing', async () => {
    const database = await testDatabase();
    const renewing = counting(database, renewText);
    const { jobs, kind, organizationId, remainingJobs, metrics } = setUp(renewing.database, {
      leaseMs: 4_500,
    });
    const others = setUp(database);
    let runs = 0;
    let release = () => {};
    const block = new Promise<void>((resolve) => {
      release = resolve;
    });
    jobs.handle(kind, async () => {
      runs += 1;
      await block;
    });
    others.jobs.handle(kind, async () => {
      runs += 1;
    });
    await jobs.enqueue({ organizationId, kind, payload: {} });
    jobs.start();
    await eventually('it runs', () => runs === 1);
    others.jobs.start();
    await eventually('renewed four times', () => renewing.times() >= 4);
    assert.equal(runs, 1);
    await database.query('UPDATE jobs SET lease_token = $2 WHERE organization_id = $1', [
      organizationId,
      randomUUID(),
    ]);
    release();
    await eventually('its end is refused', async () =>
      /outcome="lost"\} 1/.test(await metrics.registry.metrics()),
    );
    await eventually('the other one ends it', async () => (await remainingJobs()) === 0);
    await Promise.all([jobs.stop(), others.jobs.stop()]);
    assert.equal(runs, 2);
  });

  test('a process with a clock far ahead does not take jobs that another process runs', async () => {
    const database = await testDatabase();
    const { jobs, kind, organizationId, remainingJobs } = setUp(database);
    const looking = counting(database, claimText);
    const clock: Clock = { now: () => systemClock.now() + 20_000 };
    const others = setUp(looking.database, { clock });
    let runs = 0;
    const block = Promise.withResolvers<void>();
    const work = async () => {
      runs += 1;
      await block.promise;
    };
    jobs.handle(kind, work);
    others.jobs.handle(kind, work);
    await jobs.enqueue({ organizationId, kind, payload: {} });
    jobs.start();
    await eventually('it runs', () => runs === 1);
    others.jobs.start();
    await eventually('the other one has looked', () => looking.times() >= 3);
    block.resolve();
    await eventually('it is done', async () => (await remainingJobs()) === 0);
    await Promise.all([jobs.stop(), others.jobs.stop()]);
    assert.equal(runs, 1);
  });

  test('a process does not start a job twice that it still runs when the lease expires', async () => {
    const database = await testDatabase();
    const { jobs, kind, organizationId, remainingJobs, metrics } = setUp(database);
    let runs = 0;
    const block = Promise.withResolvers<void>();
    jobs.handle(kind, async () => {
      runs += 1;
      await block.promise;
    });
    await jobs.enqueue({ organizationId, kind, payload: {} });
    jobs.start();
    await eventually('it runs', () => runs === 1);
    await database.query(
      `UPDATE jobs SET lease_until = now() - interval '1 second', due_at = now() - interval '1 second'
       WHERE organization_id = $1`,
      [organizationId],
    );
    await eventually('another process claims the job', async () => {
      const [row] = await database.query<{ attempts: number }>(
        'SELECT attempts FROM jobs WHERE organization_id = $1',
        [organizationId],
      );
      return row?.attempts === 2;
    });
    block.resolve();
    await eventually('it is done', async () => (await remainingJobs()) === 0);
    await jobs.stop();
    assert.equal(runs, 1);
    assert.match(await metrics.registry.metrics(), /outcome="done"\} 1/);
  });

  test('stop waits for running jobs and claims no more', async () => {
    const database = await testDatabase();
    const { jobs, kind, organizationId, remainingJobs } = setUp(database);
    let running = 0;
    let release = () => {};
    const block = new Promise<void>((resolve) => {
      release = resolve;
    });
    const work = async () => {
      running += 1;
      await block;
    };
    jobs.handle(kind, work, { maxConcurrent: 2 });
    for (let count = 0; count < 5; count += 1) {
      await jobs.enqueue({ organizationId, kind, payload: {} });
    }
    jobs.start();
    await eventually('two run', () => running === 2);
    const stopped = jobs.stop();
    release();
    await stopped;
    assert.equal(running, 2);
    assert.equal(await remainingJobs(), 3);
  });

  test('a kind with thousands of blocked jobs does not take capacity from another kind', async () => {
    const database = await testDatabase();
    const { jobs, kind, organizationId } = setUp(database);
    const quick = `test-${randomUUID()}`;
    let hanging = 0;
    let done = 0;
    const block = Promise.withResolvers<void>();
    const hang = async () => {
      hanging += 1;
      await block.promise;
    };
    jobs.handle(kind, hang);
    jobs.handle(quick, async () => {
      done += 1;
    });
    // All older than the following jobs.
    await database.query(
      `INSERT INTO jobs (bucket, organization_id, job_id, kind, payload, due_at, created_at)
       SELECT ${bucketSql('id')}, $1, id, $2, '{}', now() - interval '1 minute', now()
       FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, 1000)) AS r`,
      [organizationId, kind],
    );
    jobs.start();
    await eventually('they hang', () => hanging > 0);
    for (let count = 1; count <= 10; count += 1) {
      await jobs.enqueue({ organizationId, kind: quick, payload: {} });
      await eventually(`${count} done`, () => done === count);
    }
    assert.equal(hanging, 8, 'as many as a kind has that names no number');
    await database.query('DELETE FROM jobs WHERE organization_id = $1', [organizationId]);
    block.resolve();
    await jobs.stop();
  });

  test('a job that ends during a claim does not leave the queue waiting for the next poll', async () => {
    const database = await testDatabase();
    const slow = Promise.withResolvers<void>();
    let claims = 0;
    const holding: Database = {
      ...database,
      async query(text, values) {
        if (text === claimText) claims += 1;
        if (text === claimText && claims === 2) await slow.promise;
        return database.query(text, values);
      },
    };
    const { jobs, kind, organizationId, remainingJobs } = setUp(holding, { pollMs: 3_600_000 });
    const begun: (() => void)[] = [];
    jobs.handle(kind, () => new Promise((resolve) => begun.push(resolve)), { maxConcurrent: 4 });
    for (let count = 0; count < 20; count += 1) {
      await jobs.enqueue({ organizationId, kind, payload: {} });
    }
    jobs.start();
    await eventually('all places are taken', () => begun.length === 4);
    for (const end of begun.splice(0, 2)) end();
    await eventually('two more jobs are claimed', () => claims === 2);
    for (const end of begun.splice(0, 1)) end();
    await eventually('one job ends', async () => (await remainingJobs()) === 17);
    slow.resolve();
    await eventually(
      'the rest is done',
      async () => {
        for (const end of begun.splice(0, 1)) end();
        return (await remainingJobs()) === 0;
      },
      10_000,
    );
    await jobs.stop();
  });

  test('if one claim cannot take all due jobs, the server starts the oldest jobs of all kinds first', async () => {
    const database = await testDatabase();
    const { jobs, organizationId, remainingJobs } = setUp(database);
    const kinds = Array.from({ length: 4 }, () => `test-${randomUUID()}`);
    const begun: number[] = [];
    for (const kind of kinds) {
      const note = async ({ dueAt }: Job) => {
        begun.push(dueAt);
      };
      jobs.handle(kind, note, { maxConcurrent: 50 });
    }
    const since = systemClock.now() - 60_000;
    await Promise.all(
      Array.from({ length: 120 }, (_, index) =>
        jobs.enqueue({
          organizationId,
          payload: {},
          dueAt: since + index,
          kind: kinds[index % kinds.length] ?? '',
        }),
      ),
    );
    jobs.start();
    await eventually('all are done', async () => (await remainingJobs()) === 0);
    await jobs.stop();
    assert.equal(begun.length, 120);
    assert.deepEqual(
      begun.slice(0, 64),
      begun.slice(0, 64).sort((first, second) => first - second),
    );
    assert.equal(Math.max(...begun.slice(0, 64)), since + 63);
  });

  test('the age of the oldest job includes kinds without a handler', async () => {
    const database = openDatabase({ url: await testDatabaseCopyUrl(), log, connections: 1 });
    try {
      const { jobs, metrics, organizationId } = setUp(database);
      const oldest = async () => {
        const text = await metrics.registry.metrics();
        return Number(/^switchyard_jobs_oldest_due_seconds ([\d.e-]+)$/m.exec(text)?.[1]);
      };
      assert.equal(await oldest(), 0);
      for (const [kind, seconds] of [
        ['a', 10],
        ['b', 600],
        ['c', -60],
      ] as const) {
        const dueAt = systemClock.now() - seconds * 1000;
        await jobs.enqueue({ organizationId, kind, payload: {}, dueAt });
      }
      assert.equal(Math.round((await oldest()) / 60), 10);
      await database.close();
      assert.equal(
        Math.round((await oldest()) / 60),
        10,
        'the last figure stays without a database',
      );
    } finally {
      await database.close();
    }
  });

  test('in a long queue every statement finds its rows by an index', async () => {
    const database = openDatabase({ url: await testDatabaseCopyUrl(), log, connections: 1 });
    try {
      await migrate(database, migrationsFolder, {
        log,
        clock: systemClock,
        ids: systemIdGenerator,
      });
      const texts = [claimText, finishText, postponeText, renewText];
      const planOf = async (text: string) => {
        const rows = await database.query<{ 'QUERY PLAN': string }>(
          `EXPLAIN (GENERIC_PLAN) ${text}`,
        );
        return rows.map((row) => row['QUERY PLAN']).join('\n');
      };
      // The worst case for the planner: analysed while empty, then filled.
      await database.query('VACUUM ANALYZE jobs');
      for (const text of texts) await planOf(text);
      await database.query(
        `INSERT INTO jobs (bucket, organization_id, job_id, kind, payload, due_at, created_at)
         SELECT n % 1024, gen_random_uuid(), gen_random_uuid(), 'a', '{}', now(), now()
         FROM generate_series(1, 20000) AS n`,
      );
      const claimPlan = await planOf(claimText);
      assert.match(claimPlan, /Index Cond: \(\(kind = k\.kind\) AND \(due_at <= \$1\)\)/);
      // Only claimed rows are sorted, never waiting ones.
      assert.doesNotMatch(claimPlan, /Bitmap/);
      assert.doesNotMatch(await planOf(oldestDueText), /Seq Scan/);
      for (const text of texts) {
        const plan = await planOf(text);
        assert.match(
          plan,
          /Index Cond: \(\(bucket = (r|due)\.bucket\) AND \(job_id = \1\.job_id\)\)/,
        );
        assert.doesNotMatch(plan, /Seq Scan/);
      }
    } finally {
      await database.close();
    }
  });
});
