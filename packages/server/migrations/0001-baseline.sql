-- The schema of the first release, module by module: what each row is, its columns and its indexes.

-- Rules for all tables: primary keys begin with organization_id, except in reference tables of the platform, and in
-- the tables of payments, jobs and the outbox: theirs begin with bucket, a number from 0 to 1023. It is the last ten
-- bits of the merchant's identifier; those of its transactions, batches and jobs are the same. A row of the outbox has
-- the bucket of its subject.
-- Secrets are stored encrypted (…_sealed) or as a hash (…_hash). Rows that transactions refer to are never
-- deleted: removed_at is set.

-- Some indexes have a condition that is true for every row, such as amount > 0. In small tables an index costs
-- the planner as much as the primary key, and a prepared plan stays. Only a query that repeats the condition can
-- use such an index.

-- ---------------------------------------------------------------------------------------------------------
-- platform: jobs and the outbox
-- ---------------------------------------------------------------------------------------------------------

-- A job to run at due_at. A process that claims a job sets due_at to the end of its lease.
-- Jobs with the same queue_id run in the order of their creation.
CREATE TABLE jobs (
  bucket smallint NOT NULL,
  organization_id uuid NOT NULL,
  job_id uuid NOT NULL,
  kind text NOT NULL,
  payload jsonb NOT NULL,
  due_at timestamptz NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  lease_token uuid,
  lease_until timestamptz,
  last_error text,
  queue_id uuid,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (bucket, job_id)
);

-- A queue is blocked by a message that the acquirer did not answer.
CREATE INDEX jobs_stopped ON jobs (organization_id, queue_id, job_id) WHERE last_error = 'Unanswered';
-- Jobs are claimed per kind, so that a long queue of one kind does not slow down another.
CREATE INDEX jobs_kind_due ON jobs (kind, due_at);
-- For the health of an organisation.
CREATE INDEX jobs_organization_due ON jobs (organization_id, due_at);

-- A domain event that was written in the transaction of its cause and is not published yet.
CREATE TABLE outbox (
  bucket smallint NOT NULL,
  organization_id uuid NOT NULL,
  outbox_id uuid NOT NULL,
  kind text NOT NULL,
  subject_id uuid NOT NULL,
  sequence integer NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (bucket, outbox_id)
);

-- Reference table of the platform: the server and timeline of this database, in one row. database_identifier has the
-- OIDs of the database and of this table, which pg_restore changes. numbering_jumps counts how often numbers skipped a
-- margin. recovered_jumps is its value after the last recovery. While recovery_required_at is
-- set, no new numbers are issued.
CREATE TABLE database_timeline (
  singleton boolean PRIMARY KEY CHECK (singleton),
  system_identifier text NOT NULL,
  timeline bigint NOT NULL,
  database_identifier text NOT NULL,
  numbering_jumps integer NOT NULL,
  recovered_jumps integer NOT NULL,
  recovery_required_at timestamptz,
  changed_at timestamptz NOT NULL
);

-- Reference table of the platform: identifies the platform key of this database, in one row.
CREATE TABLE platform_key_check (
  singleton boolean PRIMARY KEY CHECK (singleton),
  key_check_value text NOT NULL,
  created_at timestamptz NOT NULL
);

-- Keys of TLS session tickets, which all processes share. Only the key of the current period stays, so that
-- recorded connections of earlier periods cannot be decrypted later.
CREATE TABLE tls_ticket_keys (
  period bigint PRIMARY KEY,
  key_sealed bytea NOT NULL
);

-- ---------------------------------------------------------------------------------------------------------
-- provisioning: organisations, merchants, stores, devices, acquirer links and contracts
-- ---------------------------------------------------------------------------------------------------------

-- An organisation (tenant). parent_organization_id has no foreign key because it crosses tenants.
-- ancestor_ids lists the organisations above it from the top down, without itself.
CREATE TABLE organizations (
  organization_id uuid NOT NULL,
  parent_organization_id uuid,
  ancestor_ids uuid[] NOT NULL DEFAULT '{}',
  name text NOT NULL,
  external_id text,
  status text NOT NULL,
  labels jsonb NOT NULL,
  approval_code_required boolean NOT NULL DEFAULT false,
  version integer NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  removed_at timestamptz,
  PRIMARY KEY (organization_id)
);

CREATE INDEX organizations_below ON organizations USING gin (ancestor_ids);
CREATE INDEX organizations_parent ON organizations (parent_organization_id, organization_id)
  WHERE parent_organization_id IS NOT NULL;

-- A merchant of an organisation. Lists and searches by name compare bytes, so that a prefix is one index range.
CREATE TABLE merchants (
  organization_id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  name text NOT NULL,
  external_id text,
  status text NOT NULL,
  labels jsonb NOT NULL,
  address jsonb,
  country text NOT NULL,
  mcc text NOT NULL,
  time_zone text NOT NULL,
  contact jsonb,
  version integer NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  removed_at timestamptz,
  PRIMARY KEY (organization_id, merchant_id),
  FOREIGN KEY (organization_id) REFERENCES organizations (organization_id)
);

CREATE INDEX merchants_external ON merchants (organization_id, external_id)
  WHERE external_id IS NOT NULL;
CREATE INDEX merchants_name
  ON merchants (organization_id, (lower(name)) COLLATE "C", merchant_id) WHERE removed_at IS NULL;

-- A store of a merchant.
CREATE TABLE stores (
  organization_id uuid NOT NULL,
  store_id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  name text NOT NULL,
  external_id text,
  status text NOT NULL,
  labels jsonb NOT NULL,
  address jsonb,
  time_zone text,
  version integer NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  removed_at timestamptz,
  PRIMARY KEY (organization_id, store_id),
  FOREIGN KEY (organization_id, merchant_id) REFERENCES merchants (organization_id, merchant_id)
);

CREATE INDEX stores_merchant ON stores (organization_id, merchant_id, store_id)
  WHERE removed_at IS NULL;
CREATE INDEX stores_name
  ON stores (organization_id, (lower(name)) COLLATE "C", store_id) WHERE removed_at IS NULL;
-- External identifiers are unique within the parent only: many merchants number their stores from 1.
CREATE INDEX stores_external ON stores (organization_id, external_id, merchant_id)
  WHERE external_id IS NOT NULL;

-- A logical device: the terminal's role at a store, which stays when its hardware is replaced. merchant_id repeats
-- that of the store.
CREATE TABLE logical_devices (
  organization_id uuid NOT NULL,
  logical_device_id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  store_id uuid NOT NULL,
  name text NOT NULL,
  external_id text,
  status text NOT NULL,
  labels jsonb NOT NULL,
  version integer NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  removed_at timestamptz,
  PRIMARY KEY (organization_id, logical_device_id),
  FOREIGN KEY (organization_id, merchant_id) REFERENCES merchants (organization_id, merchant_id),
  FOREIGN KEY (organization_id, store_id) REFERENCES stores (organization_id, store_id)
);

CREATE INDEX logical_devices_store ON logical_devices (organization_id, store_id, logical_device_id)
  WHERE removed_at IS NULL;
CREATE INDEX logical_devices_merchant
  ON logical_devices (organization_id, merchant_id, logical_device_id) WHERE removed_at IS NULL;
CREATE INDEX logical_devices_name
  ON logical_devices (organization_id, (lower(name)) COLLATE "C", logical_device_id)
  WHERE removed_at IS NULL;
CREATE INDEX logical_devices_external ON logical_devices (organization_id, external_id, store_id)
  WHERE external_id IS NOT NULL;

-- A physical device: the hardware. A device without a merchant is in the stock of the organisation.
CREATE TABLE physical_devices (
  organization_id uuid NOT NULL,
  physical_device_id uuid NOT NULL,
  merchant_id uuid,
  logical_device_id uuid,
  serial_number text NOT NULL,
  make text NOT NULL,
  model text NOT NULL,
  family text NOT NULL,
  name text NOT NULL,
  external_id text,
  status text NOT NULL,
  labels jsonb NOT NULL,
  version integer NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  removed_at timestamptz,
  PRIMARY KEY (organization_id, physical_device_id),
  FOREIGN KEY (organization_id, merchant_id) REFERENCES merchants (organization_id, merchant_id),
  FOREIGN KEY (organization_id, logical_device_id)
    REFERENCES logical_devices (organization_id, logical_device_id)
);

CREATE UNIQUE INDEX physical_devices_serial ON physical_devices (organization_id, serial_number)
  WHERE removed_at IS NULL;
CREATE INDEX physical_devices_logical ON physical_devices (organization_id, logical_device_id)
  WHERE logical_device_id IS NOT NULL;
CREATE INDEX physical_devices_merchant
  ON physical_devices (organization_id, merchant_id, physical_device_id) WHERE removed_at IS NULL;
CREATE INDEX physical_devices_external ON physical_devices (organization_id, external_id)
  WHERE external_id IS NOT NULL;
