-- Webhooks: where organisations want their events sent, whose turn it is, and each event on its way to each of them.

-- keys_sealed holds the key of the signatures `v1` and the seed of `v1a`; those before it sign too until
-- previous_until. gap_after is the position of the feed at which the endpoint was disabled: what came behind it
-- was planned for nobody, and a replay begins there.
CREATE TABLE webhook_endpoints (
  organization_id uuid NOT NULL,
  endpoint_id uuid NOT NULL,
  url text NOT NULL,
  event_types jsonb NOT NULL,
  merchant_id uuid,
  description text,
  status text NOT NULL,
  disabled_reason text,
  disabled_at timestamptz,
  gap_after bigint,
  verified_at timestamptz,
  public_key text NOT NULL,
  keys_sealed bytea NOT NULL,
  previous_public_key text,
  previous_sealed bytea,
  previous_until timestamptz,
  version integer NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, endpoint_id)
);

-- One for each endpoint, apart from what people change: which process sends to it now, and how it fares.
CREATE TABLE webhook_lanes (
  organization_id uuid NOT NULL,
  endpoint_id uuid NOT NULL,
  lease_token uuid,
  lease_until timestamptz NOT NULL,
  resting_until timestamptz NOT NULL,
  failures integer NOT NULL,
  failing_since timestamptz,
  succeeded_at timestamptz,
  PRIMARY KEY (organization_id, endpoint_id)
) WITH (fillfactor = 50);

-- The identifier follows from event and endpoint, so that an event is planned once for an endpoint whoever
-- plans it. The bytes lie in the feed, by position; only what is in no feed, such as a test, has them here.
CREATE TABLE webhook_deliveries (
  organization_id uuid NOT NULL,
  delivery_id uuid NOT NULL,
  endpoint_id uuid NOT NULL,
  event_id uuid NOT NULL,
  type text NOT NULL,
  position bigint,
  body text,
  status text NOT NULL,
  attempts integer NOT NULL,
  due_at timestamptz NOT NULL,
  log jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, delivery_id)
);

CREATE INDEX webhook_deliveries_due
  ON webhook_deliveries (organization_id, endpoint_id, due_at, delivery_id) WHERE status = 'Pending';
CREATE INDEX webhook_deliveries_endpoint
  ON webhook_deliveries (organization_id, endpoint_id, delivery_id);
CREATE INDEX webhook_deliveries_failed
  ON webhook_deliveries (organization_id, endpoint_id, delivery_id) WHERE status = 'Failed';
