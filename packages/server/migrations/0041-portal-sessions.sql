-- Sessions of the portal: a browser has a random cookie, and the server the tokens that go with it.

-- session_hash is SHA-256 of what the cookie holds. tokens are sealed under the platform's key; each renewal
-- counts generation up, which is how the processes agree on one renewal at a time. expires_at moves with
-- what the person does, ends_at never.
-- sign_in_id is the family of tokens that it comes from.
CREATE TABLE portal_sessions (
  organization_id uuid NOT NULL,
  session_hash bytea NOT NULL,
  session_id uuid NOT NULL,
  sign_in_id uuid NOT NULL,
  user_id uuid NOT NULL,
  user_domain_id text NOT NULL,
  origin text NOT NULL,
  tokens_sealed bytea NOT NULL,
  generation integer NOT NULL,
  created_at timestamptz NOT NULL,
  renewed_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  ends_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, session_hash)
);

CREATE INDEX portal_sessions_user ON portal_sessions (organization_id, user_id);
CREATE INDEX portal_sessions_end ON portal_sessions (ends_at);
