-- What a provider watches: who uses its services, and how its own server answered.
-- transaction: none

-- Counted in steps of five minutes by every process that calls; older than a week it is deleted. Of a
-- fault the kind alone is kept.
CREATE TABLE service_calls (
  service_id uuid NOT NULL,
  at timestamptz NOT NULL,
  call text NOT NULL,
  answered integer NOT NULL,
  failed integer NOT NULL,
  total_ms bigint NOT NULL,
  longest_ms integer NOT NULL,
  fault text,
  fault_at timestamptz,
  PRIMARY KEY (service_id, at, call)
);

CREATE INDEX service_calls_age ON service_calls (at);

-- One that a stop in the middle left behind is of no use.
DROP INDEX CONCURRENTLY IF EXISTS service_activations_service;

-- By its service, whatever organisation asked: a provider reads what it was asked itself. Activations go on
-- meanwhile.
CREATE INDEX CONCURRENTLY service_activations_service
  ON service_activations (service_id, level, activation_id);
