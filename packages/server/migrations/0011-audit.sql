-- The audit: who changed what, in one chain of hashes for each organisation, with signed checkpoints.

-- The end of each chain; whoever adds to it locks the row, so sequences have no gaps and no forks.
-- `at` is the time of the last record: time does not run backwards in a chain.
CREATE TABLE audit_heads (
  organization_id uuid PRIMARY KEY,
  sequence bigint NOT NULL,
  hash text NOT NULL,
  at timestamptz NOT NULL,
  checkpoint_sequence bigint NOT NULL
);

-- Rows are added, never changed or removed. hash is the SHA-256 of the canonical JSON of the record.
CREATE TABLE audit_records (
  organization_id uuid NOT NULL,
  sequence bigint NOT NULL,
  at timestamptz NOT NULL,
  actor_subject text NOT NULL,
  actor_client_id text NOT NULL,
  actor_kind text NOT NULL,
  action text NOT NULL,
  entity_type text NOT NULL,
  entity_id text NOT NULL,
  merchant_id uuid,
  before_change jsonb,
  after_change jsonb,
  request_id text,
  previous_hash text NOT NULL,
  hash text NOT NULL,
  PRIMARY KEY (organization_id, sequence)
);

CREATE INDEX audit_records_at ON audit_records (organization_id, at, sequence);
CREATE INDEX audit_records_entity ON audit_records (organization_id, entity_id, sequence);
CREATE INDEX audit_records_actor ON audit_records (organization_id, actor_subject, sequence);
CREATE INDEX audit_records_action ON audit_records (organization_id, action, sequence);
CREATE INDEX audit_records_request ON audit_records (organization_id, request_id)
  WHERE request_id IS NOT NULL;
CREATE INDEX audit_records_merchant ON audit_records (organization_id, merchant_id, sequence)
  WHERE merchant_id IS NOT NULL;

CREATE TABLE audit_checkpoints (
  organization_id uuid NOT NULL,
  sequence bigint NOT NULL,
  hash text NOT NULL,
  at timestamptz NOT NULL,
  key_id text NOT NULL,
  signature text NOT NULL,
  PRIMARY KEY (organization_id, sequence)
);

-- A reference table of the platform: the public keys, of master keys that were changed since too.
CREATE TABLE audit_keys (
  key_id text PRIMARY KEY,
  public_key text NOT NULL,
  created_at timestamptz NOT NULL
);