CREATE INDEX physical_devices_name
  ON physical_devices (organization_id, (lower(name)) COLLATE "C", physical_device_id)
  WHERE removed_at IS NULL;

-- Reference table of the platform: the organisation that has proved that it has a terminal, and its device. A
-- terminal without a row is Unclaimed in every organisation that has provisioned it. method is Certificate, Code or
-- Operator.
CREATE TABLE terminal_claims (
  serial_number text NOT NULL,
  make text NOT NULL,
  model text NOT NULL,
  organization_id uuid NOT NULL,
  physical_device_id uuid NOT NULL,
  method text NOT NULL,
  claimed_at timestamptz NOT NULL,
  PRIMARY KEY (serial_number, make, model)
);

CREATE UNIQUE INDEX terminal_claims_device
  ON terminal_claims (organization_id, physical_device_id);

-- The claim code that a terminal has sent last. attempts counts the wrong codes that were entered for it.
CREATE TABLE terminal_claim_codes (
  organization_id uuid NOT NULL,
  physical_device_id uuid NOT NULL,
  code_hash bytea NOT NULL,
  attempts integer NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, physical_device_id)
);

-- Reference table of the platform: two organisations have proved that they have the same terminal. The holder has
-- the claim, the claimant does not; the operator decides. method is that of the claimant's proof.
CREATE TABLE terminal_claim_conflicts (
  conflict_id uuid PRIMARY KEY,
  serial_number text NOT NULL,
  make text NOT NULL,
  model text NOT NULL,
  holder_organization_id uuid NOT NULL,
  holder_physical_device_id uuid NOT NULL,
  holder_method text NOT NULL,
  claimant_organization_id uuid NOT NULL,
  claimant_physical_device_id uuid NOT NULL,
  claimant_method text NOT NULL,
  status text NOT NULL,
  decision text,
  created_at timestamptz NOT NULL,
  settled_at timestamptz
);

CREATE UNIQUE INDEX terminal_claim_conflicts_open
  ON terminal_claim_conflicts (claimant_organization_id, claimant_physical_device_id)
  WHERE status = 'Open';
CREATE INDEX terminal_claim_conflicts_terminal
  ON terminal_claim_conflicts (serial_number, make, model) WHERE status = 'Open';

-- A point of sale of a store. Its OAuth client_id is derived from point_of_sale_id.
CREATE TABLE points_of_sale (
  organization_id uuid NOT NULL,
  point_of_sale_id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  store_id uuid NOT NULL,
  name text NOT NULL,
  external_id text,
  status text NOT NULL,
  labels jsonb NOT NULL,
  version integer NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  removed_at timestamptz,
  PRIMARY KEY (organization_id, point_of_sale_id),
  FOREIGN KEY (organization_id, merchant_id) REFERENCES merchants (organization_id, merchant_id),
  FOREIGN KEY (organization_id, store_id) REFERENCES stores (organization_id, store_id)
);

CREATE INDEX points_of_sale_store ON points_of_sale (organization_id, store_id, point_of_sale_id)
  WHERE removed_at IS NULL;
CREATE INDEX points_of_sale_merchant
  ON points_of_sale (organization_id, merchant_id, point_of_sale_id) WHERE removed_at IS NULL;
CREATE INDEX points_of_sale_external ON points_of_sale (organization_id, external_id)
  WHERE external_id IS NOT NULL;
CREATE INDEX points_of_sale_name
  ON points_of_sale (organization_id, (lower(name)) COLLATE "C", point_of_sale_id)
  WHERE removed_at IS NULL;

-- A link to an acquirer's host. dialect names the message table of an ISO 8583 host; http_json configures a host
-- that speaks HTTP. client_certificate names the certificate that the platform presents. approval is PendingApproval
-- until the operator of the platform approves adapter, host and port.
CREATE TABLE acquirer_links (
  organization_id uuid NOT NULL,
  acquirer_link_id uuid NOT NULL,
  adapter text NOT NULL,
  host text NOT NULL,
  port integer NOT NULL,
  tls boolean NOT NULL,
  client_certificate text,
  dialect text NOT NULL DEFAULT 'iso1987-binary',
  connections integer NOT NULL DEFAULT 1,
  tpdu text,
  zone_pin_key jsonb,
  mac_key jsonb,
  zone_master_key jsonb,
  http_json jsonb,
  institution_id text NOT NULL,
  approval text NOT NULL,
  name text NOT NULL,
  external_id text,
  status text NOT NULL,
  labels jsonb NOT NULL,
  version integer NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  removed_at timestamptz,
  PRIMARY KEY (organization_id, acquirer_link_id),
  FOREIGN KEY (organization_id) REFERENCES organizations (organization_id)
);

CREATE UNIQUE INDEX acquirer_links_name ON acquirer_links (organization_id, name)
  WHERE removed_at IS NULL;

-- The contract of a merchant with an acquirer. routing limits which sales it takes.
CREATE TABLE acquirer_contracts (
  organization_id uuid NOT NULL,
  contract_id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  acquirer_link_id uuid NOT NULL,
  acquirer_merchant_id text NOT NULL,
  terminal_id_from text NOT NULL,
  terminal_id_to text NOT NULL,
  mcc text,
  currencies jsonb NOT NULL,
  routing jsonb NOT NULL DEFAULT '[]',
  capture_modes jsonb NOT NULL,
  default_capture_mode text NOT NULL,
  capture_transport text NOT NULL,
  partial_cancel boolean NOT NULL,
  multiple_capture boolean NOT NULL,
  over_capture_percent integer NOT NULL,
  partial_approval boolean NOT NULL,
  clear_card_data text NOT NULL,
  hold_days integer NOT NULL,
  cut_over_time text NOT NULL DEFAULT '00:00',
  offline_limits jsonb,
  name text NOT NULL,
  external_id text,
  status text NOT NULL,
  labels jsonb NOT NULL,
  version integer NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  removed_at timestamptz,
  PRIMARY KEY (organization_id, contract_id),
  FOREIGN KEY (organization_id, merchant_id) REFERENCES merchants (organization_id, merchant_id),
  FOREIGN KEY (organization_id, acquirer_link_id)
    REFERENCES acquirer_links (organization_id, acquirer_link_id)
);

CREATE INDEX acquirer_contracts_merchant
  ON acquirer_contracts (organization_id, merchant_id, contract_id) WHERE removed_at IS NULL;
CREATE INDEX acquirer_contracts_link
  ON acquirer_contracts (organization_id, acquirer_link_id, terminal_id_from)
  WHERE removed_at IS NULL;
CREATE INDEX acquirer_contracts_removed
  ON acquirer_contracts (organization_id, acquirer_link_id, terminal_id_from)
  WHERE removed_at IS NOT NULL;

-- A bulk import. owner_id is the organisation, or the merchant of the client that started it. lines, bytes and
-- hash are the position up to which the body was processed.
CREATE TABLE bulk_imports (
  organization_id uuid NOT NULL,
  owner_id uuid NOT NULL,
  bulk_id text NOT NULL,
  format text NOT NULL,
  lines integer NOT NULL,
  bytes bigint NOT NULL,
  hash text NOT NULL,
  counts jsonb NOT NULL,
  error jsonb,
  lease_id uuid NOT NULL,
  leased_until timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  completed_at timestamptz,
  PRIMARY KEY (organization_id, owner_id, bulk_id)
);

-- The results of one chunk of a bulk import, as JSON Lines.
CREATE TABLE bulk_import_results (
  organization_id uuid NOT NULL,
  owner_id uuid NOT NULL,
  bulk_id text NOT NULL,
  first_line integer NOT NULL,
  last_line integer NOT NULL,
  answers text NOT NULL,
  PRIMARY KEY (organization_id, owner_id, bulk_id, first_line),
  FOREIGN KEY (organization_id, owner_id, bulk_id)
    REFERENCES bulk_imports (organization_id, owner_id, bulk_id)
);

-- ---------------------------------------------------------------------------------------------------------
-- identity: user domains, applications, users, sessions, device certificates
-- ---------------------------------------------------------------------------------------------------------

-- Reference table of the platform: a user domain (realm) and its organisation.
CREATE TABLE user_domains (
  user_domain_id text PRIMARY KEY,
  organization_id uuid NOT NULL UNIQUE,
  status text NOT NULL,
  created_at timestamptz NOT NULL
);

-- An OAuth client. entity_id is the organisation or merchant that it acts for. secret_hash is null for public
-- clients. The row of a removed application stays, so that its client_id is never used again.
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
  access_token_algorithm text,
  access_token_type text NOT NULL,
  secret_hash bytea,
  secret_changed_at timestamptz,
  status text NOT NULL,
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  removed_at timestamptz,
  PRIMARY KEY (organization_id, client_id)
);

-- Devices send credentials without their organisation.
CREATE INDEX applications_credentials ON applications (client_id, secret_hash);

