-- Reporting: payments in one table to search in, and sums of them by day. Filled behind the commit, from the feed.

-- How far the reports of an organisation are. Who writes them holds this row: there is one writer at a time.
-- place is how far a walk over all payments has come, null where none is under way.
CREATE TABLE report_positions (
  organization_id uuid PRIMARY KEY,
  position bigint NOT NULL,
  as_of timestamptz NOT NULL,
  stage text NOT NULL,
  place uuid
) WITH (fillfactor = 50);

-- What payments have in common, by a small number of the organisation. The empty text is for none.
CREATE TABLE report_groups (
  organization_id uuid NOT NULL,
  group_id integer NOT NULL,
  kind text NOT NULL,
  scheme text NOT NULL,
  entry_mode text NOT NULL,
  category text NOT NULL,
  reason text NOT NULL,
  currency text NOT NULL,
  PRIMARY KEY (organization_id, group_id)
);

-- A group and a state; payments counts those that are in it now, and tells which way a search is short.
CREATE TABLE report_classes (
  organization_id uuid NOT NULL,
  class_id integer NOT NULL,
  group_id integer NOT NULL,
  state text NOT NULL,
  payments bigint NOT NULL,
  PRIMARY KEY (organization_id, class_id)
) WITH (fillfactor = 50);

-- counted is the number of events of the payment that are in the sums: none is ever counted twice.
CREATE TABLE report_payments (
  organization_id uuid NOT NULL,
  created_at timestamptz NOT NULL,
  payment_id uuid NOT NULL,
  class_id integer NOT NULL,
  counted integer NOT NULL,
  merchant_id uuid NOT NULL,
  store_id uuid,
  device_id uuid,
  link_id uuid,
  amount bigint NOT NULL,
  authorized bigint NOT NULL,
  captured bigint NOT NULL,
  cancelled bigint NOT NULL,
  refunded bigint NOT NULL,
  client_transaction_id text NOT NULL,
  order_id text,
  retrieval_reference text,
  authorization_code text,
  masked_number text,
  last_four text,
  card_token uuid,
  response_code text,
  is_offline boolean NOT NULL,
  day date NOT NULL,
  time_zone text NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, created_at, payment_id)
) WITH (fillfactor = 90);

CREATE INDEX report_payments_class ON report_payments
  (organization_id, class_id, created_at, payment_id) INCLUDE (amount);
CREATE INDEX report_payments_merchant ON report_payments
  (organization_id, merchant_id, created_at, payment_id) INCLUDE (class_id, amount);
CREATE INDEX report_payments_store ON report_payments
  (organization_id, store_id, created_at, payment_id) INCLUDE (class_id, amount)
  WHERE store_id IS NOT NULL;
CREATE INDEX report_payments_device ON report_payments
  (organization_id, device_id, created_at, payment_id) INCLUDE (class_id, amount)
  WHERE device_id IS NOT NULL;
CREATE INDEX report_payments_amount ON report_payments
  (organization_id, amount, created_at, payment_id) INCLUDE (class_id);
CREATE INDEX report_payments_reference ON report_payments
  (organization_id, retrieval_reference, created_at) WHERE retrieval_reference IS NOT NULL;
CREATE INDEX report_payments_authorization ON report_payments
  (organization_id, authorization_code, created_at) WHERE authorization_code IS NOT NULL;
CREATE INDEX report_payments_last_four ON report_payments
  (organization_id, last_four, created_at) WHERE last_four IS NOT NULL;
CREATE INDEX report_payments_token ON report_payments
  (organization_id, card_token, created_at) WHERE card_token IS NOT NULL;
CREATE INDEX report_payments_order ON report_payments
  (organization_id, order_id, created_at) WHERE order_id IS NOT NULL;

-- Sums of a day of the store. level 0 is the organisation, 1 the merchant, 2 the device; what a level does
-- not tell apart is nil, and so is the store or device of a payment without one. hours and latency are
-- the same by hour of the day, and payments by bucket of a histogram.
CREATE TABLE report_cells (
  organization_id uuid NOT NULL,
  level integer NOT NULL,
  day date NOT NULL,
  merchant_id uuid NOT NULL,
  store_id uuid NOT NULL,
  device_id uuid NOT NULL,
  group_id integer NOT NULL,
  approved bigint NOT NULL,
  declined bigint NOT NULL,
  failed bigint NOT NULL,
  other bigint NOT NULL,
  authorized bigint NOT NULL,
  captured bigint NOT NULL,
  refunded bigint NOT NULL,
  cancelled bigint NOT NULL,
  reversed bigint NOT NULL,
  hours jsonb NOT NULL,
  latency jsonb NOT NULL,
  PRIMARY KEY (organization_id, level, day, merchant_id, store_id, device_id, group_id)
) WITH (fillfactor = 80);

-- What is settled with an acquirer for a merchant on a day.
CREATE TABLE report_settlements (
  organization_id uuid NOT NULL,
  settlement_date date NOT NULL,
  link_id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  currency text NOT NULL,
  captures bigint NOT NULL,
  captured bigint NOT NULL,
  refunds bigint NOT NULL,
  refunded bigint NOT NULL,
  reversals bigint NOT NULL,
  reversed bigint NOT NULL,
  pending_captures bigint NOT NULL,
  pending bigint NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, settlement_date, link_id, merchant_id, currency)
) WITH (fillfactor = 80);

CREATE INDEX report_settlements_merchant ON report_settlements
  (organization_id, merchant_id, settlement_date) WHERE captures >= 0;

-- The clearing files that captures of a settlement went in.
CREATE TABLE report_settlement_files (
  organization_id uuid NOT NULL,
  settlement_date date NOT NULL,
  link_id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  currency text NOT NULL,
  file_id uuid NOT NULL,
  lines bigint NOT NULL,
  amount bigint NOT NULL,
  PRIMARY KEY (organization_id, settlement_date, link_id, merchant_id, currency, file_id)
);

-- What moved money between an acquirer and a merchant: one row for each capture, refund and reversal that counts
-- in a settlement. number is that of the operation, 0 of the sale itself.
CREATE TABLE report_movements (
  organization_id uuid NOT NULL,
  link_id uuid NOT NULL,
  settlement_date date NOT NULL,
  payment_id uuid NOT NULL,
  number integer NOT NULL,
  merchant_id uuid NOT NULL,
  kind text NOT NULL,
  amount bigint NOT NULL,
  currency text NOT NULL,
  acquirer_merchant_number text NOT NULL,
  terminal text NOT NULL,
  trace_number text NOT NULL,
  retrieval_reference text NOT NULL,
  authorization_code text,
  masked_number text,
  moved_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, link_id, settlement_date, payment_id, number)
);

CREATE INDEX report_movements_reference ON report_movements
  (organization_id, link_id, retrieval_reference) WHERE amount > 0;
