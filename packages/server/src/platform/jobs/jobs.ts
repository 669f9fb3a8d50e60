// Does what must be done sooner or later, over any crash: a table of jobs, claimed in batches under leases.
import { CompiledQuery, type Kysely } from 'kysely';
import { createPoller } from '../concurrency/poller.ts';
import type { Database } from '../database/database.ts';
import { createGroupCommit } from '../database/hot-path/group-commit.ts';
import { type Ids, withJitter } from '../identifiers/ids.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import { redactText } from '../observability/redaction.ts';
import { type Clock, isoTime } from '../time/clock.ts';
import { createDueClock, type DueClock } from './due-clock.ts';
import {
  claimText,
  enqueueText,
  finishText,
  oldestDueText,
  postponeText,
  renewText,
} from './job-sql.ts';

const defaultPollMs = 200;
/** Of one kind at once, where its handler names no number. */
const defaultMaxConcurrent = 8;
/** Of all kinds in one claim, the oldest of them; what is left comes with the next one, which follows at once. */
const maxClaimed = 64;
/** How long the jobs of a process that died stay its own, by the clock of the database. */
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
  /** Undefined where its order does not matter. */
  lane?: string;
  /** Tries before this one. */
  attempts: number;
  /** When it was to be done, epoch milliseconds of the clock of due times. */
  dueAt: number;
};

export type NewJob = {
  organizationId: string;
  /** Twice the same is one job. */
  jobId?: string;
  kind: string;
  payload: Record<string, unknown>;
  /** A UUID: jobs of one lane are begun in the order in which they were made, where both are due. */
  lane?: string;
  /** Epoch milliseconds by the process clock; now where absent. */
  dueAt?: number;
};

/**
 * Looks again at `retryAt`, epoch milliseconds by the process clock; `untried` where this look counts as no try. `note`
 * says why a try did not end the job.
 */
export type Reschedule = { retryAt: number; countAttempt?: false; note?: string };

/**
 * Resolves when done, or with the time of the next look. A throw brings the job back with
 * growing pauses; it is never dropped. It runs at least once, so a handler bears to be repeated.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement is the usual one
export type JobHandler = (job: Job) => Promise<Reschedule | undefined | void>;

type HandleOptions = {
  /** How many of the kind this process does at once; eight where it is left out. */
  readonly maxConcurrent?: number;
  /** It ends its jobs in a statement of its own, with `endedJob`. */
  readonly deletesItself?: true;
};

export type Jobs = {
  /**
   * Only kinds with a handler are claimed; call it before `start`. Each kind has places of its own: one
   * that is slow, or comes in thousands, takes none from another.
   */
  handle(kind: string, handler: JobHandler, options?: HandleOptions): void;
  /** Within a transaction the job exists once that commits; call `wake` then. */
  enqueue(job: NewJob, trx?: Kysely<unknown>): Promise<void>;
  start(): void;
  /** Claims no more and waits for what runs; what does not end in time is done by another process. */
  stop(): Promise<void>;
  /** Something is due now: do not wait for the next look. */
  wake(): void;
};

export type JobsDeps = {
  database: Database;
  clock: Clock;
  /** That of the process; one of its own where it is left out. */
  dueClock?: DueClock;
  ids: Ids;
  log: Log;
  metrics: Metrics;
  pollMs?: number;
  leaseMs?: number;
  /** Tries from which on a job that keeps failing is reported as an error. */
  alertAfterAttempts?: number;
};

type ClaimedRow = {
  organization_id: string;
  job_id: string;
  kind: string;
  payload: Record<string, unknown>;
  lane: string | null;
  attempts: number;
  due_at: Date;
};
/** A kind, and what of it is done at this moment. */
type KindState = {
  readonly handler: JobHandler;
  readonly maxConcurrent: number;
  readonly deletesItself: boolean;
  running: number;
  /** The last claim got all that it asked for: more may wait. */
  hasMore: boolean;
};

// Not at the first free place: a claim of many costs less than many of one.
const isWorthClaiming = ({ hasMore, running, maxConcurrent }: KindState): boolean =>
  hasMore && running <= maxConcurrent / 2;

