// Work that must happen, once or again until it has: claimed in batches under leases that run out.
import type { Kysely } from 'kysely';
import { sql } from 'kysely';
import { type Clock, isoTime, pause } from './clock.ts';
import type { Database } from './database.ts';
import { createGroupCommit } from './group-commit.ts';
import { type Ids, jittered } from './ids.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

export type Job = {
  organizationId: string;
  jobId: string;
  kind: string;
  payload: Record<string, unknown>;
  /** How often it was tried before this time. */
  attempts: number;
  /** Epoch ms. */
  dueAt: number;
};

export type NewJob = Omit<Job, 'attempts'>;

/** Done, or when to try again (epoch ms). What is thrown is tried again too, later and later. */
export type JobHandler = (job: Job) => Promise<undefined | { retryAt: number }>;

export type Jobs = {
  /** Before `start`; a process claims only the kinds that it handles. */
  handle(kind: string, handler: JobHandler): void;
  /** In the caller's transaction where one is given. */
  enqueue(job: NewJob, transaction?: Kysely<unknown>): Promise<void>;
  start(): void;
  /** Claims no more, waits for what runs, gives the rest of the leases back. */
  stop(): Promise<void>;
  /** Looks for due jobs now. */
  poke(): void;
};

type Deps = { database: Database; clock: Clock; ids: Ids; log: Log; metrics: Metrics };

const atOnceMax = 64;
const pollEveryMs = 200;
/** A dead process keeps a job from the others this long. */
export const leaseMs = 15_000;
const renewEveryMs = 5_000;
const alarmAfter = 6;
const backOffBaseMs = 1_000;
const backOffMaxMs = 600_000;
const errorTextMax = 500;
const stopLimitMs = 20_000;

const claimDue = {
  name: 'jobs-claim',
  text: `WITH due AS MATERIALIZED (
    SELECT organization_id, job_id FROM jobs
    WHERE due_at <= $1 AND kind IN (SELECT jsonb_array_elements_text($2::jsonb))
    ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED
  )
  UPDATE jobs j SET due_at = $4, lease_until = $4, lease_token = $5, attempts = j.attempts + 1
  FROM due WHERE j.organization_id = due.organization_id AND j.job_id = due.job_id
  RETURNING j.organization_id, j.job_id, j.kind, j.payload, j.attempts`,
};

const leased = `jsonb_to_recordset($1::jsonb)
    AS r(organization_id uuid, job_id uuid, due_at timestamptz, last_error text)`;
const ofLease = `j.organization_id = r.organization_id AND j.job_id = r.job_id
    AND j.lease_token = $2`;

const deleteDone = {
  name: 'jobs-done',
  text: `DELETE FROM jobs j USING ${leased} WHERE ${ofLease}`,
};
const putBack = {
  name: 'jobs-put-back',
  text: `UPDATE jobs j SET due_at = r.due_at, last_error = r.last_error, lease_token = NULL,
    lease_until = NULL FROM ${leased} WHERE ${ofLease}`,
};
const renewLeases = {
  name: 'jobs-renew',
  text: `UPDATE jobs j SET due_at = r.due_at, lease_until = r.due_at FROM ${leased}
    WHERE ${ofLease}`,
};

type Ended = { job: Job; retryAt?: number; error?: string };

/** Doubles from a second to ten minutes, with jitter; no job is ever dropped. */
export function backOffMs(attempts: number): number {
  return jittered(Math.min(backOffMaxMs, backOffBaseMs * 2 ** Math.min(attempts, 20)));
}

