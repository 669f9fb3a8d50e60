-- Messages that were sent to terminals through the Retail API, for 48 hours: a pair of SaleID and
-- ServiceID is good once, and the answer can be fetched.

-- response is sealed: it may tell of a card.
CREATE TABLE retail_messages (
  organization_id uuid NOT NULL,
  physical_device_id uuid NOT NULL,
  service_id text NOT NULL,
  sale_id text NOT NULL,
  message_id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  store_id uuid NOT NULL,
  logical_device_id uuid NOT NULL,
  category text NOT NULL,
  is_published boolean NOT NULL,
  status text NOT NULL,
  result text,
  error_condition text,
  fault text,
  response bytea,
  created_at timestamptz NOT NULL,
  due_at timestamptz NOT NULL,
  settled_at timestamptz,
  PRIMARY KEY (organization_id, physical_device_id, service_id, sale_id)
);

CREATE UNIQUE INDEX retail_messages_id ON retail_messages (organization_id, message_id);
CREATE INDEX retail_messages_created ON retail_messages (created_at);
CREATE INDEX retail_messages_due ON retail_messages (due_at) WHERE status = 'Waiting';
