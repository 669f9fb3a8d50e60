-- Entry: how far the PIN keys of devices have counted, and which declined sales were repeated.
CREATE TABLE pin_counters (
  organization_id uuid NOT NULL,
  device text NOT NULL,
  counter bigint NOT NULL,
  used_by text NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, device)
);

CREATE TABLE step_ups (
  organization_id uuid NOT NULL,
  declined_id uuid NOT NULL,
  taken_by text NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, declined_id)
);

-- A verification of a card has no amount, and may have to be reversed all the same.
ALTER TABLE operations DROP CONSTRAINT operations_amount_check;
ALTER TABLE operations ADD CONSTRAINT operations_amount_check CHECK (amount >= 0);
