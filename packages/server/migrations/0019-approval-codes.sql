-- Approval codes for refund and cancel: the code itself is known by a keyed hash alone.

CREATE TABLE approval_codes (
  organization_id uuid NOT NULL,
  approval_code_id uuid NOT NULL,
  merchant_id uuid,
  store_id uuid,
  name text NOT NULL,
  code_mark text NOT NULL,
  one_time boolean NOT NULL,
  max_amount bigint,
  currency text,
  valid_until timestamptz,
  uses integer NOT NULL DEFAULT 0,
  last_used_at timestamptz,
  created_by text NOT NULL,
  created_at timestamptz NOT NULL,
  revoked_at timestamptz,
  PRIMARY KEY (organization_id, approval_code_id)
);

-- A code that was ever given out is not given out again: the old one may still be remembered.
CREATE UNIQUE INDEX approval_codes_mark ON approval_codes (organization_id, code_mark);

-- Wrong codes by who sent them, so that nobody finds one by trying.
CREATE TABLE approval_failures (
  organization_id uuid NOT NULL,
  tried_by text NOT NULL,
  failures integer NOT NULL,
  counted_until timestamptz NOT NULL,
  PRIMARY KEY (organization_id, tried_by)
);
