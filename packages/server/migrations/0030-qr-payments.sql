-- QR payments: the payments with their operations and events. No card data: what was scanned is kept nowhere.

-- due_at is when somebody has to look at the payment again, and while somebody does, when he will have
-- failed to: the sweep claims by it. looks counts the questions in a row that brought nothing.
CREATE TABLE qr_transactions (
  organization_id uuid NOT NULL,
  transaction_id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  store_id uuid NOT NULL,
  device_id uuid NOT NULL,
  client_transaction_id text NOT NULL,
  service_id uuid NOT NULL,
  provider_id uuid NOT NULL,
  provider_transaction_id text,
  status text NOT NULL,
  phase text NOT NULL,
  amount bigint NOT NULL,
  currency text NOT NULL,
  paid bigint NOT NULL,
  refunded bigint NOT NULL,
  refund_reserved bigint NOT NULL,
  ending text,
  hold text,
  provider_sequence integer NOT NULL,
  provider_events integer NOT NULL,
  version integer NOT NULL,
  operation_count integer NOT NULL,
  looks integer NOT NULL,
  expires_at timestamptz NOT NULL,
  due_at timestamptz,
  facts jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, transaction_id),
  CHECK (amount > 0 AND paid >= 0 AND refunded >= 0 AND refund_reserved >= 0),
  CHECK (refunded + refund_reserved <= paid)
);

-- Partial, so that no look-up by the primary key can take it (see transactions_client).
CREATE UNIQUE INDEX qr_transactions_client ON qr_transactions
  (organization_id, client_transaction_id, merchant_id) WHERE client_transaction_id IS NOT NULL;

-- For lists alone, which say the condition: true of every row, it keeps all other statements away.
CREATE INDEX qr_transactions_merchant ON qr_transactions
  (organization_id, merchant_id, transaction_id) WHERE amount > 0;

-- Providers are other organisations: they name the payment alone.
CREATE INDEX qr_transactions_provider ON qr_transactions (provider_id, transaction_id);

CREATE INDEX qr_transactions_due ON qr_transactions (due_at) WHERE due_at IS NOT NULL;

CREATE INDEX qr_transactions_held ON qr_transactions (organization_id, transaction_id)
  WHERE hold IS NOT NULL;

-- provider_event_id: of an event that the provider sent; the same again is no second one.
CREATE TABLE qr_events (
  organization_id uuid NOT NULL,
  transaction_id uuid NOT NULL,
  sequence integer NOT NULL,
  type text NOT NULL,
  at timestamptz NOT NULL,
  data jsonb NOT NULL,
  provider_event_id uuid,
  PRIMARY KEY (organization_id, transaction_id, sequence)
);

CREATE UNIQUE INDEX qr_events_provider ON qr_events
  (organization_id, transaction_id, provider_event_id) WHERE provider_event_id IS NOT NULL;

CREATE TABLE qr_operations (
  organization_id uuid NOT NULL,
  transaction_id uuid NOT NULL,
  number integer NOT NULL,
  operation_id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  kind text NOT NULL,
  status text NOT NULL,
  amount bigint NOT NULL,
  client_operation_id text,
  details jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, transaction_id, number),
  UNIQUE (organization_id, client_operation_id, merchant_id, kind),
  CHECK (amount >= 0)
);
