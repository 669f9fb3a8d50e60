// Does what must be done sooner or later, over any crash: a table of jobs, claimed in batches under leases.
import { CompiledQuery, type Kysely } from 'kysely';
import { createPoller } from '../concurrency/poller.ts';
import type { Database } from '../database/database.ts';
import { createGroupCommit } from '../database/hot-path/group-commit.ts';
import { type Ids, jittered } from '../identifiers/ids.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import { scrubText } from '../observability/redaction.ts';
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
const defaultMost = 8;
/** Of all kinds in one claim, the oldest of them; what is left comes with the next one, which follows at once. */
const claimMost = 64;
/** How long the jobs of a process that died stay its own, by the clock of the database. */
const defaultLeaseMs = 15_000;
const renewalsPerLease = 3;
const firstRetryMs = 1_000;
const longestRetryMs = 600_000;
const doublingsMax = 20;
const defaultAlarmAfter = 10;
const stopGraceMs = 15_000;
const errorTextMax = 500;

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
export type Later = { retryAt: number; untried?: true; note?: string };

/**
 * Resolves when done, or with the time of the next look. A throw brings the job back with
 * growing pauses; it is never dropped. It runs at least once, so a handler bears to be repeated.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement is the usual one
export type JobHandler = (job: Job) => Promise<Later | undefined | void>;

type HandleOptions = {
  /** How many of the kind this process does at once; eight where it is left out. */
  readonly most?: number;
  /** It ends its jobs in a statement of its own, with `endedJob`. */
  readonly endsItself?: true;
};

