-- Devices send credentials and do not say whose: their application is found by client id and secret together.
-- transaction: none

-- One that a stop in the middle left behind is of no use.
DROP INDEX CONCURRENTLY IF EXISTS applications_credentials;

CREATE INDEX CONCURRENTLY applications_credentials ON applications (client_id, secret_hash);

DROP INDEX CONCURRENTLY IF EXISTS applications_client;
