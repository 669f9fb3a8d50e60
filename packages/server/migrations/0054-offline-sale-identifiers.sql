-- Further client identifiers under which an offline sale was uploaded. No other sale may use them.
CREATE TABLE offline_sale_identifiers (
  organization_id uuid NOT NULL,
  client_transaction_id text NOT NULL,
  merchant_id uuid NOT NULL,
  transaction_id uuid NOT NULL,
  PRIMARY KEY (organization_id, client_transaction_id, merchant_id)
);
