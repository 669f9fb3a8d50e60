-- What devices were told of their configuration, and what they said about it.

-- One row for each device that ever asked. Versions by service stand in told_services and
-- applied_services. asked_at is written now and then, not at each question.
CREATE TABLE device_configurations (
  organization_id uuid NOT NULL,
  logical_device_id uuid NOT NULL,
  asked_at timestamptz NOT NULL,
  told_version text NOT NULL,
  told_services jsonb NOT NULL,
  told_at timestamptz NOT NULL,
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

-- A reference table of the platform: the public keys that documents were signed with, of master keys
-- that were changed since too.
CREATE TABLE device_configuration_keys (
  key_id text PRIMARY KEY,
  public_key text NOT NULL,
  created_at timestamptz NOT NULL
);
