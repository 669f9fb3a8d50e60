-- Applications as clients manage them: a version for If-Match, and a mark for those that were removed.

ALTER TABLE applications ADD COLUMN version integer NOT NULL DEFAULT 1;

-- The row of a removed application stays, so that its client id never belongs to another one:
-- tokens that name it would come alive again.
ALTER TABLE applications ADD COLUMN removed_at timestamptz;
