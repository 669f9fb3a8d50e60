-- Jobs that must happen at some time, and the outbox that tells other parts what has happened.

CREATE TABLE jobs (
  organization_id uuid NOT NULL,
  job_id uuid NOT NULL,
  kind text NOT NULL,
  payload jsonb NOT NULL,
  due_at timestamptz NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  lease_token uuid,
  lease_until timestamptz,
  last_error text,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, job_id)
);

-- Whoever claims a job moves its due_at to the end of the lease, so this one index finds the free ones.
CREATE INDEX jobs_due ON jobs (due_at);

CREATE TABLE outbox (
  organization_id uuid NOT NULL,
  outbox_id uuid NOT NULL,
  kind text NOT NULL,
  subject_id uuid NOT NULL,
  sequence integer NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, outbox_id)
);
