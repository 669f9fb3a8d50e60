-- Jobs are claimed kind by kind, so that a long queue of one kind is never walked through for another.
-- transaction: none

-- One that a stop in the middle left behind is of no use.
DROP INDEX CONCURRENTLY IF EXISTS jobs_kind_due;

CREATE INDEX CONCURRENTLY jobs_kind_due ON jobs (kind, due_at);

DROP INDEX CONCURRENTLY IF EXISTS jobs_due;
