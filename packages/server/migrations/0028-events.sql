-- The feed of events: what has happened in an organisation, numbered in the order in which it can be read.

-- Who numbers events of an organisation holds its row until they are committed: a reader who has seen a
-- position has seen, or will never see, everything below it.
CREATE TABLE feed_heads (
  organization_id uuid PRIMARY KEY,
  position bigint NOT NULL,
  -- Up to here events were forgotten, for their age.
  swept bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE TABLE feed_events (
  organization_id uuid NOT NULL,
  position bigint NOT NULL,
  event_id uuid NOT NULL,
  type text NOT NULL,
  merchant_id uuid,
  subject_id text NOT NULL,
  sequence bigint NOT NULL,
  -- The bytes that every receiver gets, now and in every repetition.
  body text NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, position)
);
