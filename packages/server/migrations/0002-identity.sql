-- Identity: user domains, their applications and signing keys, and what the authorization server keeps.

-- A reference table: from the public name of a realm to the organisation that every other key starts with.
CREATE TABLE user_domains (
  user_domain_id text PRIMARY KEY,
  organization_id uuid NOT NULL UNIQUE,
  status text NOT NULL,
  created_at timestamptz NOT NULL
);

-- secret_hash is empty for public clients; entity_id is the organisation or the merchant it acts for.
CREATE TABLE applications (
  organization_id uuid NOT NULL,
  client_id text NOT NULL,
  service_account_id uuid NOT NULL,
  name text NOT NULL,
  description text,
  type text NOT NULL,
  entity_type text NOT NULL,
  entity_id uuid NOT NULL,
  store_id uuid,
  roles jsonb NOT NULL,
  services jsonb NOT NULL,
  security_flows jsonb NOT NULL,
  redirect_uris jsonb NOT NULL,
  web_origins jsonb NOT NULL,
  callback_error text NOT NULL,
  access_token_seconds integer,
  secret_hash bytea,
  secret_changed_at timestamptz,
  status text NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, client_id)
);

-- A key signs from active_from until a younger one does, and verifies until retire_at.
CREATE TABLE realm_keys (
  organization_id uuid NOT NULL,
  key_id text NOT NULL,
  algorithm text NOT NULL,
  private_sealed bytea NOT NULL,
  created_at timestamptz NOT NULL,
  active_from timestamptz NOT NULL,
  retire_at timestamptz,
  PRIMARY KEY (organization_id, key_id)
);

-- Codes, refresh tokens, sessions, grants; bearer values are kept as hashes in entity_id.
CREATE TABLE oidc_entities (
  organization_id uuid NOT NULL,
  model text NOT NULL,
  entity_id text NOT NULL,
  payload jsonb NOT NULL,
  grant_id text,
  uid text,
  user_code text,
  account_id text,
  client_id text,
  created_at timestamptz NOT NULL,
  expires_at timestamptz,
  consumed_at timestamptz,
  PRIMARY KEY (organization_id, model, entity_id)
);

CREATE INDEX oidc_entities_grant ON oidc_entities (organization_id, grant_id)
  WHERE grant_id IS NOT NULL;
CREATE INDEX oidc_entities_uid ON oidc_entities (organization_id, uid) WHERE uid IS NOT NULL;
CREATE INDEX oidc_entities_user_code ON oidc_entities (organization_id, user_code)
  WHERE user_code IS NOT NULL;
CREATE INDEX oidc_entities_account ON oidc_entities (organization_id, account_id)
  WHERE account_id IS NOT NULL;
CREATE INDEX oidc_entities_expiry ON oidc_entities (expires_at);
