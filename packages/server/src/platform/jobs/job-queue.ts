// Job queue in PostgreSQL: jobs survive crashes, and processes claim them in batches under leases.
import { defined } from '@switchyard/contract';
import { createPoller } from '../concurrency/poller.ts';
import { createShardedGroupCommit } from '../database/citus/sharded-group-commit.ts';
import { forEachShard } from '../database/citus/shards.ts';
import type { Database, Queries } from '../database/database.ts';
import { bucketOf } from '../identifiers/bucket.ts';
import { type Ids, withJitter } from '../identifiers/ids.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import { redactText } from '../observability/redaction.ts';
import { type Clock, isoTime, waitAtMost } from '../time/clock.ts';
import { endSpan, failSpan, type Span } from '../tracing/span.ts';
import type { Tracer } from '../tracing/tracer.ts';
import { createDueClock, type DueClock } from './due-clock.ts';
import {
  claimText,
  enqueueText,
  findDue,
  finishText,
  oldestDueInShardsText,
  oldestDueText,
  postponeText,
  renewText,
} from './job-sql.ts';

const defaultPollMs = 200;
/** Concurrent jobs of one kind, unless its handler sets a number. */
const defaultMaxConcurrent = 8;
/** Jobs of all kinds in one claim, oldest first. If more wait, the next claim follows at once. */
const maxClaimed = 64;
/** How long another process waits before it takes over jobs of a dead process, by the clock of the database. */
const defaultLeaseMs = 15_000;
const renewalsPerLease = 3;
const firstRetryMs = 1_000;
const maxRetryMs = 600_000;
const maxDoublings = 20;
const defaultAlertAfterAttempts = 10;
const stopGraceMs = 15_000;
const maxErrorCharacters = 500;

export type Job = {
  organizationId: string;
  jobId: string;
  kind: string;
  payload: Record<string, unknown>;
  /** Undefined if the order does not matter. */
  queueId?: string;
  /** Earlier attempts. */
  attempts: number;
  /** The due time, epoch milliseconds of the clock for due times. */
  dueAt: number;
  /** Of this attempt; undefined if it is not sampled. */
  span?: Span;
};

export type NewJob = {
  organizationId: string;
  /** Jobs with the same id are one job. */
  jobId?: string;
  kind: string;
  /** The member `traceparent` is the cause of the job; the handler does not get it. */
  payload: Record<string, unknown>;
  /** A UUID. Due jobs of one queue start in the order of their creation. */
  queueId?: string;
  /** Epoch milliseconds of the process clock. Default: now. */
  dueAt?: number;
};

/**
 * Runs the job again at `retryAt`, epoch milliseconds of the process clock. With `countAttempt:
 * false` this attempt does not count. `note` says why the job is not finished.
 */
export type Reschedule = { retryAt: number; countAttempt?: false; note?: string };

/**
 * Resolves when the job is finished, or with the time of the next attempt. If it throws, the job is
 * retried with growing delays and never dropped. A job may run more than once, so handlers must be
 * idempotent.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement is the usual one
export type JobHandler = (job: Job) => Promise<Reschedule | undefined | void>;

type HandleOptions = {
  /** Concurrent jobs of the kind in this process. Default: eight. */
  readonly maxConcurrent?: number;
  /** The handler deletes its jobs in its own statement, with `deleteJobSql`. */
  readonly deletesItself?: true;
};

export type Jobs = {
  /**
   * Only kinds with a handler are claimed; call it before `start`. Each kind has its own
   * concurrency limit, so that a slow or large kind does not delay the others.
   */
  handle(kind: string, handler: JobHandler, options?: HandleOptions): void;
  /** Inside a transaction the job exists after its commit; call `wake` then. */
  enqueue(job: NewJob, trx?: Queries): Promise<void>;
  start(): void;
  /** Claims no more jobs and waits for the running ones. Another process takes over those that do not end in time. */
  stop(): Promise<void>;
  /** A job is due now: claim without waiting for the next poll. */
  wake(): void;
};

