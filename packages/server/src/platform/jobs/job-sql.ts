// SQL of the jobs table. These statements are not prepared: a plan made for an empty queue (scan
// the whole index) must not be reused for a long one.

import { bucketSql } from '../identifiers/bucket.ts';

const batchRow = 'bucket smallint, job_id uuid, lease_token uuid';
const leaseMatches =
  'j.bucket = r.bucket /* one shard: j */ AND j.job_id = r.job_id AND j.lease_token = r.lease_token';

export const enqueueText = `INSERT INTO jobs
  (bucket, organization_id, job_id, kind, payload, due_at, attempts, created_at, queue_id)
  VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $8) ON CONFLICT (bucket, job_id) DO NOTHING`;

/** Leases end by the clock of the database, so that the clocks of processes need not agree. */
const leaseEnd = (milliseconds: string) =>
  `statement_timestamp() + ${milliseconds} * interval '1 millisecond'`;

/**
 * Moving due_at to the end of the lease hides the job from other processes, and shows it again if
 * this process dies. Processes check the lease itself, because each compares due_at with its own
 * clock. At most the free capacity of each kind is locked, oldest jobs first. The inner limit does
 * not change the result: with it the planner does not sort a long queue for a few jobs.
 */
export const claimText = `WITH due AS (
      SELECT d.bucket, d.job_id, d.due_at
      FROM jsonb_to_recordset($5::jsonb) AS k(kind text, free integer) CROSS JOIN LATERAL (
        SELECT w.bucket, w.job_id, w.due_at FROM (
          SELECT bucket, job_id, due_at FROM jobs
          WHERE jobs.kind = k.kind /* one shard: jobs */ AND due_at <= $1
            AND (lease_until IS NULL OR lease_until <= statement_timestamp())
          ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED
        ) AS w LIMIT k.free
      ) AS d
      ORDER BY d.due_at LIMIT $2
    )
    UPDATE jobs AS j SET lease_token = $3, lease_until = ${leaseEnd('$4')}, due_at = ${leaseEnd('$4')},
      attempts = j.attempts + 1
    FROM due WHERE j.bucket = due.bucket /* one shard: j */ AND j.job_id = due.job_id
    RETURNING j.organization_id, j.job_id, j.kind, j.payload, j.queue_id, j.attempts, due.due_at`;

/** A due job of each shard, on Citus, where each claim is sent to one shard. */
export const findDue = {
  name: 'jobs-due',
  text: `SELECT bucket FROM jobs WHERE due_at <= $1 AND kind = ANY ($2::text[])
    AND (lease_until IS NULL OR lease_until <= statement_timestamp()) LIMIT 1`,
};

export const finishText = `DELETE FROM jobs AS j USING jsonb_to_recordset($1::jsonb) AS r(${batchRow})
    WHERE ${leaseMatches} RETURNING j.job_id`;

/**
 * For the statement of another module: deletes the job in the same commit as its result,
 * independent of the lease.
 */
export const deleteJobSql = (jobId: string): string =>
  `DELETE FROM jobs WHERE bucket = ${bucketSql(jobId)} AND job_id = ${jobId} RETURNING job_id`;

// An attempt that does not count keeps the error of the previous one.
export const postponeText = `UPDATE jobs AS j SET due_at = r.due_at,
      last_error = CASE WHEN r.uncounted = 1 THEN j.last_error ELSE r.last_error END,
      lease_token = NULL, lease_until = NULL, attempts = j.attempts - r.uncounted
    FROM jsonb_to_recordset($1::jsonb)
      AS r(${batchRow}, due_at timestamptz, last_error text, uncounted integer)
    WHERE ${leaseMatches} RETURNING j.job_id`;

export const renewText = `UPDATE jobs AS j SET lease_until = ${leaseEnd('$2')}, due_at = ${leaseEnd('$2')}
    FROM jsonb_to_recordset($1::jsonb) AS r(${batchRow})
    WHERE ${leaseMatches} RETURNING j.job_id`;

/** Includes kinds without a handler in this process: walks from kind to kind and reads the first job of each. */
export const oldestDueText = `WITH RECURSIVE kinds AS (
      (SELECT kind FROM jobs ORDER BY kind LIMIT 1)
      UNION ALL
      SELECT (SELECT j.kind FROM jobs AS j WHERE j.kind > k.kind ORDER BY j.kind LIMIT 1)
      FROM kinds AS k WHERE k.kind IS NOT NULL
    )
    SELECT min((SELECT j.due_at FROM jobs AS j WHERE j.kind = k.kind ORDER BY j.due_at LIMIT 1)) AS due_at
    FROM kinds AS k WHERE k.kind IS NOT NULL`;

/** The same on Citus, which has no recursion over shards. */
export const oldestDueInShardsText = 'SELECT min(due_at) AS due_at FROM jobs';
