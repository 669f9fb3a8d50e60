-- Sums of merchants and of the organisation by currency alone, which a summary of everything reads.

-- written_as_of is as_of as the version that has these sums wrote it. Where the two differ, a process of a version
-- before was the last one that wrote, without them: reports are made anew then, step by step, behind the start.
ALTER TABLE report_positions ADD COLUMN written_as_of timestamptz;
