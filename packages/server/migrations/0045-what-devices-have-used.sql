-- Whoever sells offline has one row that his uploads wait for, and serial numbers of encrypted card data are good for one sale.

-- Of all that a device counts with: its sales of a day are counted while nobody else of it is stored.
CREATE TABLE offline_holders (
  organization_id uuid NOT NULL,
  holder_id uuid NOT NULL,
  PRIMARY KEY (organization_id, holder_id)
);

-- Key serial numbers, without their counter, of devices that encrypt card data; what was used by which sale.
-- The newest of each device stays for ever, and the newest of those that are older than an offline sale may be.
CREATE TABLE device_data_uses (
  organization_id uuid NOT NULL,
  device text NOT NULL,
  counter bigint NOT NULL,
  used_by text NOT NULL,
  used_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, device, counter)
);

CREATE INDEX device_data_uses_old ON device_data_uses (used_at);
