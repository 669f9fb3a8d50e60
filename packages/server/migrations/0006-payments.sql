-- Payments: transactions with their amounts, the operations on them, their events, capture batches.
CREATE TABLE transactions (
  organization_id uuid NOT NULL,
  transaction_id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  client_transaction_id text NOT NULL,
  store_id uuid,
  device_id uuid,
  contract_id uuid NOT NULL,
  state text NOT NULL,
  phase text NOT NULL,
  amount bigint NOT NULL,
  currency text NOT NULL,
  over_capture bigint NOT NULL,
  authorized bigint NOT NULL,
  captured bigint NOT NULL,
  cancelled bigint NOT NULL,
  refunded bigint NOT NULL,
  capture_reserved bigint NOT NULL,
  cancel_reserved bigint NOT NULL,
  refund_reserved bigint NOT NULL,
  version integer NOT NULL,
  operation_count integer NOT NULL,
  deadline timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, transaction_id),
  CHECK (amount >= 0 AND authorized >= 0 AND captured >= 0 AND cancelled >= 0 AND refunded >= 0),
  CHECK (capture_reserved >= 0 AND cancel_reserved >= 0 AND refund_reserved >= 0),
  CHECK (refunded + refund_reserved <= captured),
  CHECK (captured + capture_reserved + cancelled + cancel_reserved <= authorized + over_capture)
);

-- Partial, so that no look-up by the primary key can take it: in young tables both cost the planner the
-- same, and a prepared plan stays. The condition is true of every row and follows from any comparison.
CREATE UNIQUE INDEX transactions_client ON transactions
  (organization_id, client_transaction_id, merchant_id) WHERE client_transaction_id IS NOT NULL;

CREATE INDEX transactions_unanswered ON transactions (deadline) WHERE phase = 'Received';

CREATE INDEX transactions_open ON transactions (organization_id, merchant_id, transaction_id)
  WHERE state IN ('Authorized', 'PartiallyCaptured');

CREATE TABLE transaction_events (
  organization_id uuid NOT NULL,
  transaction_id uuid NOT NULL,
  sequence integer NOT NULL,
  type text NOT NULL,
  at timestamptz NOT NULL,
  data jsonb NOT NULL,
  PRIMARY KEY (organization_id, transaction_id, sequence)
);

CREATE TABLE operations (
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
  deadline timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, transaction_id, number),
  UNIQUE (organization_id, client_operation_id, merchant_id, kind),
  CHECK (amount > 0)
);

CREATE INDEX operations_unanswered ON operations (deadline) WHERE status = 'Sent';

CREATE INDEX operations_pending ON operations (organization_id, transaction_id)
  WHERE status = 'Pending';

CREATE TABLE capture_batches (
  organization_id uuid NOT NULL,
  batch_id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  client_operation_id text NOT NULL,
  state text NOT NULL,
  request jsonb NOT NULL,
  total integer NOT NULL,
  succeeded integer NOT NULL,
  failed integer NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, batch_id),
  UNIQUE (organization_id, client_operation_id, merchant_id)
);

CREATE TABLE capture_batch_items (
  organization_id uuid NOT NULL,
  batch_id uuid NOT NULL,
  transaction_id uuid NOT NULL,
  amount bigint,
  status text NOT NULL,
  code text,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, batch_id, transaction_id)
);
