-- Families of refresh tokens: what one sign-in of one user at one application can be carried on with.

-- token_id is the only refresh token of the family that is good: showing an older one ends the family.
-- session_id is the browser's session and empty for sign-ins without one. facts hold what the next
-- access token repeats. expires_at moves with each use, by idle_ms and never beyond ends_at; it has no index, so
-- that a refresh touches none. access_expires_at is the expiry of the last access token, which lives
-- for access_ms.
CREATE TABLE token_families (
  organization_id uuid NOT NULL,
  family_id uuid NOT NULL,
  user_id uuid NOT NULL,
  client_id text NOT NULL,
  session_id text,
  kind text NOT NULL,
  token_id uuid NOT NULL,
  facts jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  refreshed_at timestamptz NOT NULL,
  access_expires_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  ends_at timestamptz NOT NULL,
  idle_ms integer NOT NULL,
  access_ms integer NOT NULL,
  PRIMARY KEY (organization_id, family_id)
);

CREATE INDEX token_families_user ON token_families (organization_id, user_id);
CREATE INDEX token_families_session ON token_families (organization_id, session_id)
  WHERE session_id IS NOT NULL;
CREATE INDEX token_families_end ON token_families (ends_at);
