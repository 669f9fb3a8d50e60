-- Keys under which clients ask for something to be made, with what they were answered.

-- key_hash is SHA-256 of who asks and his key: the key itself is not kept. print is a keyed hash of what was
-- asked, content that of a body which was read as it came. answer is sealed under a key that the client's own
-- key is part of, since it may hold a secret that is told this once. claim_id is whose the row is, and behind
-- held_until a row without an answer stands for a request that was cut off.
CREATE TABLE idempotency_keys (
  organization_id uuid NOT NULL,
  key_hash bytea NOT NULL,
  claim_id uuid NOT NULL,
  print bytea NOT NULL,
  content bytea,
  answer bytea,
  claimed_at timestamptz NOT NULL,
  held_until timestamptz NOT NULL,
  PRIMARY KEY (organization_id, key_hash)
);

CREATE INDEX idempotency_keys_age ON idempotency_keys (claimed_at);