export type JobsDeps = {
  database: Database;
  clock: Clock;
  /** The process's clock for due times. Default: a separate one. */
  dueClock?: DueClock;
  ids: Ids;
  log: Log;
  metrics: Metrics;
  pollMs?: number;
  leaseMs?: number;
  /** Attempts after which a failing job is logged as an error. */
  alertAfterAttempts?: number;
  tracer?: Tracer | undefined;
};

type ClaimedRow = {
  organization_id: string;
  job_id: string;
  kind: string;
  payload: Record<string, unknown>;
  queue_id: string | null;
  attempts: number;
  due_at: Date;
};
/** A kind and its running jobs. */
type KindState = {
  readonly handler: JobHandler;
  readonly maxConcurrent: number;
  readonly deletesItself: boolean;
  running: number;
  /** The last claim was filled up: more jobs may wait. */
  hasMore: boolean;
};

// Wait until half of the capacity is free: one large claim costs less than many small ones.
const isWorthClaiming = ({ hasMore, running, maxConcurrent }: KindState): boolean =>
  hasMore && running <= maxConcurrent / 2;

type JobLease = { bucket: number; job_id: string; lease_token: string };
type PostponedJob = JobLease & { due_at: string; last_error: string | null; uncounted: 0 | 1 };
type AttemptResult = { retryAt?: number; countAttempt?: false; note?: string; failure?: string };

