-- Devices at the mutual-TLS listener: their certificates, and the secrets that are bound to them.

-- The authority is named after the key that its own is sealed under: an installation has one of each.
CREATE TABLE device_authorities (
  authority_id text PRIMARY KEY,
  certificate text NOT NULL,
  private_sealed bytea NOT NULL,
  created_at timestamptz NOT NULL
);

-- thumbprint is the SHA-256 of the DER (RFC 8705, base64url), serial_number the terminal's,
-- certificate_serial the certificate's own in lower-case hex.
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

-- A reference table: from a certificate that comes in by TLS to the organisation that every key starts with.
CREATE TABLE device_certificate_owners (
  thumbprint text PRIMARY KEY,
  organization_id uuid NOT NULL
);

-- Minted by merchants-credentials. The youngest of a client and a certificate has no end, and at most
-- one older one lives beside it, until expires_at.
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
