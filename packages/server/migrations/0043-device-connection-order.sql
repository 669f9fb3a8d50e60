-- Which connection of a device is the newest is counted here, and no clock of a node has a part in it.

-- Registrations are numbered for each device; connection_order is the number of the one by which it is
-- connected, so that each token is good once and a younger registration wins. connection_name names that
-- connection: a node that holds another one is not where the device is. connection_id, a UUID of version 7,
-- stays for processes of the version before that run beside: it is zero where one of this version connected.
CREATE TABLE device_registrations (
  organization_id uuid NOT NULL,
  physical_device_id uuid NOT NULL,
  registrations bigint NOT NULL,
  PRIMARY KEY (organization_id, physical_device_id)
);

ALTER TABLE device_presence
  ADD COLUMN connection_name text,
  ADD COLUMN connection_order bigint NOT NULL DEFAULT 0;