/** @example const jobs = createJobs({ database, clock, ids, log, metrics }); jobs.start(); */
export function createJobs(deps: JobsDeps): Jobs {
  const { database, clock, ids, log } = deps;
  const { leaseMs = defaultLeaseMs, dueClock = createDueClock(clock, log) } = deps;
  const kinds = new Map<string, KindState>();
  const runningJobs = new Map<Promise<void>, JobLease>();
  /** The jobs whose handlers have not returned. */
  const handledJobs = new Map<string, JobLease>();
  const counters = measurements(deps, dueClock);
  const finishedJobs = createLeaseUpdate<JobLease>('jobs-finish', database, finishText);
  const postponedJobs = createLeaseUpdate<PostponedJob>('jobs-postpone', database, postponeText);
  let renewal: NodeJS.Timeout | undefined;
  const poller = createPoller({
    pollMs: deps.pollMs ?? defaultPollMs,
    poll: claim,
    onError: (error) => log.warn({ err: error }, 'claiming jobs failed'),
  });

  async function claim(): Promise<boolean> {
    let hasMore = false;
    const dueJobs = [isoTime(dueClock.now()), [...kinds.keys()]];
    await forEachShard(database, [findDue, dueJobs], async (buckets) => {
      if (await claimInShard(buckets)) hasMore = true;
    });
    return hasMore;
  }

  async function claimInShard(buckets: readonly number[] | undefined): Promise<boolean> {
    const claimable = [...kinds]
      .map(([kind, state]) => ({ kind, state, free: state.maxConcurrent - state.running }))
      .filter(({ free }) => free > 0);
    if (claimable.length === 0) return false;
    // A new token for each claim fences out earlier holders of the job, including this process.
    const token = ids.uuid();
    const values = [
      isoTime(dueClock.now()),
      maxClaimed,
      token,
      leaseMs,
      JSON.stringify(claimable.map(({ kind, free }) => ({ kind, free }))),
    ];
    const rows = await database.query<ClaimedRow>(claimText, values, buckets);
    const claimedByKind = Map.groupBy(rows, ({ kind }) => kind);
    for (const { kind, state, free } of claimable)
      state.hasMore = claimedByKind.get(kind)?.length === free;
    for (const row of rows.sort(compareDueOrder)) begin(row, token);
    // Jobs may have ended during the claim, when it was not known that more wait.
    return rows.length === maxClaimed || claimable.some(({ state }) => isWorthClaiming(state));
  }

  function begin(row: ClaimedRow, token: string): void {
    const runningLease = handledJobs.get(row.job_id);
    if (runningLease !== undefined) {
      // The lease expired and this process claimed the job again: do not run it twice, continue under the new lease.
      runningLease.lease_token = token;
      return;
    }
    const lease = { bucket: bucketOf(row.job_id), job_id: row.job_id, lease_token: token };
    const state = kinds.get(row.kind);
    if (state === undefined) throw new Error('a claimed job has a kind without a handler');
    state.running += 1;
    handledJobs.set(lease.job_id, lease);
    const work = perform(row, state, lease).catch((error: unknown) => {
      // The lease expires and the job runs again, since handlers are idempotent.
      log.warn(
        { err: error, jobId: row.job_id },
        'recording the end of a job failed; the job runs again',
      );
    });
    runningJobs.set(work, lease);
    void work.then(() => {
      runningJobs.delete(work);
      state.running -= 1;
      if (!isWorthClaiming(state)) return;
      state.hasMore = false;
      poller.wake();
    });
  }

  async function perform(row: ClaimedRow, state: KindState, lease: JobLease): Promise<void> {
    const { retryAt, countAttempt, note, failure } = await attempt(row, state.handler);
    // From here on the job may be claimed again before this process learns that its end is recorded.
    handledJobs.delete(lease.job_id);
    const isRecorded =
      retryAt === undefined
        ? state.deletesItself || (await finishedJobs.submit(lease))
        : await postponedJobs.submit({
            ...lease,
            due_at: isoTime(dueClock.toDue(retryAt)),
            last_error: failure ?? note ?? null,
            uncounted: countAttempt === false ? 1 : 0,
          });
    if (!isRecorded)
      log.warn(
        { kind: row.kind, jobId: row.job_id },
        'a job ended after its lease had expired; another process may run it too',
      );
    const outcome = failure !== undefined ? 'failed' : retryAt === undefined ? 'done' : 'postponed';
    counters.ended.inc({ kind: row.kind, outcome: isRecorded ? outcome : 'lost' });
  }

  async function attempt(row: ClaimedRow, handler: JobHandler): Promise<AttemptResult> {
    const { traceparent: cause, ...payload } = row.payload;
    const span = deps.tracer?.startLinked(cause, `job ${row.kind}`, {
      'messaging.operation.type': 'process',
      'switchyard.job.kind': row.kind,
      'switchyard.job.attempts': row.attempts,
      'switchyard.organization_id': row.organization_id,
    });
    try {
      const reschedule = (await handler(toJob(row, payload, span))) ?? {};
      // An attempt that does not count has done nothing, or its handler has ended the span.
      if (!('countAttempt' in reschedule)) endSpan(span);
      return reschedule;
    } catch (error) {
      failSpan(span, 'job_failed');
      report(row, error, span);
      return {
        retryAt: clock.now() + backoffMs(row.attempts),
        failure: redactText(String(error)).slice(0, maxErrorCharacters),
      };
    }
  }

  function report(row: ClaimedRow, error: unknown, span: Span | undefined): void {
    const { kind, job_id: jobId, attempts } = row;
    const facts = { err: error, kind, jobId, attempts, ...span?.logMembers };
    if (row.attempts < (deps.alertAfterAttempts ?? defaultAlertAfterAttempts)) {
      log.warn(facts, 'a job failed and will be retried');
      return;
    }
    counters.repeatedFailures.inc({ kind });
    log.error(facts, 'a job failed repeatedly and is still retried');
  }

  async function renew(): Promise<void> {
    if (runningJobs.size === 0) return;
    await database.query(renewText, [JSON.stringify([...runningJobs.values()]), leaseMs]);
  }

  return {
    handle(kind, handler, { maxConcurrent = defaultMaxConcurrent, deletesItself = false } = {}) {
      counters.repeatedFailures.inc({ kind }, 0);
      kinds.set(kind, { handler, maxConcurrent, deletesItself, running: 0, hasMore: false });
    },
    async enqueue({ organizationId, jobId = ids.uuid(), kind, payload, queueId, dueAt }, trx) {
      const now = clock.now();
      const values = [
        bucketOf(jobId),
        organizationId,
        jobId,
        kind,
        JSON.stringify(payload),
        isoTime(dueClock.toDue(dueAt ?? now)),
        isoTime(now),
        queueId ?? null,
      ];
      await (trx ?? database).query(enqueueText, values);
      if (trx === undefined && (dueAt ?? now) <= now) poller.wake();
    },
    start() {
      poller.start();
      renewal ??= setInterval(() => {
        renew().catch((error: unknown) =>
          log.warn({ err: error }, 'renewing the leases of jobs failed'),
        );
      }, leaseMs / renewalsPerLease);
    },
    async stop() {
      await poller.stop();
      await waitAtMost(stopGraceMs, Promise.all(runningJobs.keys()));
      clearInterval(renewal);
      if (runningJobs.size > 0)
        log.warn(
          { jobs: runningJobs.size },
          'jobs did not end before the stop; another process runs them',
        );
    },
    wake: poller.wake,
  };
}