type JobLease = { organization_id: string; job_id: string; lease_token: string };
type PostponedJob = JobLease & { due_at: string; last_error: string | null; uncounted: 0 | 1 };
type AttemptResult = { retryAt?: number; countAttempt?: false; note?: string; failure?: string };

/** @example const jobs = createJobs({ database, clock, ids, log, metrics }); jobs.start(); */
export function createJobs(deps: JobsDeps): Jobs {
  const { database, clock, ids, log } = deps;
  const { leaseMs = defaultLeaseMs, dueClock = createDueClock(clock, log) } = deps;
  const kinds = new Map<string, KindState>();
  const runningJobs = new Map<Promise<void>, JobLease>();
  /** Those among them whose handlers have not ended. */
  const handledJobs = new Map<string, JobLease>();
  const counters = measurements(deps, dueClock);
  const finishedJobs = createLeaseUpdate<JobLease>('jobs-finish', database, finishText);
  const postponedJobs = createLeaseUpdate<PostponedJob>('jobs-postpone', database, postponeText);
  let renewal: NodeJS.Timeout | undefined;
  const poller = createPoller({
    pollMs: deps.pollMs ?? defaultPollMs,
    poll: claim,
    onError: (error) => log.warn({ err: error }, 'jobs cannot be claimed'),
  });

  async function claim(): Promise<boolean> {
    const claimable = [...kinds]
      .map(([kind, state]) => ({ kind, lot: state, free: state.maxConcurrent - state.running }))
      .filter(({ free }) => free > 0);
    if (claimable.length === 0) return false;
    // A token of its own for each claim fences out whoever held the job before, this process included.
    const token = ids.uuid();
    const rows = await database.query<ClaimedRow>(claimText, [
      isoTime(dueClock.now()),
      maxClaimed,
      token,
      leaseMs,
      JSON.stringify(claimable.map(({ kind, free }) => ({ kind, free }))),
    ]);
    const claimedByKind = Map.groupBy(rows, ({ kind }) => kind);
    for (const { kind, lot: state, free } of claimable)
      state.hasMore = claimedByKind.get(kind)?.length === free;
    for (const row of rows.sort(compareDueOrder)) begin(row, token);
    // Jobs may have ended while these were claimed, when nobody knew that more wait.
    return rows.length === maxClaimed || claimable.some(({ lot: state }) => isWorthClaiming(state));
  }

  function begin(row: ClaimedRow, token: string): void {
    const runningLease = handledJobs.get(keyOf(row));
    if (runningLease !== undefined) {
      // Its lease ran out and came back to us: it is not begun twice, and goes on under the new one.
      runningLease.lease_token = token;
      return;
    }
    const lease = { organization_id: row.organization_id, job_id: row.job_id, lease_token: token };
    const state = kinds.get(row.kind);
    if (state === undefined) throw new Error('a job of a kind that was not asked for');
    state.running += 1;
    handledJobs.set(keyOf(lease), lease);
    const work = perform(row, state, lease).catch((error: unknown) => {
      // Its lease runs out, and the job is done again: handlers bear that.
      log.warn({ err: error, jobId: row.job_id }, 'the end of a job could not be recorded');
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
    // From here on it may be claimed before we hear that its end is written down.
    handledJobs.delete(keyOf(lease));
    const isRecorded =
      retryAt === undefined
        ? state.deletesItself || (await finishedJobs.submit(lease))
        : await postponedJobs.submit({
            ...lease,
            due_at: isoTime(dueClock.toDue(retryAt)),
            last_error: failure ?? note ?? null,
            uncounted: countAttempt === false ? 1 : 0,
          });
    if (!isRecorded) log.warn({ kind: row.kind, jobId: row.job_id }, 'a job outlived its lease');
    const outcome = failure !== undefined ? 'failed' : retryAt === undefined ? 'done' : 'postponed';
    counters.ended.inc({ kind: row.kind, outcome: isRecorded ? outcome : 'lost' });
  }

  async function attempt(row: ClaimedRow, handler: JobHandler): Promise<AttemptResult> {
    try {
      return (await handler(toJob(row))) ?? {};
    } catch (error) {
      report(row, error);
      return {
        retryAt: clock.now() + backoffMs(row.attempts),
        failure: redactText(String(error)).slice(0, maxErrorCharacters),
      };
    }
  }

  function report(row: ClaimedRow, error: unknown): void {
    const facts = { err: error, kind: row.kind, jobId: row.job_id, attempts: row.attempts };
    if (row.attempts < (deps.alertAfterAttempts ?? defaultAlertAfterAttempts)) {
      log.warn(facts, 'job failed, and will be tried again');
      return;
    }
    counters.repeatedFailures.inc({ kind: row.kind });
    log.error(facts, 'job keeps failing');
  }

  async function renew(): Promise<void> {
    if (runningJobs.size === 0) return;
    await database.query(renewText, [JSON.stringify([...runningJobs.values()]), leaseMs]);
  }

  return {
    handle(kind, handler, { maxConcurrent = defaultMaxConcurrent, deletesItself = false } = {}) {
      kinds.set(kind, { handler, maxConcurrent, deletesItself, running: 0, hasMore: false });
    },
    async enqueue({ organizationId, jobId = ids.uuid(), kind, payload, lane, dueAt }, trx) {
      const now = clock.now();
      const values = [
        organizationId,
        jobId,
        kind,
        JSON.stringify(payload),
        isoTime(dueClock.toDue(dueAt ?? now)),
        isoTime(now),
        lane ?? null,
      ];
      if (trx !== undefined) {
        await trx.executeQuery(CompiledQuery.raw(enqueueText, values));
        return;
      }
      await database.query(enqueueText, values);
      if (dueAt === undefined || dueAt <= now) poller.wake();
    },
    start() {
      poller.start();
      renewal ??= setInterval(() => {
        renew().catch((error: unknown) => log.warn({ err: error }, 'leases were not renewed'));
      }, leaseMs / renewalsPerLease);
    },
    async stop() {
      await poller.stop();
      await waitAtMost(stopGraceMs, Promise.all(runningJobs.keys()));
      clearInterval(renewal);
      if (runningJobs.size > 0)
        log.warn({ jobs: runningJobs.size }, 'jobs were left to another process');
    },
    wake: poller.wake,
  };
}

function measurements({ database, metrics }: JobsDeps, dueClock: DueClock) {
  metrics.gauge({
    name: 'switchyard_jobs_oldest_due_seconds',
    help: 'Time by which the oldest due job is overdue',
    async collect() {
      // A database that is away says nothing of the queue: the last figure stays.
      const rows = await database
        .query<{ due_at: Date | null }>(oldestDueText)
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

const keyOf = (row: Pick<JobLease, 'organization_id' | 'job_id'>): string =>
  row.organization_id + row.job_id;

/** Ends of jobs go together; false for one whose lease somebody else has taken since. */
function createLeaseUpdate<Row extends JobLease>(name: string, database: Database, text: string) {
  return createGroupCommit<Row, boolean>({
    name,
    key: keyOf,
    async run(rows) {
      const updated = await database.query<{ job_id: string }>(text, [JSON.stringify(rows)]);
      const updatedIds = new Set(updated.map((row) => row.job_id));
      return rows.map((row) => updatedIds.has(row.job_id));
    },
  });
}

/** As they were to be done; identifiers grow with the time of making. */
function compareDueOrder(first: ClaimedRow, second: ClaimedRow): number {
  const difference = first.due_at.getTime() - second.due_at.getTime();
  return difference !== 0 ? difference : first.job_id < second.job_id ? -1 : 1;
}

function toJob(row: ClaimedRow): Job {
  return {
    organizationId: row.organization_id,
    jobId: row.job_id,
    kind: row.kind,
    payload: row.payload,
    ...(row.lane === null ? {} : { lane: row.lane }),
    attempts: row.attempts - 1,
    dueAt: row.due_at.getTime(),
  };
}

/** Doubles from a second to ten minutes. */
function backoffMs(attempts: number): number {
  return withJitter(Math.min(maxRetryMs, firstRetryMs * 2 ** Math.min(attempts - 1, maxDoublings)));
}

async function waitAtMost(limitMs: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([work, limit]);
  clearTimeout(timer);
}
