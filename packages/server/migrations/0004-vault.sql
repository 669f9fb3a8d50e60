-- The vault: card numbers that must be kept, sealed, found again by a keyed hash only.
CREATE TABLE vault_cards (
  organization_id uuid NOT NULL,
  token uuid NOT NULL,
  fingerprint bytea NOT NULL,
  sealed bytea NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, token),
  UNIQUE (organization_id, fingerprint)
);
