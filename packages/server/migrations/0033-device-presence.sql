-- Devices send the credentials of an application, and do not say whose it is.

CREATE INDEX applications_client ON applications (client_id);

-- Which devices are connected to the Cloud Connector, and when they were last seen.

-- connection_id is a UUID of version 7: a token is good for a younger connection than the one that is
-- noted, so that each is good once, and of two connections of a device the newest one wins.
-- online_until is a lease: that of a process that died runs out.
CREATE TABLE device_presence (
  organization_id uuid NOT NULL,
  physical_device_id uuid NOT NULL,
  connection_id uuid NOT NULL,
  node text NOT NULL,
  online_until timestamptz,
  last_seen_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, physical_device_id)
);

CREATE INDEX device_presence_node ON device_presence (node) WHERE online_until IS NOT NULL;
