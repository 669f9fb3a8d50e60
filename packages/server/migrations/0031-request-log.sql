-- The request log: what applications asked and what they were told, counted for each organisation.
CREATE TABLE request_log_heads (
  organization_id uuid PRIMARY KEY,
  sequence bigint NOT NULL
);

-- Lines are only ever added and cut off at the old end.
CREATE TABLE request_log (
  organization_id uuid NOT NULL,
  sequence bigint NOT NULL,
  at timestamptz NOT NULL,
  request_id text NOT NULL,
  method text NOT NULL,
  path text NOT NULL,
  operation_id text NOT NULL,
  status integer NOT NULL,
  code text,
  errors jsonb,
  duration_ms integer NOT NULL,
  client_id text NOT NULL,
  user_id text,
  actor_organization_id uuid,
  merchant_id uuid,
  store_id uuid,
  device_id uuid,
  PRIMARY KEY (organization_id, sequence)
);

CREATE INDEX request_log_age ON request_log (at);
