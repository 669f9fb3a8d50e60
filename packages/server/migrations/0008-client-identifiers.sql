-- Payments: makes the key of the clients' identifiers partial, so that no look-up by the primary key can take it.
-- In young tables both cost the same to the planner, which then read all sales of an organisation for
-- one, and a prepared plan stays. The condition is true of every row and follows from any comparison.
CREATE UNIQUE INDEX transactions_client ON transactions
  (organization_id, client_transaction_id, merchant_id) WHERE client_transaction_id IS NOT NULL;

ALTER TABLE transactions
  DROP CONSTRAINT transactions_organization_id_client_transaction_id_merchant_key;