/** @example const jobs = createJobs({ database, clock, ids, log, metrics }); */
export function createJobs({ database, clock, ids, log, metrics }: Deps): Jobs {
  const handlers = new Map<string, JobHandler>();
  const running = new Map<string, Job>();
  // One token for the life of this process fences out a process that was paused too long.
  const token = ids.uuidV4();
  const tries = metrics.counter({
    name: 'switchyard_job_tries_total',
    help: 'Tries of jobs, by how they ended',
    labelNames: ['kind', 'result'],
  });
  const stuck = metrics.counter({
    name: 'switchyard_jobs_stuck_total',
    help: 'Jobs that needed an unusual number of tries',
    labelNames: ['kind'],
  });
  let kinds = '[]';
  let started = false;
  let claiming: Promise<void> | undefined;
  let again = false;
  let pollTimer: NodeJS.Timeout | undefined;
  let renewTimer: NodeJS.Timeout | undefined;

  const rowOf = ({ job, retryAt, error }: Ended) => ({
    organization_id: job.organizationId,
    job_id: job.jobId,
    ...(retryAt === undefined ? {} : { due_at: isoTime(retryAt) }),
    ...(error === undefined ? {} : { last_error: error }),
  });

  const ends = createGroupCommit<Ended, undefined>({
    name: 'jobs-end',
    key: ({ job }) => job.organizationId + job.jobId,
    run: async (rows) => {
      const done = rows.filter(({ retryAt }) => retryAt === undefined).map(rowOf);
      const later = rows.filter(({ retryAt }) => retryAt !== undefined).map(rowOf);
      if (done.length > 0) await database.hot(deleteDone, [JSON.stringify(done), token]);
      if (later.length > 0) await database.hot(putBack, [JSON.stringify(later), token]);
      return rows.map(() => undefined);
    },
  });

  async function attempt(job: Job): Promise<Ended> {
    try {
      const handler = handlers.get(job.kind);
      if (handler === undefined) throw new Error(`nobody handles ${job.kind}`);
      const result = await handler(job);
      tries.inc({ kind: job.kind, result: result === undefined ? 'done' : 'later' });
      return result === undefined ? { job } : { job, retryAt: result.retryAt };
    } catch (error) {
      tries.inc({ kind: job.kind, result: 'failed' });
      const message = error instanceof Error ? error.message : String(error);
      const known = { err: error, kind: job.kind, jobId: job.jobId, attempts: job.attempts + 1 };
      log.warn(known, 'a job failed and will be tried again');
      const retryAt = clock.now() + backOffMs(job.attempts);
      return { job, retryAt, error: message.slice(0, errorTextMax) };
    }
  }

  async function run(job: Job): Promise<void> {
    running.set(job.jobId, job);
    try {
      const ended = await attempt(job);
      if (ended.retryAt !== undefined && job.attempts + 1 === alarmAfter) {
        stuck.inc({ kind: job.kind });
        log.error({ kind: job.kind, jobId: job.jobId }, 'a job needs many tries');
      }
      await ends.submit(ended);
    } catch (error) {
      // The lease runs out by itself, and the job is claimed again.
      log.warn({ err: error, jobId: job.jobId }, 'the end of a job could not be recorded');
    } finally {
      running.delete(job.jobId);
      if (again) poke();
    }
  }

  async function claim(): Promise<void> {
    const free = atOnceMax - running.size;
    again = free === 0;
    if (free === 0) return;
    const now = clock.now();
    const rows = await database.hot(claimDue, [
      isoTime(now),
      kinds,
      free,
      isoTime(now + leaseMs),
      token,
    ]);
    for (const row of rows as Record<string, unknown>[]) {
      const job: Job = {
        organizationId: String(row['organization_id']),
        jobId: String(row['job_id']),
        kind: String(row['kind']),
        payload: row['payload'] as Record<string, unknown>,
        attempts: Number(row['attempts']) - 1,
        dueAt: now,
      };
      void run(job);
    }
    again = rows.length === free;
  }

  function poke(): void {
    if (!started || claiming !== undefined) return;
    claiming = claim()
      .catch((error: unknown) => log.warn({ err: error }, 'jobs could not be claimed'))
      .finally(() => {
        claiming = undefined;
      });
  }

  async function renew(): Promise<void> {
    const due = clock.now() + leaseMs;
    const rows = [...running.values()].map((job) => rowOf({ job, retryAt: due }));
    if (rows.length > 0) await database.hot(renewLeases, [JSON.stringify(rows), token]);
  }

  return {
    handle(kind, handler) {
      handlers.set(kind, handler);
      kinds = JSON.stringify([...handlers.keys()]);
    },
    async enqueue(job, transaction = database.kysely) {
      const { organizationId, jobId, kind, payload, dueAt } = job;
      await sql`INSERT INTO jobs (organization_id, job_id, kind, payload, due_at, attempts, created_at)
        VALUES (${organizationId}, ${jobId}, ${kind}, ${JSON.stringify(payload)}::jsonb,
          ${isoTime(dueAt)}, 0, ${isoTime(clock.now())})`.execute(transaction);
      if (dueAt <= clock.now()) poke();
    },
    start() {
      started = true;
      pollTimer = setInterval(poke, pollEveryMs);
      renewTimer = setInterval(() => {
        renew().catch((error: unknown) => log.warn({ err: error }, 'leases were not renewed'));
      }, renewEveryMs);
      poke();
    },
    async stop() {
      started = false;
      clearInterval(pollTimer);
      await claiming;
      const end = clock.now() + stopLimitMs;
      while (running.size > 0 && clock.now() < end) await pause(20);
      clearInterval(renewTimer);
      await ends.drain();
    },
    poke,
  };
}
