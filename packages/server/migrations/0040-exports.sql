-- Exports: reports that are written part by part, and kept for some days to be fetched.
CREATE TABLE report_exports (
  organization_id uuid NOT NULL,
  export_id uuid NOT NULL,
  -- Whose they are; nil for the whole organisation's.
  merchant_id uuid NOT NULL,
  store_id uuid NOT NULL,
  client_operation_id text NOT NULL,
  report text NOT NULL,
  format text NOT NULL,
  filters jsonb NOT NULL,
  state text NOT NULL,
  rows bigint NOT NULL,
  bytes bigint NOT NULL,
  parts integer NOT NULL,
  -- Where reading goes on; null at the start.
  place text,
  failure text,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  completed_at timestamptz,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, export_id)
);

CREATE UNIQUE INDEX report_exports_client ON report_exports
  (organization_id, client_operation_id, merchant_id, store_id);

CREATE INDEX report_exports_open ON report_exports (organization_id, export_id)
  WHERE state IN ('Pending', 'Running');

-- Each part is compressed by itself, so that any byte is found without reading what lies before it.
CREATE TABLE report_export_parts (
  organization_id uuid NOT NULL,
  export_id uuid NOT NULL,
  number integer NOT NULL,
  first_byte bigint NOT NULL,
  bytes integer NOT NULL,
  content bytea NOT NULL,
  PRIMARY KEY (organization_id, export_id, number)
);