-- When an application last used its credentials, at most one minute late.
CREATE TABLE application_uses (
  organization_id uuid NOT NULL,
  client_id text NOT NULL,
  used_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, client_id)
);

-- A signing key of a realm. It signs from active_from until a newer key does, and verifies until retire_at.
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

-- A record of the authorization server: code, refresh token, session or grant. entity_id is the hash of a
-- bearer value.
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

-- A family of refresh tokens: one sign-in of a user at an application. Only token_id is valid; a request with an
-- older token ends the family. session_id is null for sign-ins without a browser. expires_at moves by idle_ms
-- with each use, up to ends_at; it has no index, so that a refresh updates none. facts holds the claims of the next
-- access token.
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

-- A user of a user domain. username_key is the name for comparison: NFKC, lower case. password_hash is argon2id
-- in PHC form, and null until the user has opened the link in the invitation. failed_attempts counts since the
-- last success. sessions_ended_at is when all sessions were ended, except sessions_ended_but.
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
  sessions_ended_at timestamptz,
  sessions_ended_but text,
  last_sign_in_at timestamptz,
  version integer NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, user_id)
);

CREATE UNIQUE INDEX users_username ON users (organization_id, username_key);
CREATE INDEX users_entity ON users (organization_id, entity_id, username_key);
CREATE INDEX users_email ON users (organization_id, lower(email));

-- The TOTP secret of a user. last_step is the last accepted time step, since a code is valid once. A new secret is
-- pending until a code confirms it; pending_for is the sign-in that created it.
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

-- A recovery code of a user, valid once.
CREATE TABLE user_recovery_codes (
  organization_id uuid NOT NULL,
  user_id uuid NOT NULL,
  code_hash bytea NOT NULL,
  created_at timestamptz NOT NULL,
  used_at timestamptz,
  PRIMARY KEY (organization_id, user_id, code_hash),
  FOREIGN KEY (organization_id, user_id) REFERENCES users (organization_id, user_id)
);

-- A browser, an application or a device that a user has signed in with before. Its failed attempts are counted
-- apart from those of unknown ones. source_hash is the hash of a random cookie, or of a proven identity.
CREATE TABLE user_known_sources (
  organization_id uuid NOT NULL,
  user_id uuid NOT NULL,
  source_hash bytea NOT NULL,
  failed_attempts integer NOT NULL,
  locked_until timestamptz,
  used_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, user_id, source_hash),
  FOREIGN KEY (organization_id, user_id) REFERENCES users (organization_id, user_id)
);

-- A passkey (WebAuthn credential) of a user.
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

-- A challenge that a passkey has to sign, valid once and for minutes.
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

-- A link that was sent by e-mail, valid once.
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
-- A link names no organisation.
CREATE INDEX user_links_hash ON user_links (link_hash);

-- An attempt to sign in. user_id is null when the user name does not exist; the name itself is not stored.
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

-- The certificate authority of the installation for devices. authority_id is derived from the key that encrypts
-- its private key.
CREATE TABLE device_authorities (
  authority_id text PRIMARY KEY,
  certificate text NOT NULL,
  private_sealed bytea NOT NULL,
  created_at timestamptz NOT NULL
);

-- A client certificate of a device. thumbprint is the SHA-256 of the DER (RFC 8705, base64url). serial_number is
-- the terminal's, certificate_serial that of the certificate in lower-case hex.
CREATE TABLE device_certificates (
  organization_id uuid NOT NULL,
  thumbprint text NOT NULL,
  physical_device_id uuid NOT NULL,
  serial_number text NOT NULL,
  certificate_serial text NOT NULL,
  certificate text NOT NULL,
  not_before timestamptz NOT NULL,
  not_after timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  revoked_at timestamptz,
  revocation_reason text,
  PRIMARY KEY (organization_id, thumbprint)
);

CREATE INDEX device_certificates_device
  ON device_certificates (organization_id, physical_device_id, created_at, thumbprint);

-- Reference table of the platform: the organisations that know a device certificate. The platform signs a
-- certificate for one organisation; a certificate of a maker can be known to several.
CREATE TABLE device_certificate_owners (
  thumbprint text NOT NULL,
  organization_id uuid NOT NULL,
  PRIMARY KEY (thumbprint, organization_id)
);

-- A client secret that is bound to a device certificate. The newest of a client and certificate has no
-- expires_at; at most one older secret is valid beside it.
CREATE TABLE device_secrets (
  organization_id uuid NOT NULL,
  client_id text NOT NULL,
  secret_hash bytea NOT NULL,
  thumbprint text NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz,
  PRIMARY KEY (organization_id, client_id, secret_hash)
);

CREATE INDEX device_secrets_certificate
  ON device_secrets (organization_id, thumbprint, client_id);

-- ---------------------------------------------------------------------------------------------------------
-- onboarding and portal
-- ---------------------------------------------------------------------------------------------------------

-- A sign-up. organization_id is the identifier of the organisation that an approval creates. recipient is the e-mail
-- address in lower case without a "+" suffix, for the limit per recipient.
CREATE TABLE sign_ups (
  organization_id uuid NOT NULL,
  organization_name text NOT NULL,
  persona text NOT NULL,
  email text NOT NULL,
  recipient text NOT NULL,
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

CREATE INDEX sign_ups_recipient ON sign_ups (recipient, created_at);
CREATE INDEX sign_ups_waiting ON sign_ups (organization_id) WHERE status = 'Pending';

-- A browser session of the portal. session_hash is the SHA-256 of the cookie. Each renewal of the tokens
-- increments generation, so that one process renews at a time. expires_at moves with the user's activity, ends_at
-- does not. sign_in_id is the token family.
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

-- ---------------------------------------------------------------------------------------------------------
-- audit
-- ---------------------------------------------------------------------------------------------------------

-- The last record of each hash chain. A writer locks the row, so that sequences have no gaps but those of skipped:
-- so many numbers the next record leaves out, because a restored database may have lost records with them.
CREATE TABLE audit_heads (
  organization_id uuid PRIMARY KEY,
  sequence bigint NOT NULL,
  hash text NOT NULL,
  at timestamptz NOT NULL,
  checkpoint_sequence bigint NOT NULL,
  skipped bigint NOT NULL DEFAULT 0
);

-- An audited change. Records are never changed or deleted. hash is the SHA-256 of the canonical JSON of the
-- record. actor_organization_id is set when the actor belongs to an organisation above.
CREATE TABLE audit_records (
  organization_id uuid NOT NULL,
  sequence bigint NOT NULL,
  at timestamptz NOT NULL,
  actor_subject text NOT NULL,
  actor_client_id text NOT NULL,
  actor_kind text NOT NULL,
  actor_organization_id uuid,
  action text NOT NULL,
  entity_type text NOT NULL,
  entity_id text NOT NULL,
  merchant_id uuid,
  before_change jsonb,
  after_change jsonb,
  request_id text,
  previous_hash text NOT NULL,
  hash text NOT NULL,
  PRIMARY KEY (organization_id, sequence)
);

CREATE INDEX audit_records_at ON audit_records (organization_id, at, sequence);
CREATE INDEX audit_records_entity ON audit_records (organization_id, entity_id, sequence);
CREATE INDEX audit_records_actor ON audit_records (organization_id, actor_subject, sequence);
CREATE INDEX audit_records_action ON audit_records (organization_id, action, sequence);
CREATE INDEX audit_records_request ON audit_records (organization_id, request_id)
  WHERE request_id IS NOT NULL;
CREATE INDEX audit_records_merchant ON audit_records (organization_id, merchant_id, sequence)
  WHERE merchant_id IS NOT NULL;

-- A signed checkpoint of a hash chain.
CREATE TABLE audit_checkpoints (
  organization_id uuid NOT NULL,
  sequence bigint NOT NULL,
  hash text NOT NULL,
  at timestamptz NOT NULL,
  key_id text NOT NULL,
  signature text NOT NULL,
  PRIMARY KEY (organization_id, sequence)
);

-- Reference table of the platform: a public key that verifies checkpoints.
CREATE TABLE audit_keys (
  key_id text PRIMARY KEY,
  public_key text NOT NULL,
  created_at timestamptz NOT NULL
);

-- ---------------------------------------------------------------------------------------------------------
-- catalog: services, their activation and their configuration
-- ---------------------------------------------------------------------------------------------------------

-- Reference table of the platform: a service of a provider. Other organisations see name, domain and published;
-- the provider edits draft. secret_sealed signs calls to the provider. previous_sealed signs too until
-- previous_until, and so do older_keys (sealed in base64 and until, newest first).
CREATE TABLE catalogue_services (
  service_id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  name text NOT NULL,
  domain text NOT NULL,
  status text NOT NULL,
  release integer NOT NULL,
  draft jsonb NOT NULL,
  published jsonb,
  secret_sealed bytea NOT NULL,
  previous_sealed bytea,
  previous_until timestamptz,
  older_keys jsonb NOT NULL DEFAULT '[]',
  version integer NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);

CREATE INDEX catalogue_services_owner ON catalogue_services (organization_id, service_id);
CREATE INDEX catalogue_services_status ON catalogue_services (status, service_id);

-- A published release of a service. Releases are never deleted because activations refer to them.
CREATE TABLE catalogue_releases (
  service_id uuid NOT NULL,
  release integer NOT NULL,
  declaration jsonb NOT NULL,
  published_at timestamptz NOT NULL,
  PRIMARY KEY (service_id, release)
);

-- A package of services.
CREATE TABLE service_packages (
  organization_id uuid NOT NULL,
  package_id uuid NOT NULL,
  name text NOT NULL,
  description text,
  status text NOT NULL,
  version integer NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, package_id)
);

