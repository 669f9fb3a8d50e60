-- The few clearing files that nobody has acknowledged are looked at with every reading of the metrics.

CREATE INDEX clearing_files_made ON clearing_files (organization_id, link_id, created_at)
  WHERE state = 'Made';