export type Jobs = {
  /**
   * Only kinds with a handler are claimed; call it before `start`. Each kind has places of its own: one
   * that is slow, or comes in thousands, takes none from another.
   */
  handle(kind: string, handler: JobHandler, options?: HandleOptions): void;
  /** Within a transaction the job exists once that commits; call `poke` then. */
  enqueue(job: NewJob, trx?: Kysely<unknown>): Promise<void>;
  start(): void;
  /** Claims no more and waits for what runs; what does not end in time is done by another process. */
  stop(): Promise<void>;
  /** Something is due now: do not wait for the next look. */
  poke(): void;
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
  alarmAfter?: number;
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
type Lot = {
  readonly handler: JobHandler;
  readonly most: number;
  readonly endsItself: boolean;
  running: number;
  /** The last claim got all that it asked for: more may wait. */
  hasMore: boolean;
};

// Not at the first free place: a claim of many costs less than many of one.
const isWorthClaiming = ({ hasMore, running, most }: Lot): boolean =>
  hasMore && running <= most / 2;

type Held = { organization_id: string; job_id: string; lease_token: string };
type Postponed = Held & { due_at: string; last_error: string | null; untried: 0 | 1 };
type Ended = { retryAt?: number; untried?: true; note?: string; failure?: string };

/** @example const jobs = createJobs({ database, clock, ids, log, metrics }); jobs.start(); */
export function createJobs(deps: JobsDeps): Jobs {
  const { database, clock, ids, log } = deps;
  const { leaseMs = defaultLeaseMs, dueClock = createDueClock(clock, log) } = deps;
  const lots = new Map<string, Lot>();
  const running = new Map<Promise<void>, Held>();
  /** Those among them whose handlers have not ended. */
  const inHand = new Map<string, Held>();
  const measured = measurements(deps, dueClock);
  const finishes = heldRows<Held>('jobs-finish', database, finishText);
  const postponements = heldRows<Postponed>('jobs-postpone', database, postponeText);
  let renewal: NodeJS.Timeout | undefined;
  const poller = createPoller({
    pollMs: deps.pollMs ?? defaultPollMs,
    turn: claim,
    onError: (error) => log.warn({ err: error }, 'jobs cannot be claimed'),
  });

  async function claim(): Promise<boolean> {
    const asked = [...lots]
      .map(([kind, lot]) => ({ kind, lot, free: lot.most - lot.running }))
      .filter(({ free }) => free > 0);
    if (asked.length === 0) return false;
    // A token of its own for each claim fences out whoever held the job before, this process included.
    const token = ids.uuid();
    const rows = await database.query<ClaimedRow>(claimText, [
      isoTime(dueClock.now()),
      claimMost,
      token,
      leaseMs,
      JSON.stringify(asked.map(({ kind, free }) => ({ kind, free }))),
    ]);
    const got = Map.groupBy(rows, ({ kind }) => kind);
    for (const { kind, lot, free } of asked) lot.hasMore = got.get(kind)?.length === free;
    for (const row of rows.sort(inOrder)) begin(row, token);
    // Jobs may have ended while these were claimed, when nobody knew that more wait.
    return rows.length === claimMost || asked.some(({ lot }) => isWorthClaiming(lot));
  }

  function begin(row: ClaimedRow, token: string): void {
    const present = inHand.get(keyOf(row));
    if (present !== undefined) {
      // Its lease ran out and came back to us: it is not begun twice, and goes on under the new one.
      present.lease_token = token;
      return;
    }
    const held = { organization_id: row.organization_id, job_id: row.job_id, lease_token: token };
    const lot = lots.get(row.kind);
    if (lot === undefined) throw new Error('a job of a kind that was not asked for');
    lot.running += 1;
    inHand.set(keyOf(held), held);
    const work = perform(row, lot, held).catch((error: unknown) => {
      // Its lease runs out, and the job is done again: handlers bear that.
      log.warn({ err: error, jobId: row.job_id }, 'the end of a job could not be recorded');
    });
    running.set(work, held);
    void work.then(() => {
      running.delete(work);
      lot.running -= 1;
      if (!isWorthClaiming(lot)) return;
      lot.hasMore = false;
      poller.poke();
    });
  }

  async function perform(row: ClaimedRow, lot: Lot, held: Held): Promise<void> {
    const { retryAt, untried, note, failure } = await attempt(row, lot.handler);
    // From here on it may be claimed before we hear that its end is written down.
    inHand.delete(keyOf(held));
    const kept =
      retryAt === undefined
        ? lot.endsItself || (await finishes.submit(held))
        : await postponements.submit({
            ...held,
            due_at: isoTime(dueClock.toDue(retryAt)),
            last_error: failure ?? note ?? null,
            untried: untried === true ? 1 : 0,
          });
    if (!kept) log.warn({ kind: row.kind, jobId: row.job_id }, 'a job outlived its lease');
    const outcome = failure !== undefined ? 'failed' : retryAt === undefined ? 'done' : 'postponed';
    measured.ended.inc({ kind: row.kind, outcome: kept ? outcome : 'lost' });
  }

  async function attempt(row: ClaimedRow, handler: JobHandler): Promise<Ended> {
    try {
      return (await handler(toJob(row))) ?? {};
    } catch (error) {
      report(row, error);
      return {
        retryAt: clock.now() + backOff(row.attempts),
        failure: scrubText(String(error)).slice(0, errorTextMax),
      };
    }
  }

  function report(row: ClaimedRow, error: unknown): void {
    const facts = { err: error, kind: row.kind, jobId: row.job_id, attempts: row.attempts };
    if (row.attempts < (deps.alarmAfter ?? defaultAlarmAfter)) {
      log.warn(facts, 'job failed, and will be tried again');
      return;
    }
    measured.alarms.inc({ kind: row.kind });
    log.error(facts, 'job keeps failing');
  }

  async function renew(): Promise<void> {
    if (running.size === 0) return;
    await database.query(renewText, [JSON.stringify([...running.values()]), leaseMs]);
  }

  return {
    handle(kind, handler, { most = defaultMost, endsItself = false } = {}) {
      lots.set(kind, { handler, most, endsItself, running: 0, hasMore: false });
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
      if (dueAt === undefined || dueAt <= now) poller.poke();
    },
    start() {
      poller.start();
      renewal ??= setInterval(() => {
        renew().catch((error: unknown) => log.warn({ err: error }, 'leases were not renewed'));
      }, leaseMs / renewalsPerLease);
    },
    async stop() {
      await poller.stop();
      await within(stopGraceMs, Promise.all(running.keys()));
      clearInterval(renewal);
      if (running.size > 0) log.warn({ jobs: running.size }, 'jobs were left to another process');
    },
    poke: poller.poke,
  };
}

function measurements({ database, metrics }: JobsDeps, dueClock: DueClock) {
  metrics.gauge({
    name: 'switchyard_jobs_oldest_due_seconds',
    help: 'How long the job that has waited longest is overdue',
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
      help: 'Tries of jobs by their end',
      labelNames: ['kind', 'outcome'],
    }),
    alarms: metrics.counter({
      name: 'switchyard_jobs_alarms_total',
      help: 'Tries of jobs that keep failing',
      labelNames: ['kind'],
    }),
  };
}

const keyOf = (row: Pick<Held, 'organization_id' | 'job_id'>): string =>
  row.organization_id + row.job_id;

/** Ends of jobs go together; false for one whose lease somebody else has taken since. */
function heldRows<Row extends Held>(name: string, database: Database, text: string) {
  return createGroupCommit<Row, boolean>({
    name,
    key: keyOf,
    async run(rows) {
      const kept = await database.query<{ job_id: string }>(text, [JSON.stringify(rows)]);
      const found = new Set(kept.map((row) => row.job_id));
      return rows.map((row) => found.has(row.job_id));
    },
  });
}

/** As they were to be done; identifiers grow with the time of making. */
function inOrder(one: ClaimedRow, other: ClaimedRow): number {
  const apart = one.due_at.getTime() - other.due_at.getTime();
  return apart !== 0 ? apart : one.job_id < other.job_id ? -1 : 1;
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
function backOff(attempts: number): number {
  return jittered(
    Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(attempts - 1, doublingsMax)),
  );
}

async function within(limitMs: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([work, limit]);
  clearTimeout(timer);
}
