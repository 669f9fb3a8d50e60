-- Bulk imports: how far each one came, and what was answered to its lines.

-- An import belongs to its organisation, or to the merchant whose caller began it: owner_id is either.
-- lines, bytes and hash say up to where the body was taken in; they change in the transaction that
-- writes what the lines asked for. Whoever works at an import holds its lease.
CREATE TABLE bulk_imports (
  organization_id uuid NOT NULL,
  owner_id uuid NOT NULL,
  bulk_id text NOT NULL,
  format text NOT NULL,
  lines integer NOT NULL,
  bytes bigint NOT NULL,
  hash text NOT NULL,
  counts jsonb NOT NULL,
  error jsonb,
  lease_id uuid NOT NULL,
  leased_until timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  completed_at timestamptz,
  PRIMARY KEY (organization_id, owner_id, bulk_id)
);

-- The answers of each chunk, as JSON Lines.
CREATE TABLE bulk_answers (
  organization_id uuid NOT NULL,
  owner_id uuid NOT NULL,
  bulk_id text NOT NULL,
  first_line integer NOT NULL,
  last_line integer NOT NULL,
  answers text NOT NULL,
  PRIMARY KEY (organization_id, owner_id, bulk_id, first_line),
  FOREIGN KEY (organization_id, owner_id, bulk_id)
    REFERENCES bulk_imports (organization_id, owner_id, bulk_id)
);

-- Many merchants number their stores alike, and many stores their devices: found within the parent.
DROP INDEX stores_external;
CREATE INDEX stores_external ON stores (organization_id, external_id, merchant_id)
  WHERE external_id IS NOT NULL;
DROP INDEX logical_devices_external;
CREATE INDEX logical_devices_external ON logical_devices (organization_id, external_id, store_id)
  WHERE external_id IS NOT NULL;