function measurements({ database, metrics }: JobsDeps, dueClock: DueClock) {
  metrics.gauge({
    name: 'switchyard_jobs_oldest_due_seconds',
    help: 'Time by which the oldest due job is overdue',
    async collect() {
      // If the database is unavailable, the last value stays.
      const rows = await database
        .shards()
        .then((shards) => (shards === undefined ? oldestDueText : oldestDueInShardsText))
        .then((text) => database.query<{ due_at: Date | null }>(text))
        .catch(() => undefined);
      if (rows === undefined) return;
      const now = dueClock.now();
      this.set(Math.max(0, now - (rows[0]?.due_at?.getTime() ?? now)) / 1000);
    },
  });
  return {
    ended: metrics.counter({
      name: 'switchyard_jobs_total',
      help: 'Job attempts, by kind and outcome',
      labelNames: ['kind', 'outcome'],
    }),
    repeatedFailures: metrics.counter({
      name: 'switchyard_jobs_repeated_failures_total',
      help: 'Failed attempts of jobs that failed at least ten times',
      labelNames: ['kind'],
    }),
  };
}

/** Updates the ended jobs in one statement. False for a job that another process has claimed since. */
function createLeaseUpdate<Row extends JobLease>(name: string, database: Database, text: string) {
  return createShardedGroupCommit<Row, boolean>({
    name,
    database,
    bucketOf: ({ bucket }) => bucket,
    key: (row) => row.job_id,
    async run(rows, buckets) {
      const values = [JSON.stringify(rows)];
      const updated = await database.query<{ job_id: string }>(text, values, buckets);
      const updatedIds = new Set(updated.map((row) => row.job_id));
      return rows.map((row) => updatedIds.has(row.job_id));
    },
  });
}

/** By due time, then by identifier, which grows with the time of creation. */
function compareDueOrder(first: ClaimedRow, second: ClaimedRow): number {
  const difference = first.due_at.getTime() - second.due_at.getTime();
  return difference !== 0 ? difference : first.job_id < second.job_id ? -1 : 1;
}

function toJob(row: ClaimedRow, payload: Job['payload'], span: Span | undefined): Job {
  return {
    organizationId: row.organization_id,
    jobId: row.job_id,
    kind: row.kind,
    payload,
    ...defined({ span }),
    ...(row.queue_id === null ? {} : { queueId: row.queue_id }),
    attempts: row.attempts - 1,
    dueAt: row.due_at.getTime(),
  };
}

/** Doubles from one second to ten minutes. */
function backoffMs(attempts: number): number {
  return withJitter(Math.min(maxRetryMs, firstRetryMs * 2 ** Math.min(attempts - 1, maxDoublings)));
}