-- A service in a package.
CREATE TABLE service_package_items (
  organization_id uuid NOT NULL,
  package_id uuid NOT NULL,
  service_id uuid NOT NULL,
  PRIMARY KEY (organization_id, package_id, service_id),
  FOREIGN KEY (organization_id, package_id)
    REFERENCES service_packages (organization_id, package_id)
);

-- A package that the organisation has subscribed to.
CREATE TABLE service_subscriptions (
  organization_id uuid NOT NULL,
  subscription_id uuid NOT NULL,
  package_id uuid NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, subscription_id),
  FOREIGN KEY (organization_id, package_id)
    REFERENCES service_packages (organization_id, package_id)
);

CREATE UNIQUE INDEX service_subscriptions_package
  ON service_subscriptions (organization_id, package_id);

-- The activation of a service at an organisation, merchant, store or device. An activation includes what exists
-- below it at covers_at without rows of its own, so one row activates a million devices. decided_at is when
-- status last became final. secret_pointers are the JSON pointers of the parameters in secrets_sealed.
CREATE TABLE service_activations (
  organization_id uuid NOT NULL,
  activation_id uuid NOT NULL,
  service_id uuid NOT NULL,
  level text NOT NULL,
  entity_id uuid NOT NULL,
  merchant_id uuid,
  store_id uuid,
  status text NOT NULL,
  release integer NOT NULL,
  handshake_id uuid NOT NULL,
  includes_existing boolean NOT NULL,
  covers_at timestamptz,
  parameters jsonb NOT NULL,
  secret_pointers jsonb NOT NULL DEFAULT '[]',
  secrets_sealed bytea,
  provider_parameters jsonb,
  reason text,
  requested_at timestamptz NOT NULL,
  decided_at timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, activation_id)
);

CREATE UNIQUE INDEX service_activations_entity
  ON service_activations (organization_id, entity_id, service_id);
-- For the provider, which reads the activations of all organisations.
CREATE INDEX service_activations_service
  ON service_activations (service_id, level, activation_id);

-- Calls to a provider's server within five minutes; deleted after a week. Only the kind of an error is stored.
CREATE TABLE service_calls (
  service_id uuid NOT NULL,
  at timestamptz NOT NULL,
  call text NOT NULL,
  answered integer NOT NULL,
  failed integer NOT NULL,
  total_ms bigint NOT NULL,
  longest_ms integer NOT NULL,
  fault text,
  fault_at timestamptz,
  PRIMARY KEY (service_id, at, call)
);

CREATE INDEX service_calls_age ON service_calls (at);

-- The current configuration of a service at one level. own_values is null once the level's values were removed; the
-- row stays, so that version continues. Secrets are in secrets_sealed by their JSON pointers. release is the
-- release that validated the values.
CREATE TABLE service_configurations (
  organization_id uuid NOT NULL,
  entity_id uuid NOT NULL,
  service_id uuid NOT NULL,
  level text NOT NULL,
  version integer NOT NULL,
  release integer NOT NULL,
  own_values jsonb,
  secrets_sealed bytea,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, entity_id, service_id)
);

-- A version of a configuration, never deleted. restored_from is the older version that it repeats.
CREATE TABLE service_configuration_versions (
  organization_id uuid NOT NULL,
  entity_id uuid NOT NULL,
  service_id uuid NOT NULL,
  version integer NOT NULL,
  release integer NOT NULL,
  own_values jsonb,
  secrets_sealed bytea,
  restored_from integer,
  author jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, entity_id, service_id, version)
);

-- The configuration that a device was last sent (sent_…) and has acknowledged (applied_…, failed_…), with the
-- versions by service. requested_at is not updated at each request.
CREATE TABLE device_configurations (
  organization_id uuid NOT NULL,
  logical_device_id uuid NOT NULL,
  requested_at timestamptz NOT NULL,
  sent_version text NOT NULL,
  sent_services jsonb NOT NULL,
  sent_at timestamptz NOT NULL,
  applied_version text,
  applied_services jsonb,
  applied_at timestamptz,
  failed_version text,
  failed_reason text,
  failed_at timestamptz,
  PRIMARY KEY (organization_id, logical_device_id)
);

CREATE INDEX device_configurations_failed
  ON device_configurations (organization_id, logical_device_id) WHERE failed_version IS NOT NULL;

-- Reference table of the platform: a public key that verifies device configurations.
CREATE TABLE device_configuration_keys (
  key_id text PRIMARY KEY,
  public_key text NOT NULL,
  created_at timestamptz NOT NULL
);

-- ---------------------------------------------------------------------------------------------------------
-- vault: stored card numbers
-- ---------------------------------------------------------------------------------------------------------

-- A stored card number, encrypted, and found by its keyed hash. key_id is null while no key of the organisation
-- encrypts it.
CREATE TABLE vault_cards (
  organization_id uuid NOT NULL,
  token uuid NOT NULL,
  fingerprint bytea NOT NULL,
  sealed bytea NOT NULL,
  created_at timestamptz NOT NULL,
  key_id uuid,
  used_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (organization_id, token),
  UNIQUE (organization_id, fingerprint)
);

CREATE INDEX vault_cards_unkeyed ON vault_cards (organization_id) WHERE key_id IS NULL;

-- A key of an organisation, wrapped by the key provider. wrapped is null once the key is destroyed; the row stays
-- as evidence.
CREATE TABLE vault_keys (
  organization_id uuid NOT NULL,
  key_id uuid NOT NULL,
  purpose text NOT NULL,
  state text NOT NULL,
  wrapped_by text NOT NULL,
  wrapped bytea,
  check_value text NOT NULL,
  created_at timestamptz NOT NULL,
  changed_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, key_id)
);

CREATE UNIQUE INDEX vault_keys_active ON vault_keys (organization_id, purpose) WHERE state = 'Active';

-- An access to a card number: the actor, the purpose and the result.
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

-- The progress of the re-encryption and deletion run over the cards of an organisation.
CREATE TABLE vault_rounds (
  organization_id uuid PRIMARY KEY,
  started_at timestamptz NOT NULL,
  walked_to uuid,
  tally jsonb NOT NULL
);

-- ---------------------------------------------------------------------------------------------------------
-- acquiring: terminal identifiers and keys at the acquirers
-- ---------------------------------------------------------------------------------------------------------

-- A terminal identifier at an acquirer, and its next system trace audit number (STAN). terminal_owner_id is the
-- logical device, or the contract for sales without a device.
CREATE TABLE acquirer_terminals (
  organization_id uuid NOT NULL,
  contract_id uuid NOT NULL,
  terminal_id text NOT NULL,
  terminal_owner_id uuid NOT NULL,
  next_stan bigint NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, contract_id, terminal_id),
  UNIQUE (organization_id, contract_id, terminal_owner_id)
);

-- The next number of a message of a link. The retrieval reference number (RRN) contains it.
CREATE TABLE acquirer_link_numbers (
  organization_id uuid NOT NULL,
  acquirer_link_id uuid NOT NULL,
  next_number bigint NOT NULL,
  PRIMARY KEY (organization_id, acquirer_link_id)
);

-- A key that a host sent in a key exchange. The highest generation of each usage is active; the one before it is
-- accepted for a while. configured_key_ref is the key of the link at that time: a later configuration replaces the
-- exchanged key.
CREATE TABLE acquirer_link_keys (
  organization_id uuid NOT NULL,
  acquirer_link_id uuid NOT NULL,
  usage text NOT NULL,
  generation integer NOT NULL,
  key_ref text NOT NULL,
  check_value text NOT NULL,
  key_index text,
  configured_key_ref text,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, acquirer_link_id, usage, generation)
);

-- ---------------------------------------------------------------------------------------------------------
-- payments: card transactions
-- ---------------------------------------------------------------------------------------------------------

