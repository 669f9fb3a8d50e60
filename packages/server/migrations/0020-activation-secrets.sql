-- Secrets among the parameters of activations: sealed, and named by their pointers.

ALTER TABLE service_activations ADD COLUMN secret_pointers jsonb NOT NULL DEFAULT '[]';
ALTER TABLE service_activations ADD COLUMN secrets_sealed bytea;
