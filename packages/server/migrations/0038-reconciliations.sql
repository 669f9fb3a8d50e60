-- Reconciliations: what acquirers say they have settled, beside the movements that we know.

CREATE TABLE reconciliations (
  organization_id uuid NOT NULL,
  reconciliation_id uuid NOT NULL,
  link_id uuid NOT NULL,
  from_day date NOT NULL,
  to_day date NOT NULL,
  name text,
  state text NOT NULL,
  -- How far the comparison is: a reference of the file, then a day with the movement that was last.
  place text NOT NULL,
  lines integer NOT NULL,
  last_number integer NOT NULL,
  matched integer NOT NULL,
  different integer NOT NULL,
  missing_here integer NOT NULL,
  missing_there integer NOT NULL,
  open integer NOT NULL,
  balances jsonb NOT NULL,
  failure text,
  created_at timestamptz NOT NULL,
  completed_at timestamptz,
  PRIMARY KEY (organization_id, reconciliation_id)
);

-- number is the line's for what the file holds; what is missing there comes behind.
CREATE TABLE reconciliation_items (
  organization_id uuid NOT NULL,
  reconciliation_id uuid NOT NULL,
  number integer NOT NULL,
  outcome text NOT NULL,
  differences jsonb NOT NULL,
  retrieval_reference text NOT NULL,
  theirs jsonb,
  payment_id uuid,
  sequence integer,
  ours jsonb,
  resolution text,
  note text,
  resolved_by text,
  resolved_at timestamptz,
  PRIMARY KEY (organization_id, reconciliation_id, number)
);

CREATE INDEX reconciliation_items_reference ON reconciliation_items
  (organization_id, reconciliation_id, retrieval_reference, number);

CREATE INDEX reconciliation_items_outcome ON reconciliation_items
  (organization_id, reconciliation_id, outcome, number) WHERE outcome <> 'Matched';

CREATE INDEX reconciliation_items_ours ON reconciliation_items
  (organization_id, reconciliation_id, payment_id, sequence) WHERE payment_id IS NOT NULL;

CREATE INDEX reconciliation_items_missing ON reconciliation_items
  (organization_id, payment_id, sequence) WHERE outcome = 'MissingThere' AND resolution IS NULL;
