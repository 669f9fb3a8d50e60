-- When each application was last used: told to whoever looks after them.

-- Written for many applications at once, and at most once a minute for each: used_at may lie that much back.
CREATE TABLE application_uses (
  organization_id uuid NOT NULL,
  client_id text NOT NULL,
  used_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, client_id)
);
