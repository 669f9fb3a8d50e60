-- Holds that lapse, days of settlement, clearing files, and capture batches worked by acquirer link.
ALTER TABLE acquirer_contracts ADD COLUMN cut_over_time text NOT NULL DEFAULT '00:00';

ALTER TABLE transactions ADD COLUMN hold_until timestamptz;

UPDATE transactions SET hold_until = transactions.created_at + c.hold_days * interval '24 hours'
  FROM acquirer_contracts c
  WHERE c.organization_id = transactions.organization_id AND c.contract_id = transactions.contract_id
    AND transactions.phase = 'Approved'
    AND transactions.authorized > transactions.captured + transactions.cancelled;

-- Of what is open alone: a sale that is captured at once never enters it.
CREATE INDEX transactions_holds ON transactions (hold_until)
  WHERE phase = 'Approved' AND authorized > captured + cancelled;

ALTER TABLE capture_batches ADD COLUMN filed integer NOT NULL DEFAULT 0;

-- Null until the batch is sorted.
ALTER TABLE capture_batch_items ADD COLUMN link_id uuid;

CREATE INDEX capture_batch_items_pending ON capture_batch_items
  (organization_id, batch_id, link_id, transaction_id) WHERE status = 'Pending';

CREATE TABLE clearing_files (
  organization_id uuid NOT NULL,
  file_id uuid NOT NULL,
  link_id uuid NOT NULL,
  -- Without a gap for each link, so that the acquirer sees when one is missing.
  sequence integer NOT NULL,
  institution_id text NOT NULL,
  state text NOT NULL,
  line_count integer NOT NULL,
  -- Minor units by numeric currency.
  amounts jsonb NOT NULL,
  accepted integer NOT NULL,
  rejected integer NOT NULL,
  -- Why the acquirer took none of it.
  reason text,
  -- The hash of the acknowledgement, so that the same one again changes nothing.
  acknowledgement text,
  created_at timestamptz NOT NULL,
  acknowledged_at timestamptz,
  PRIMARY KEY (organization_id, file_id)
);

-- A file that the acquirer refused has used up no number.
CREATE UNIQUE INDEX clearing_files_sequence ON clearing_files (organization_id, link_id, sequence)
  WHERE state <> 'Rejected';

-- What a clearing file says of one capture; no card number but a masked one.
CREATE TABLE clearing_lines (
  organization_id uuid NOT NULL,
  transaction_id uuid NOT NULL,
  number integer NOT NULL,
  link_id uuid NOT NULL,
  settlement_date date NOT NULL,
  due_at timestamptz NOT NULL,
  amount bigint NOT NULL,
  currency text NOT NULL,
  content jsonb NOT NULL,
  -- Null until a file holds it.
  file_id uuid,
  line integer,
  status text NOT NULL,
  code text,
  PRIMARY KEY (organization_id, transaction_id, number)
);

CREATE INDEX clearing_lines_waiting ON clearing_lines (due_at, organization_id, link_id)
  WHERE file_id IS NULL;

CREATE UNIQUE INDEX clearing_lines_of_file ON clearing_lines (organization_id, file_id, line)
  WHERE file_id IS NOT NULL;
