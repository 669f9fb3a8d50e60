// The SQL of the jobs table, planned anew each time: a queue is empty now and long later, and a plan made for
// the one (walk the whole index) must not be kept for the other.

const batchRow = 'organization_id uuid, job_id uuid, lease_token uuid';
const leaseMatches =
  'j.organization_id = r.organization_id AND j.job_id = r.job_id AND j.lease_token = r.lease_token';

export const enqueueText = `INSERT INTO jobs
  (organization_id, job_id, kind, payload, due_at, attempts, created_at, lane)
  VALUES ($1, $2, $3, $4, $5, 0, $6, $7) ON CONFLICT (organization_id, job_id) DO NOTHING`;

/** The end of a lease is the database's time: the clocks of two processes need not agree about it. */
const leaseEnd = (milliseconds: string) =>
  `clock_timestamp() + ${milliseconds} * interval '1 millisecond'`;

/**
 * Moving due_at to the end of the lease keeps the job out of the way of others, and shows it again if we die;
 * what they go by is the lease, since due_at is compared with clocks of their own. Of each kind no more is
 * locked than it has places for; of all of them the oldest come first. The inner limit changes nothing of
 * that: the planner knows the number, so that no long queue is sorted for a few of its jobs.
 */
export const claimText = `WITH due AS (
      SELECT d.organization_id, d.job_id, d.due_at
      FROM jsonb_to_recordset($5::jsonb) AS k(kind text, free integer) CROSS JOIN LATERAL (
        SELECT w.organization_id, w.job_id, w.due_at FROM (
          SELECT organization_id, job_id, due_at FROM jobs
          WHERE jobs.kind = k.kind AND due_at <= $1
            AND (lease_until IS NULL OR lease_until <= statement_timestamp())
          ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED
        ) AS w LIMIT k.free
      ) AS d
      ORDER BY d.due_at LIMIT $2
    )
    UPDATE jobs AS j SET lease_token = $3, lease_until = ${leaseEnd('$4')}, due_at = ${leaseEnd('$4')},
      attempts = j.attempts + 1
    FROM due WHERE j.organization_id = due.organization_id AND j.job_id = due.job_id
    RETURNING j.organization_id, j.job_id, j.kind, j.payload, j.lane, j.attempts, due.due_at`;

export const finishText = `DELETE FROM jobs AS j USING jsonb_to_recordset($1::jsonb) AS r(${batchRow})
    WHERE ${leaseMatches} RETURNING j.job_id`;

/** For a room's own statement: a job ends in one commit with what it is for, whoever has its lease. */
export const deleteJobSql = (organizationId: string, jobId: string): string =>
  `DELETE FROM jobs WHERE organization_id = ${organizationId} AND job_id = ${jobId} RETURNING job_id`;

// A look that was no try leaves what was said of the last one.
export const postponeText = `UPDATE jobs AS j SET due_at = r.due_at,
      last_error = CASE WHEN r.uncounted = 1 THEN j.last_error ELSE r.last_error END,
      lease_token = NULL, lease_until = NULL, attempts = j.attempts - r.uncounted
    FROM jsonb_to_recordset($1::jsonb)
      AS r(${batchRow}, due_at timestamptz, last_error text, uncounted integer)
    WHERE ${leaseMatches} RETURNING j.job_id`;

export const renewText = `UPDATE jobs AS j SET lease_until = ${leaseEnd('$2')}, due_at = ${leaseEnd('$2')}
    FROM jsonb_to_recordset($1::jsonb) AS r(${batchRow})
    WHERE ${leaseMatches} RETURNING j.job_id`;

/** Also of kinds that nobody here handles: from one kind to the next, and the first of each. */
export const oldestDueText = `WITH RECURSIVE kinds AS (
      (SELECT kind FROM jobs ORDER BY kind LIMIT 1)
      UNION ALL
      SELECT (SELECT j.kind FROM jobs AS j WHERE j.kind > k.kind ORDER BY j.kind LIMIT 1)
      FROM kinds AS k WHERE k.kind IS NOT NULL
    )
    SELECT min((SELECT j.due_at FROM jobs AS j WHERE j.kind = k.kind ORDER BY j.due_at LIMIT 1)) AS due_at
    FROM kinds AS k WHERE k.kind IS NOT NULL`;
