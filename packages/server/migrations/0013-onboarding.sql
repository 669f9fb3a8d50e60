-- Onboarding: who asked for an organisation, and what became of it.

-- organization_id is that of the organisation to be: nothing of a tenant is known before it, and the
-- platform's operator alone reads across these rows.
CREATE TABLE sign_ups (
  organization_id uuid NOT NULL,
  organization_name text NOT NULL,
  persona text NOT NULL,
  email text NOT NULL,
  given_name text NOT NULL,
  family_name text NOT NULL,
  country text NOT NULL,
  language text,
  status text NOT NULL,
  user_domain_id text,
  version integer NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id)
);

CREATE INDEX sign_ups_waiting ON sign_ups (lower(email)) WHERE status = 'Pending';

-- A link that came by mail names no organisation: its own 256 bits lead to it.
CREATE INDEX user_links_hash ON user_links (link_hash);
