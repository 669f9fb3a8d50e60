-- Provisioning: organisations, merchants, stores, devices, and how each merchant reaches its acquirer.

-- A delete sets removed_at: transactions refer to these rows for ever, and so do their reversals.
-- The indexes beside the primary keys are partial, so that no look-up by a whole key can take another
-- one: in young tables they all cost the same to the planner, and a prepared plan stays.

-- parent_organization_id crosses tenants, so it is a fact to show and no foreign key.
CREATE TABLE organizations (
  organization_id uuid NOT NULL,
  parent_organization_id uuid,
  name text NOT NULL,
  external_id text,
  status text NOT NULL,
  labels jsonb NOT NULL,
  version integer NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  removed_at timestamptz,
  PRIMARY KEY (organization_id)
);

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
CREATE INDEX stores_external ON stores (organization_id, external_id)
  WHERE external_id IS NOT NULL;

-- merchant_id repeats the one of the store, which never changes, so that a merchant's list is one scan.
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
CREATE INDEX logical_devices_external ON logical_devices (organization_id, external_id)
  WHERE external_id IS NOT NULL;

-- A device without a merchant is in the stock of the organisation.
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

CREATE TABLE acquirer_links (
  organization_id uuid NOT NULL,
  acquirer_link_id uuid NOT NULL,
  adapter text NOT NULL,
  host text NOT NULL,
  port integer NOT NULL,
  tls boolean NOT NULL,
  institution_id text NOT NULL,
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
  capture_modes jsonb NOT NULL,
  default_capture_mode text NOT NULL,
  capture_transport text NOT NULL,
  partial_cancel boolean NOT NULL,
  multiple_capture boolean NOT NULL,
  over_capture_percent integer NOT NULL,
  partial_approval boolean NOT NULL,
  clear_card_data text NOT NULL,
  hold_days integer NOT NULL,
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
