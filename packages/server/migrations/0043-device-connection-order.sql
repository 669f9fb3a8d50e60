-- Which connection of a device is the newest is counted here, and no clock of a node has a part in it.

-- registrations numbers them for each device; connection_order is the number of the one by which it is
-- connected, so that each token is good once and a younger registration wins. connection_id names that
-- connection: a node that holds another one is not where the device is. Nothing stands there before the
-- first connection.
ALTER TABLE device_presence DROP COLUMN connection_id;
ALTER TABLE device_presence
  ADD COLUMN connection_id text,
  ADD COLUMN connection_order bigint NOT NULL DEFAULT 0,
  ADD COLUMN registrations bigint NOT NULL DEFAULT 0;
