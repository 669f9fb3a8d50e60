-- Points of sale, who holds each terminal of the platform, and indexes to search everything by.

-- client_id is not kept: it is made of the identifier, and the application of identity bears it.
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

-- A reference table: one terminal stands in one organisation, whatever organisations there are. The
-- serial number alone is unique within an organisation, by physical_devices_serial.
CREATE TABLE terminals (
  serial_number text NOT NULL,
  make text NOT NULL,
  model text NOT NULL,
  organization_id uuid NOT NULL,
  PRIMARY KEY (serial_number, make, model)
);

-- Of a terminal that two organisations have already, the younger row keeps no claim.
INSERT INTO terminals (serial_number, make, model, organization_id)
SELECT DISTINCT ON (serial_number, make, model) serial_number, make, model, organization_id
FROM physical_devices WHERE removed_at IS NULL
ORDER BY serial_number, make, model, physical_device_id;

-- By name, byte by byte, so that what begins with a text is one range, and a page goes on in it.
CREATE INDEX merchants_name
  ON merchants (organization_id, (lower(name)) COLLATE "C", merchant_id) WHERE removed_at IS NULL;
CREATE INDEX stores_name
  ON stores (organization_id, (lower(name)) COLLATE "C", store_id) WHERE removed_at IS NULL;
CREATE INDEX logical_devices_name
  ON logical_devices (organization_id, (lower(name)) COLLATE "C", logical_device_id)
  WHERE removed_at IS NULL;
CREATE INDEX physical_devices_name
  ON physical_devices (organization_id, (lower(name)) COLLATE "C", physical_device_id)
  WHERE removed_at IS NULL;
CREATE INDEX points_of_sale_name
  ON points_of_sale (organization_id, (lower(name)) COLLATE "C", point_of_sale_id)
  WHERE removed_at IS NULL;