-- A card transaction with its amounts in minor units. over_capture_allowance may be captured above the authorised
-- amount. authorization_expires_at is null for a sale that is captured at once.
CREATE TABLE transactions (
  bucket smallint NOT NULL,
  organization_id uuid NOT NULL,
  transaction_id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  client_transaction_id text NOT NULL,
  store_id uuid,
  device_id uuid,
  contract_id uuid NOT NULL,
  state text NOT NULL,
  phase text NOT NULL,
  amount bigint NOT NULL,
  currency text NOT NULL,
  over_capture_allowance bigint NOT NULL,
  authorized bigint NOT NULL,
  captured bigint NOT NULL,
  cancelled bigint NOT NULL,
  refunded bigint NOT NULL,
  capture_reserved bigint NOT NULL,
  cancel_reserved bigint NOT NULL,
  refund_reserved bigint NOT NULL,
  version integer NOT NULL,
  operation_count integer NOT NULL,
  deadline timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  authorization_expires_at timestamptz,
  PRIMARY KEY (bucket, transaction_id),
  CHECK (amount >= 0 AND authorized >= 0 AND captured >= 0 AND cancelled >= 0 AND refunded >= 0),
  CHECK (capture_reserved >= 0 AND cancel_reserved >= 0 AND refund_reserved >= 0),
  CHECK (refunded + refund_reserved <= captured),
  CHECK (captured + capture_reserved + cancelled + cancel_reserved
    <= authorized + over_capture_allowance)
);

CREATE UNIQUE INDEX transactions_client_transaction_id ON transactions
  (bucket, client_transaction_id, merchant_id) WHERE client_transaction_id IS NOT NULL;
CREATE INDEX transactions_without_outcome ON transactions (deadline) WHERE phase = 'Received';
CREATE INDEX transactions_capturable ON transactions (bucket, merchant_id, transaction_id)
  WHERE state IN ('Authorized', 'PartiallyCaptured');
-- The acquirer links that advices still have to be sent to.
CREATE INDEX transactions_to_submit ON transactions (bucket, transaction_id)
  WHERE phase IN ('Stored', 'Submitted');
-- Open authorisations only: a sale that is captured at once is never in this index.
CREATE INDEX transactions_authorization_expiry ON transactions (authorization_expires_at)
  WHERE phase = 'Approved' AND authorized > captured + cancelled;

-- An event in the history of a transaction. data is json and not jsonb: it is written and read as a whole, which costs
-- less, and only rare queries look into it.
CREATE TABLE transaction_events (
  bucket smallint NOT NULL,
  organization_id uuid NOT NULL,
  transaction_id uuid NOT NULL,
  sequence integer NOT NULL,
  type text NOT NULL,
  at timestamptz NOT NULL,
  data json NOT NULL,
  PRIMARY KEY (bucket, transaction_id, sequence)
);

-- A capture, cancel, reversal or refund of a transaction. The reversal of a card verification has amount 0.
CREATE TABLE operations (
  bucket smallint NOT NULL,
  organization_id uuid NOT NULL,
  transaction_id uuid NOT NULL,
  operation_number integer NOT NULL,
  operation_id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  kind text NOT NULL,
  status text NOT NULL,
  amount bigint NOT NULL,
  client_operation_id text,
  details jsonb NOT NULL,
  deadline timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (bucket, transaction_id, operation_number),
  UNIQUE (bucket, client_operation_id, merchant_id, kind),
  CHECK (amount >= 0)
);

CREATE INDEX operations_without_outcome ON operations (deadline) WHERE status = 'Sent';
CREATE INDEX operations_pending ON operations (bucket, transaction_id)
  WHERE status = 'Pending';

-- The identifier of a refund or cancel by web, which is unique over both kinds of operation.
CREATE TABLE refund_by_web_ids (
  bucket smallint NOT NULL,
  organization_id uuid NOT NULL,
  client_operation_id text NOT NULL,
  merchant_id uuid NOT NULL,
  transaction_id uuid NOT NULL,
  operation_number integer NOT NULL,
  PRIMARY KEY (bucket, client_operation_id, merchant_id)
);

-- A batch that captures all authorised transactions of a merchant.
CREATE TABLE capture_batches (
  bucket smallint NOT NULL,
  organization_id uuid NOT NULL,
  batch_id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  client_operation_id text NOT NULL,
  state text NOT NULL,
  request jsonb NOT NULL,
  total integer NOT NULL,
  succeeded integer NOT NULL,
  failed integer NOT NULL,
  filed integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (bucket, batch_id),
  UNIQUE (bucket, client_operation_id, merchant_id)
);

-- A transaction of a capture batch. Each contract has its own job, so that a link that is down delays no other.
CREATE TABLE capture_batch_items (
  bucket smallint NOT NULL,
  organization_id uuid NOT NULL,
  batch_id uuid NOT NULL,
  transaction_id uuid NOT NULL,
  contract_id uuid NOT NULL,
  amount bigint,
  status text NOT NULL,
  code text,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (bucket, batch_id, transaction_id)
);

CREATE INDEX capture_batch_items_pending ON capture_batch_items
  (bucket, batch_id, contract_id, transaction_id) WHERE status = 'Pending';

-- A clearing file. previous_sequence is the number before it at the link, so that the acquirer notices a missing file;
-- a rejected file uses no number. Files of a lower numbering_jumps were made before the last jump of the numbers. amounts are minor units by numeric currency code. acknowledgement_digest is the hash of the acquirer's
-- acknowledgement, so that a repeated one changes nothing. reason is why the acquirer rejected the file.
CREATE TABLE clearing_files (
  organization_id uuid NOT NULL,
  file_id uuid NOT NULL,
  link_id uuid NOT NULL,
  sequence integer NOT NULL,
  previous_sequence integer NOT NULL,
  numbering_jumps integer NOT NULL,
  institution_id text NOT NULL,
  state text NOT NULL,
  line_count integer NOT NULL,
  amounts jsonb NOT NULL,
  accepted integer NOT NULL,
  rejected integer NOT NULL,
  reason text,
  acknowledgement_digest text,
  created_at timestamptz NOT NULL,
  acknowledged_at timestamptz,
  PRIMARY KEY (organization_id, file_id)
);

CREATE UNIQUE INDEX clearing_files_sequence ON clearing_files (organization_id, link_id, sequence)
  WHERE state <> 'Rejected';
-- Files without an acknowledgement, for the metrics.
CREATE INDEX clearing_files_unacknowledged ON clearing_files (organization_id, link_id, created_at)
  WHERE state = 'Made';

-- A capture in a clearing file, with a masked card number. file_id is null until a file contains it.
CREATE TABLE clearing_lines (
  bucket smallint NOT NULL,
  organization_id uuid NOT NULL,
  transaction_id uuid NOT NULL,
  operation_number integer NOT NULL,
  link_id uuid NOT NULL,
  settlement_date date NOT NULL,
  due_at timestamptz NOT NULL,
  amount bigint NOT NULL,
  currency text NOT NULL,
  content jsonb NOT NULL,
  file_id uuid,
  line integer,
  status text NOT NULL,
  code text,
  PRIMARY KEY (bucket, transaction_id, operation_number)
);

CREATE INDEX clearing_lines_waiting ON clearing_lines (due_at, organization_id, link_id)
  WHERE file_id IS NULL;
CREATE UNIQUE INDEX clearing_lines_file ON clearing_lines (organization_id, file_id, bucket, line)
  WHERE file_id IS NOT NULL;

-- An approval code for refunds and cancels, known only by a keyed hash. A code is never issued twice.
CREATE TABLE approval_codes (
  organization_id uuid NOT NULL,
  approval_code_id uuid NOT NULL,
  merchant_id uuid,
  store_id uuid,
  name text NOT NULL,
  code_hash text NOT NULL,
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

CREATE UNIQUE INDEX approval_codes_code_hash ON approval_codes (organization_id, code_hash);

-- Wrong approval codes per sender, against guessing.
CREATE TABLE approval_code_failures (
  organization_id uuid NOT NULL,
  attempted_by text NOT NULL,
  failures integer NOT NULL,
  window_ends_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, attempted_by)
);

-- The counter of the last PIN key serial number (KSN), and the sale that used it. counter_scope is the serial number
-- without its counter, followed by the merchant until the PIN was translated.
CREATE TABLE pin_ksn_counters (
  organization_id uuid NOT NULL,
  counter_scope text NOT NULL,
  counter bigint NOT NULL,
  used_by text NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, counter_scope)
);

-- A key serial number (KSN) of encrypted card data that a sale used. ksn_device_part is the serial number without its
-- counter. The newest of each device is never deleted, nor the newest that is older than any offline sale.
CREATE TABLE card_data_ksn_uses (
  organization_id uuid NOT NULL,
  ksn_device_part text NOT NULL,
  counter bigint NOT NULL,
  used_by text NOT NULL,
  used_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, ksn_device_part, counter)
);

CREATE INDEX card_data_ksn_uses_used_at ON card_data_ksn_uses (used_at);

