-- Offline sales: what each terminal has uploaded, the numbers that are missing, and what a contract allows.
ALTER TABLE acquirer_contracts ADD COLUMN offline_limits jsonb;

-- Who counts: the hardware that a sale named, else the device; a sale without a device counts for itself alone.
CREATE TABLE offline_terminals (
  organization_id uuid NOT NULL,
  holder_id uuid NOT NULL,
  counter text NOT NULL,
  first_sequence integer NOT NULL,
  last_sequence integer NOT NULL,
  PRIMARY KEY (organization_id, holder_id, counter)
);

-- One number of a terminal is one sale. The chip data is sealed, and gone once the acquirer has answered.
CREATE TABLE offline_uploads (
  organization_id uuid NOT NULL,
  holder_id uuid NOT NULL,
  counter text NOT NULL,
  terminal_sequence integer NOT NULL,
  transaction_id uuid NOT NULL,
  authorized_at timestamptz NOT NULL,
  chip_data bytea,
  PRIMARY KEY (organization_id, holder_id, counter, terminal_sequence)
);

CREATE INDEX offline_uploads_recent ON offline_uploads (organization_id, holder_id, authorized_at);
CREATE UNIQUE INDEX offline_uploads_transaction ON offline_uploads (organization_id, transaction_id);

-- Numbers that a terminal counted and did not upload, in rows that do not touch each other.
CREATE TABLE offline_gaps (
  organization_id uuid NOT NULL,
  gap_id uuid NOT NULL,
  holder_id uuid NOT NULL,
  counter text NOT NULL,
  first_missing integer NOT NULL,
  last_missing integer NOT NULL,
  transaction_id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  store_id uuid,
  detected_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, gap_id),
  CHECK (first_missing <= last_missing)
);

CREATE INDEX offline_gaps_terminal
  ON offline_gaps (organization_id, holder_id, counter, first_missing);

-- The links that waiting advices still need.
CREATE INDEX transactions_stored ON transactions (organization_id, transaction_id)
  WHERE phase IN ('Stored', 'Sending');
