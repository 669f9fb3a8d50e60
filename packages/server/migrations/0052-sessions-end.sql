-- A user remembers when all sessions were ended last: nothing that was proven before begins another one.

ALTER TABLE users ADD COLUMN sessions_ended_at timestamptz;
-- The one session that was kept then.
ALTER TABLE users ADD COLUMN sessions_ended_but text;