-- The step-up of a declined sale: claimed_by is the sale that repeats it with a PIN or by contact chip.
CREATE TABLE step_ups (
  bucket smallint NOT NULL,
  organization_id uuid NOT NULL,
  declined_transaction_id uuid NOT NULL,
  claimed_by text NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (bucket, declined_transaction_id)
);

-- A logical device, or a contract, that uploads offline sales. An upload locks the row to count the sales of a day.
CREATE TABLE offline_terminal_owners (
  organization_id uuid NOT NULL,
  terminal_owner_id uuid NOT NULL,
  PRIMARY KEY (organization_id, terminal_owner_id)
);

-- The range of the uploaded offline sequence numbers. sequence_scope is the serial number of the hardware, if the sale
-- names it. A sale without a device has a scope of its own.
CREATE TABLE offline_sequence_ranges (
  organization_id uuid NOT NULL,
  terminal_owner_id uuid NOT NULL,
  sequence_scope text NOT NULL,
  first_sequence integer NOT NULL,
  last_sequence integer NOT NULL,
  PRIMARY KEY (organization_id, terminal_owner_id, sequence_scope)
);

-- An uploaded offline sale. chip_data is encrypted, and null once the acquirer has answered.
CREATE TABLE offline_uploads (
  organization_id uuid NOT NULL,
  terminal_owner_id uuid NOT NULL,
  sequence_scope text NOT NULL,
  terminal_sequence integer NOT NULL,
  transaction_id uuid NOT NULL,
  authorized_at timestamptz NOT NULL,
  chip_data bytea,
  PRIMARY KEY (organization_id, terminal_owner_id, sequence_scope, terminal_sequence)
);

CREATE INDEX offline_uploads_recent ON offline_uploads (organization_id, terminal_owner_id, authorized_at);
CREATE UNIQUE INDEX offline_uploads_transaction ON offline_uploads (organization_id, transaction_id);
-- Finds a sale that is uploaded again with another terminal, or without one.
CREATE INDEX offline_uploads_sequence
  ON offline_uploads (organization_id, terminal_sequence, authorized_at);

-- Further client identifiers under which an offline sale was uploaded. No other sale may use them.
CREATE TABLE offline_sale_identifiers (
  bucket smallint NOT NULL,
  organization_id uuid NOT NULL,
  client_transaction_id text NOT NULL,
  merchant_id uuid NOT NULL,
  transaction_id uuid NOT NULL,
  PRIMARY KEY (bucket, client_transaction_id, merchant_id)
);

-- A range of offline sequence numbers that were not uploaded. Ranges of a scope do not touch each other.
CREATE TABLE missing_offline_sequences (
  organization_id uuid NOT NULL,
  gap_id uuid NOT NULL,
  terminal_owner_id uuid NOT NULL,
  sequence_scope text NOT NULL,
  first_missing integer NOT NULL,
  last_missing integer NOT NULL,
  transaction_id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  store_id uuid,
  detected_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, gap_id),
  CHECK (first_missing <= last_missing)
);

CREATE INDEX missing_offline_sequences_scope
  ON missing_offline_sequences (organization_id, terminal_owner_id, sequence_scope, first_missing);

-- ---------------------------------------------------------------------------------------------------------
-- qr: QR payments. No card data; a scanned code is not stored.
-- ---------------------------------------------------------------------------------------------------------

-- A QR payment with its amounts in minor units. due_at is when a process has to check the payment next; a process
-- that claims it sets due_at to the end of its lease. looks counts queries in a row without a result. settled was
-- paid after the end of the payment and settled outside the platform.
CREATE TABLE qr_transactions (
  bucket smallint NOT NULL,
  organization_id uuid NOT NULL,
  transaction_id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  store_id uuid NOT NULL,
  device_id uuid NOT NULL,
  client_transaction_id text NOT NULL,
  service_id uuid NOT NULL,
  provider_id uuid NOT NULL,
  provider_transaction_id text,
  status text NOT NULL,
  phase text NOT NULL,
  amount bigint NOT NULL,
  currency text NOT NULL,
  paid bigint NOT NULL,
  refunded bigint NOT NULL,
  refund_reserved bigint NOT NULL,
  ending text,
  hold text,
  provider_sequence integer NOT NULL,
  provider_events integer NOT NULL,
  version integer NOT NULL,
  operation_count integer NOT NULL,
  looks integer NOT NULL,
  expires_at timestamptz NOT NULL,
  due_at timestamptz,
  facts jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  settled bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (bucket, transaction_id),
  CHECK (amount > 0 AND paid >= 0 AND refunded >= 0 AND refund_reserved >= 0),
  CHECK (refunded + refund_reserved <= paid),
  CONSTRAINT qr_transactions_settled_check
    CHECK (settled >= 0 AND refunded + refund_reserved + settled <= paid)
);

CREATE UNIQUE INDEX qr_transactions_client ON qr_transactions
  (bucket, client_transaction_id, merchant_id) WHERE client_transaction_id IS NOT NULL;
CREATE INDEX qr_transactions_merchant ON qr_transactions
  (bucket, merchant_id, transaction_id) WHERE amount > 0;
CREATE INDEX qr_transactions_organization ON qr_transactions (organization_id, transaction_id) WHERE settled >= 0;
-- A provider belongs to another organisation and names only the payment.
CREATE INDEX qr_transactions_provider ON qr_transactions (provider_id, transaction_id) WHERE amount > 0;
CREATE INDEX qr_transactions_due ON qr_transactions (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX qr_transactions_held ON qr_transactions (organization_id, transaction_id)
  WHERE hold IS NOT NULL;

-- An event in the history of a QR payment. provider_event_id is set for an event that the provider sent, so that
-- a repeated event is stored once.
CREATE TABLE qr_events (
  bucket smallint NOT NULL,
  organization_id uuid NOT NULL,
  transaction_id uuid NOT NULL,
  sequence integer NOT NULL,
  type text NOT NULL,
  at timestamptz NOT NULL,
  data jsonb NOT NULL,
  provider_event_id uuid,
  PRIMARY KEY (bucket, transaction_id, sequence)
);

CREATE UNIQUE INDEX qr_events_provider ON qr_events
  (bucket, transaction_id, provider_event_id) WHERE provider_event_id IS NOT NULL;

-- A refund or cancel of a QR payment.
CREATE TABLE qr_operations (
  bucket smallint NOT NULL,
  organization_id uuid NOT NULL,
  transaction_id uuid NOT NULL,
  number integer NOT NULL,
  operation_id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  kind text NOT NULL,
  status text NOT NULL,
  amount bigint NOT NULL,
  client_operation_id text,
  details jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (bucket, transaction_id, number),
  UNIQUE (bucket, client_operation_id, merchant_id, kind),
  CHECK (amount >= 0)
);

-- ---------------------------------------------------------------------------------------------------------
-- webhooks: the event feed and its delivery
-- ---------------------------------------------------------------------------------------------------------

-- The last position of an organisation's feed. A writer locks the row until its commit, so that a reader of a
-- position misses none below it. swept is the position up to which old events were deleted.
CREATE TABLE feed_heads (
  organization_id uuid PRIMARY KEY,
  position bigint NOT NULL,
  swept bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- An event of the feed. body holds the bytes that every receiver gets, also when they are sent again.
CREATE TABLE feed_events (
  organization_id uuid NOT NULL,
  position bigint NOT NULL,
  event_id uuid NOT NULL,
  type text NOT NULL,
  merchant_id uuid,
  subject_id text NOT NULL,
  sequence bigint NOT NULL,
  body text NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, position)
);

-- A webhook endpoint. keys_sealed holds the key of v1 signatures and the seed of v1a signatures. previous_sealed
-- signs too until previous_until, and so do older_keys (sealed in base64 and until, newest first). gap_after is
-- the feed position at which the endpoint was disabled. replay_after and replay_to delimit the replay that is
-- running.
-- merchant_id limits the events to those of one merchant. owner_merchant_id is the merchant that manages the
-- endpoint, and NULL where the organisation does; an endpoint of a merchant gets events of that merchant only.
CREATE TABLE webhook_endpoints (
  organization_id uuid NOT NULL,
  endpoint_id uuid NOT NULL,
  url text NOT NULL,
  event_types jsonb NOT NULL,
  merchant_id uuid,
  owner_merchant_id uuid,
  description text,
  status text NOT NULL,
  disabled_reason text,
  disabled_at timestamptz,
  gap_after bigint,
  replay_after bigint,
  replay_to bigint,
  verified_at timestamptz,
  public_key text NOT NULL,
  keys_sealed bytea NOT NULL,
  previous_public_key text,
  previous_sealed bytea,
  previous_until timestamptz,
  older_keys jsonb NOT NULL DEFAULT '[]',
  version integer NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, endpoint_id)
);

CREATE INDEX webhook_endpoints_merchant ON webhook_endpoints (organization_id, merchant_id);

