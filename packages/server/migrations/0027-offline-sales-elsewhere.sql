-- An offline sale is found again although another terminal, or none, is named the second time.
CREATE INDEX offline_uploads_number
  ON offline_uploads (organization_id, terminal_sequence, authorized_at);
