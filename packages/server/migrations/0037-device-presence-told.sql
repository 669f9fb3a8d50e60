-- Since when a device stands as it does, and what of that was told as an event.

-- told_online is how it stood when it was told last: where the two differ for a while, the next event
-- is due, and one that comes and goes in between tells nothing. changes counts the events.
ALTER TABLE device_presence
  ADD COLUMN since timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN told_online boolean NOT NULL DEFAULT false,
  ADD COLUMN told_at timestamptz,
  ADD COLUMN told_since timestamptz,
  ADD COLUMN changes bigint NOT NULL DEFAULT 0;

DROP INDEX device_presence_node;

CREATE INDEX device_presence_came ON device_presence (since)
  WHERE NOT told_online AND online_until IS NOT NULL;
CREATE INDEX device_presence_went ON device_presence (since)
  WHERE told_online AND online_until IS NULL;
CREATE INDEX device_presence_lapsed ON device_presence (online_until) WHERE told_online;