-- The delivery state of an endpoint: the process that sends to it, and its recent failures.
CREATE TABLE webhook_delivery_queues (
  organization_id uuid NOT NULL,
  endpoint_id uuid NOT NULL,
  lease_token uuid,
  lease_until timestamptz NOT NULL,
  resting_until timestamptz NOT NULL,
  failures integer NOT NULL,
  failing_since timestamptz,
  succeeded_at timestamptz,
  PRIMARY KEY (organization_id, endpoint_id)
) WITH (fillfactor = 50);

-- The delivery of an event to an endpoint. delivery_id is derived from event and endpoint, so that an event is
-- planned once. body is set only for events that are not in the feed, such as a test event. traceparent is the
-- sampled span that caused the event.
CREATE TABLE webhook_deliveries (
  organization_id uuid NOT NULL,
  delivery_id uuid NOT NULL,
  endpoint_id uuid NOT NULL,
  event_id uuid NOT NULL,
  type text NOT NULL,
  position bigint,
  body text,
  traceparent text,
  status text NOT NULL,
  attempts integer NOT NULL,
  due_at timestamptz NOT NULL,
  log jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, delivery_id)
);

CREATE INDEX webhook_deliveries_due
  ON webhook_deliveries (organization_id, endpoint_id, due_at, delivery_id) WHERE status = 'Pending';
CREATE INDEX webhook_deliveries_endpoint
  ON webhook_deliveries (organization_id, endpoint_id, delivery_id);
CREATE INDEX webhook_deliveries_failed
  ON webhook_deliveries (organization_id, endpoint_id, delivery_id) WHERE status = 'Failed';

-- ---------------------------------------------------------------------------------------------------------
-- connector: connected devices and Retail API messages
-- ---------------------------------------------------------------------------------------------------------

-- Counts the registrations of a device, so that the order of connections does not depend on a clock.
CREATE TABLE device_registrations (
  organization_id uuid NOT NULL,
  physical_device_id uuid NOT NULL,
  registrations bigint NOT NULL,
  PRIMARY KEY (organization_id, physical_device_id)
);

-- The connection of a device to the Cloud Connector. connection_order is the number of its registration: a token
-- is valid once, and a newer registration wins. connection_name names the connection. online_until is a lease,
-- which expires when the node dies. reported_online is the status in the last event; a status that changes back
-- soon causes no event. changes counts the events.
CREATE TABLE device_presence (
  organization_id uuid NOT NULL,
  physical_device_id uuid NOT NULL,
  connection_id uuid NOT NULL,
  connection_name text,
  connection_order bigint NOT NULL DEFAULT 0,
  node text NOT NULL,
  online_until timestamptz,
  last_seen_at timestamptz NOT NULL,
  since timestamptz NOT NULL DEFAULT now(),
  reported_online boolean NOT NULL DEFAULT false,
  reported_at timestamptz,
  reported_since timestamptz,
  changes bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (organization_id, physical_device_id)
);

CREATE INDEX device_presence_came ON device_presence (since)
  WHERE NOT reported_online AND online_until IS NOT NULL;
CREATE INDEX device_presence_went ON device_presence (since)
  WHERE reported_online AND online_until IS NULL;
CREATE INDEX device_presence_lapsed ON device_presence (online_until) WHERE reported_online;

-- A message of the Retail API to a terminal, stored for 48 hours: a pair of SaleID and ServiceID is valid once,
-- and the response can be fetched. response is encrypted because it may contain card data.
CREATE TABLE retail_messages (
  organization_id uuid NOT NULL,
  physical_device_id uuid NOT NULL,
  service_id text NOT NULL,
  sale_id text NOT NULL,
  message_id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  store_id uuid NOT NULL,
  logical_device_id uuid NOT NULL,
  category text NOT NULL,
  is_published boolean NOT NULL,
  status text NOT NULL,
  result text,
  error_condition text,
  fault text,
  response bytea,
  created_at timestamptz NOT NULL,
  due_at timestamptz NOT NULL,
  settled_at timestamptz,
  PRIMARY KEY (organization_id, physical_device_id, service_id, sale_id)
);

CREATE UNIQUE INDEX retail_messages_id ON retail_messages (organization_id, message_id);
CREATE INDEX retail_messages_created ON retail_messages (created_at);
CREATE INDEX retail_messages_due ON retail_messages (due_at) WHERE status = 'Waiting';

-- ---------------------------------------------------------------------------------------------------------
-- reporting: search, sums, settlement reports, reconciliation, exports. Filled from the feed after the commit.
-- ---------------------------------------------------------------------------------------------------------

-- The feed position up to which the reports of an organisation are complete. A writer locks the row. place is the
-- progress of a run over all payments, else null. written_as_of differs from as_of after a process of an older
-- version has written; the reports are then built again.
CREATE TABLE report_positions (
  organization_id uuid PRIMARY KEY,
  position bigint NOT NULL,
  as_of timestamptz NOT NULL,
  stage text NOT NULL,
  place uuid,
  written_as_of timestamptz
) WITH (fillfactor = 50);

-- A combination of attributes that many payments share. An empty text means that there is no value.
CREATE TABLE report_groups (
  organization_id uuid NOT NULL,
  group_id integer NOT NULL,
  kind text NOT NULL,
  scheme text NOT NULL,
  entry_mode text NOT NULL,
  category text NOT NULL,
  reason text NOT NULL,
  currency text NOT NULL,
  PRIMARY KEY (organization_id, group_id)
);

-- A group with a state. payments is the number of its payments; the search chooses an index by this number. If
-- is_frequent is true, new payments of the class are not indexed by class, because a scan by time soon finds them.
-- is_frequent stays true.
CREATE TABLE report_classes (
  organization_id uuid NOT NULL,
  class_id integer NOT NULL,
  group_id integer NOT NULL,
  state text NOT NULL,
  payments bigint NOT NULL,
  is_frequent boolean NOT NULL DEFAULT false,
  PRIMARY KEY (organization_id, class_id)
) WITH (fillfactor = 50);

-- A payment, card or QR, for searches. counted is the number of its events that the sums include. rare_class_id is
-- class_id, and null if the class was frequent when the row was written. settlement_date, settled, settled_currency,
-- acquirer_merchant_number, terminal and trace_number are the movement of a sale that was captured at once; they are
-- null if there is none.
CREATE TABLE report_payments (
  organization_id uuid NOT NULL,
  created_at timestamptz NOT NULL,
  payment_id uuid NOT NULL,
  class_id integer NOT NULL,
  rare_class_id integer,
  counted integer NOT NULL,
  merchant_id uuid NOT NULL,
  store_id uuid,
  device_id uuid,
  link_id uuid,
  amount bigint NOT NULL,
  authorized bigint NOT NULL,
  captured bigint NOT NULL,
  cancelled bigint NOT NULL,
  refunded bigint NOT NULL,
  client_transaction_id text NOT NULL,
  order_id text,
  retrieval_reference text,
  authorization_code text,
  masked_number text,
  card_token uuid,
  response_code text,
  is_offline boolean NOT NULL,
  day date NOT NULL,
  updated_at timestamptz NOT NULL,
  settlement_date date,
  settled bigint,
  settled_currency text,
  acquirer_merchant_number text,
  terminal text,
  trace_number text,
  PRIMARY KEY (organization_id, created_at, payment_id)
) WITH (fillfactor = 90);

-- Most keys are hashes of a value and organization_id, in 8 bytes: an entry with both values is twice as long. Of the
-- columns that later events can change, the indexes contain only those that later events rarely change:
-- rare_class_id, link_id, retrieval_reference, authorization_code and settlement_date. Most updates add no entry.
CREATE INDEX report_payments_class ON report_payments
  (organization_id, rare_class_id, created_at, payment_id) WHERE rare_class_id IS NOT NULL;
CREATE INDEX report_payments_merchant ON report_payments
  (uuid_hash_extended(merchant_id, uuid_hash_extended(organization_id, 0)), created_at);
CREATE INDEX report_payments_store ON report_payments
  (uuid_hash_extended(store_id, uuid_hash_extended(organization_id, 0)), created_at) WHERE store_id IS NOT NULL;
CREATE INDEX report_payments_device ON report_payments
  (uuid_hash_extended(device_id, uuid_hash_extended(organization_id, 0)), created_at) WHERE device_id IS NOT NULL;
CREATE INDEX report_payments_amount ON report_payments (organization_id, amount);
CREATE INDEX report_payments_reference ON report_payments
  (hashtextextended(retrieval_reference, uuid_hash_extended(organization_id, 0)), created_at)
  WHERE retrieval_reference IS NOT NULL;
CREATE INDEX report_payments_authorization ON report_payments
  (hashtextextended(authorization_code, uuid_hash_extended(organization_id, 0)), created_at)
  WHERE authorization_code IS NOT NULL;
