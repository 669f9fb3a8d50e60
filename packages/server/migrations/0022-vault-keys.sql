-- Keys of the vault: one for each organisation, wrapped by the key provider; who had cards opened; what is kept how long.

CREATE TABLE vault_keys (
  organization_id uuid NOT NULL,
  key_id uuid NOT NULL,
  purpose text NOT NULL,
  state text NOT NULL,
  wrapped_by text NOT NULL,
  -- Absent once the key is destroyed: its row stays, as the proof that there was one.
  wrapped bytea,
  check_value text NOT NULL,
  created_at timestamptz NOT NULL,
  changed_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, key_id)
);

CREATE UNIQUE INDEX vault_keys_active ON vault_keys (organization_id, purpose) WHERE state = 'Active';

-- Cards of before have no key of their organisation yet, and count as used today.
ALTER TABLE vault_cards ADD COLUMN key_id uuid;
ALTER TABLE vault_cards ADD COLUMN used_at timestamptz NOT NULL DEFAULT now();

CREATE INDEX vault_cards_unkeyed ON vault_cards (organization_id) WHERE key_id IS NULL;

-- Each time a card number was opened: who, what for, with what result.
CREATE TABLE vault_accesses (
  organization_id uuid NOT NULL,
  access_id uuid NOT NULL,
  token uuid NOT NULL,
  purpose text NOT NULL,
  actor text NOT NULL,
  subject_id uuid,
  result text NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, access_id)
);

-- How far the round over the cards of an organisation has come, and what it has found and done.
CREATE TABLE vault_rounds (
  organization_id uuid NOT NULL PRIMARY KEY,
  started_at timestamptz NOT NULL,
  walked_to uuid,
  tally jsonb NOT NULL
);
