-- The service catalogue: what providers declare, and how organisations come to use it.

-- A reference table, small and read by every tenant: a published service is everybody's to see.
-- name, domain and published are what others see; draft is what the provider works on. secret_sealed
-- signs the calls to the provider, and the one before it does so too until previous_until.
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
  version integer NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);

CREATE INDEX catalogue_services_owner ON catalogue_services (organization_id, service_id);
CREATE INDEX catalogue_services_status ON catalogue_services (status, service_id);

-- Every publication, for ever: activations name the release that they were asked for with.
CREATE TABLE catalogue_releases (
  service_id uuid NOT NULL,
  release integer NOT NULL,
  declaration jsonb NOT NULL,
  published_at timestamptz NOT NULL,
  PRIMARY KEY (service_id, release)
);

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

CREATE TABLE service_package_items (
  organization_id uuid NOT NULL,
  package_id uuid NOT NULL,
  service_id uuid NOT NULL,
  PRIMARY KEY (organization_id, package_id, service_id),
  FOREIGN KEY (organization_id, package_id)
    REFERENCES service_packages (organization_id, package_id)
);

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

-- One row for each service and entity that somebody decided about. What an activation brings along
-- is not written out: covers_at is the moment at which everything that stood below became active,
-- so an activation above a million devices is one row. decided_at is when status last became final.
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