CREATE INDEX report_payments_last_four ON report_payments
  (hashtextextended(right(masked_number, 4), uuid_hash_extended(organization_id, 0)), created_at)
  WHERE masked_number IS NOT NULL;
CREATE INDEX report_payments_token ON report_payments
  (uuid_hash_extended(card_token, uuid_hash_extended(organization_id, 0)), created_at)
  WHERE card_token IS NOT NULL;
CREATE INDEX report_payments_order ON report_payments
  (hashtextextended(order_id, uuid_hash_extended(organization_id, 0)), created_at) WHERE order_id IS NOT NULL;
CREATE INDEX report_payments_settlement ON report_payments
  (uuid_hash_extended(link_id, uuid_hash_extended(organization_id, 0)), settlement_date, payment_id)
  WHERE settlement_date IS NOT NULL;

-- Sums of one day in the store's time zone. level is 0 for the organisation, 1 for the merchant, 2 for the device; an
-- identifier that a level does not separate is the nil UUID. Levels 5, 4 and 3 are the same, with group_id only by
-- currency. hours contains the same sums by hour of the day, and latency the number of payments by bucket of the
-- response time; both are empty at level 3. At level 2 each hour has its own row and hours is empty, because hours
-- would be written again for nearly every payment of a device; at other levels hour is -1.
CREATE TABLE report_cells (
  organization_id uuid NOT NULL,
  level integer NOT NULL,
  day date NOT NULL,
  merchant_id uuid NOT NULL,
  store_id uuid NOT NULL,
  device_id uuid NOT NULL,
  group_id integer NOT NULL,
  hour smallint NOT NULL,
  approved bigint NOT NULL,
  declined bigint NOT NULL,
  failed bigint NOT NULL,
  other bigint NOT NULL,
  authorized bigint NOT NULL,
  captured bigint NOT NULL,
  refunded bigint NOT NULL,
  cancelled bigint NOT NULL,
  reversed bigint NOT NULL,
  hours jsonb NOT NULL,
  latency jsonb NOT NULL,
  PRIMARY KEY (organization_id, level, day, merchant_id, store_id, device_id, group_id, hour)
) WITH (fillfactor = 80);

-- The amounts that an acquirer settles for a merchant on a day.
CREATE TABLE report_settlements (
  organization_id uuid NOT NULL,
  settlement_date date NOT NULL,
  link_id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  currency text NOT NULL,
  captures bigint NOT NULL,
  captured bigint NOT NULL,
  refunds bigint NOT NULL,
  refunded bigint NOT NULL,
  reversals bigint NOT NULL,
  reversed bigint NOT NULL,
  pending_captures bigint NOT NULL,
  pending bigint NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, settlement_date, link_id, merchant_id, currency)
) WITH (fillfactor = 80);

CREATE INDEX report_settlements_merchant ON report_settlements
  (organization_id, merchant_id, settlement_date) WHERE captures >= 0;

-- A clearing file that contains captures of a settlement.
CREATE TABLE report_settlement_files (
  organization_id uuid NOT NULL,
  settlement_date date NOT NULL,
  link_id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  currency text NOT NULL,
  file_id uuid NOT NULL,
  lines bigint NOT NULL,
  amount bigint NOT NULL,
  PRIMARY KEY (organization_id, settlement_date, link_id, merchant_id, currency, file_id)
);

-- A movement of money between an acquirer and a merchant by an operation: a capture, refund or reversal of a
-- settlement. number is that of the operation. The movement of a sale that was captured at once is in report_payments.
CREATE TABLE report_movements (
  organization_id uuid NOT NULL,
  link_id uuid NOT NULL,
  settlement_date date NOT NULL,
  payment_id uuid NOT NULL,
  number integer NOT NULL,
  merchant_id uuid NOT NULL,
  kind text NOT NULL,
  amount bigint NOT NULL,
  currency text NOT NULL,
  acquirer_merchant_number text NOT NULL,
  terminal text NOT NULL,
  trace_number text NOT NULL,
  retrieval_reference text NOT NULL,
  authorization_code text,
  masked_number text,
  PRIMARY KEY (organization_id, link_id, settlement_date, payment_id, number)
);

CREATE INDEX report_movements_reference ON report_movements
  (hashtextextended(retrieval_reference, uuid_hash_extended(organization_id, 0)));

-- All movements. link_key and reference_key are the index keys of link_id and retrieval_reference. is_sale is true for
-- the rows of report_payments, and false for those of report_movements.
CREATE VIEW report_all_movements AS
  SELECT organization_id, link_id, settlement_date, payment_id, number, merchant_id, kind, amount, currency,
    acquirer_merchant_number, terminal, trace_number, retrieval_reference, authorization_code, masked_number,
    uuid_hash_extended(link_id, uuid_hash_extended(organization_id, 0)) AS link_key,
    hashtextextended(retrieval_reference, uuid_hash_extended(organization_id, 0)) AS reference_key, false AS is_sale
  FROM report_movements
  UNION ALL
  SELECT organization_id, link_id, settlement_date, payment_id, 0, merchant_id, 'Capture', settled, settled_currency,
    acquirer_merchant_number, terminal, trace_number, retrieval_reference, authorization_code, masked_number,
    uuid_hash_extended(link_id, uuid_hash_extended(organization_id, 0)),
    hashtextextended(retrieval_reference, uuid_hash_extended(organization_id, 0)), true
  FROM report_payments WHERE settlement_date IS NOT NULL;

-- The comparison of an acquirer's settlement report with the movements of the platform. place is the position of
-- the comparison: a reference of the report, then a day with the last movement.
CREATE TABLE reconciliations (
  organization_id uuid NOT NULL,
  reconciliation_id uuid NOT NULL,
  link_id uuid NOT NULL,
  from_day date NOT NULL,
  to_day date NOT NULL,
  name text,
  state text NOT NULL,
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

-- A compared line. number is the line number in the report; movements that are missing there follow.
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

-- An export of a report. merchant_id and store_id are its owner, nil for the organisation. place is the position
-- of the reading, null at the start.
CREATE TABLE report_exports (
  organization_id uuid NOT NULL,
  export_id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  store_id uuid NOT NULL,
  client_operation_id text NOT NULL,
  report text NOT NULL,
  format text NOT NULL,
  filters jsonb NOT NULL,
  state text NOT NULL,
  rows bigint NOT NULL,
  bytes bigint NOT NULL,
  parts integer NOT NULL,
  place text,
  failure text,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  completed_at timestamptz,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, export_id)
);

CREATE UNIQUE INDEX report_exports_client ON report_exports
  (organization_id, client_operation_id, merchant_id, store_id);
CREATE INDEX report_exports_open ON report_exports (organization_id, export_id)
  WHERE state IN ('Pending', 'Running');

-- A part of an export. Each part is compressed on its own, so that a range request reads only the parts it needs.
CREATE TABLE report_export_parts (
  organization_id uuid NOT NULL,
  export_id uuid NOT NULL,
  number integer NOT NULL,
  first_byte bigint NOT NULL,
  bytes integer NOT NULL,
  content bytea NOT NULL,
  PRIMARY KEY (organization_id, export_id, number)
);

-- ---------------------------------------------------------------------------------------------------------
-- http: idempotency keys and the request log
-- ---------------------------------------------------------------------------------------------------------

-- An Idempotency-Key with the response to its first request. key_hash is the SHA-256 of client and key. print is a
-- keyed hash of the request, content that of a streamed body. answer is encrypted under a key that includes the
-- client's key. claim_id owns the row; a row without answer after held_until is of a request that was aborted.
CREATE TABLE idempotency_keys (
  organization_id uuid NOT NULL,
  key_hash bytea NOT NULL,
  claim_id uuid NOT NULL,
  print bytea NOT NULL,
  content bytea,
  answer bytea,
  claimed_at timestamptz NOT NULL,
  held_until timestamptz NOT NULL,
  PRIMARY KEY (organization_id, key_hash)
);

CREATE INDEX idempotency_keys_age ON idempotency_keys (claimed_at);

-- The last sequence number of an organisation's request log.
CREATE TABLE request_log_heads (
  organization_id uuid PRIMARY KEY,
  sequence bigint NOT NULL
);

-- A logged request and its response. Rows are never changed; old rows are deleted.
CREATE TABLE request_log (
  organization_id uuid NOT NULL,
  sequence bigint NOT NULL,
  at timestamptz NOT NULL,
  request_id text NOT NULL,
  method text NOT NULL,
  path text NOT NULL,
  operation_id text NOT NULL,
  status integer NOT NULL,
  code text,
  errors jsonb,
  duration_ms integer NOT NULL,
  client_id text NOT NULL,
  user_id text,
  actor_organization_id uuid,
  merchant_id uuid,
  store_id uuid,
  device_id uuid,
  PRIMARY KEY (organization_id, sequence)
);

CREATE INDEX request_log_age ON request_log (at);
