-- Accounts: the people of a user domain, what they prove themselves with, and every attempt at it.

-- username_key is the name as it is compared: NFKC, lower case. password_hash is argon2id in PHC form
-- and empty until the mailed link is followed. failed_attempts counts since the last success.
CREATE TABLE users (
  organization_id uuid NOT NULL,
  user_id uuid NOT NULL,
  username text NOT NULL,
  username_key text NOT NULL,
  entity_type text NOT NULL,
  entity_id uuid NOT NULL,
  scope_entity_type text NOT NULL,
  scope_entity_id uuid NOT NULL,
  email text NOT NULL,
  email_verified boolean NOT NULL,
  pending_email text,
  given_name text,
  family_name text,
  phone_number text,
  phone_number_verified boolean NOT NULL,
  address jsonb,
  locale text,
  zoneinfo text,
  datetime_format text,
  groups jsonb NOT NULL,
  status text NOT NULL,
  second_factor text NOT NULL,
  password_hash text,
  password_changed_at timestamptz,
  failed_attempts integer NOT NULL,
  locked_until timestamptz,
  tokens_not_before timestamptz,
  last_sign_in_at timestamptz,
  version integer NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, user_id)
);

CREATE UNIQUE INDEX users_username ON users (organization_id, username_key);
CREATE INDEX users_entity ON users (organization_id, entity_id, username_key);
CREATE INDEX users_email ON users (organization_id, lower(email));

-- last_step is the last 30-second step that was accepted: each is good once. A secret that is being set up
-- is pending until a code confirms it, and the confirmed one serves meanwhile; pending_for names the sign-in
-- that it was made for.
CREATE TABLE user_one_time_passwords (
  organization_id uuid NOT NULL,
  user_id uuid NOT NULL,
  secret_sealed bytea,
  last_step bigint NOT NULL,
  confirmed_at timestamptz,
  pending_sealed bytea,
  pending_for text,
  pending_at timestamptz,
  PRIMARY KEY (organization_id, user_id),
  FOREIGN KEY (organization_id, user_id) REFERENCES users (organization_id, user_id)
);

CREATE TABLE user_recovery_codes (
  organization_id uuid NOT NULL,
  user_id uuid NOT NULL,
  code_hash bytea NOT NULL,
  created_at timestamptz NOT NULL,
  used_at timestamptz,
  PRIMARY KEY (organization_id, user_id, code_hash),
  FOREIGN KEY (organization_id, user_id) REFERENCES users (organization_id, user_id)
);

CREATE TABLE user_passkeys (
  organization_id uuid NOT NULL,
  user_id uuid NOT NULL,
  credential_id text NOT NULL,
  public_key bytea NOT NULL,
  counter bigint NOT NULL,
  transports jsonb NOT NULL,
  name text NOT NULL,
  created_at timestamptz NOT NULL,
  last_used_at timestamptz,
  PRIMARY KEY (organization_id, user_id, credential_id),
  FOREIGN KEY (organization_id, user_id) REFERENCES users (organization_id, user_id)
);

-- What a passkey has to sign: good once, and for minutes.
CREATE TABLE user_challenges (
  organization_id uuid NOT NULL,
  challenge_hash bytea NOT NULL,
  user_id uuid NOT NULL,
  purpose text NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, challenge_hash),
  FOREIGN KEY (organization_id, user_id) REFERENCES users (organization_id, user_id)
);

CREATE INDEX user_challenges_expiry ON user_challenges (expires_at);

-- Links by mail: single use, kept as a hash.
CREATE TABLE user_links (
  organization_id uuid NOT NULL,
  link_hash bytea NOT NULL,
  user_id uuid NOT NULL,
  purpose text NOT NULL,
  payload jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  used_at timestamptz,
  PRIMARY KEY (organization_id, link_hash),
  FOREIGN KEY (organization_id, user_id) REFERENCES users (organization_id, user_id)
);

CREATE INDEX user_links_user ON user_links (organization_id, user_id);
CREATE INDEX user_links_expiry ON user_links (expires_at);

-- user_id is empty where the name belongs to nobody; what was typed then is not kept.
CREATE TABLE sign_in_records (
  organization_id uuid NOT NULL,
  record_id uuid NOT NULL,
  at timestamptz NOT NULL,
  user_id uuid,
  client_id text,
  kind text NOT NULL,
  outcome text NOT NULL,
  methods jsonb NOT NULL,
  address text,
  user_agent text,
  request_id text,
  PRIMARY KEY (organization_id, record_id)
);

CREATE INDEX sign_in_records_user ON sign_in_records (organization_id, user_id, record_id);
CREATE INDEX sign_in_records_age ON sign_in_records (at);
