-- The configuration of services: what each level has set of its own, and every version of it.

-- One row for each service and entity that somebody configured. It stays when its values are taken
-- away (own_values is null then), so that versions go on and never begin again. Secrets are not among
-- own_values: secrets_sealed holds them by their pointers. release is the one they were checked with.
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

-- Kept for ever. author is who made the version; restored_from is the older one that it brought back.
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
