-- By web one identifier stands for one refund or cancel: two at once, of two transactions, meet here.

CREATE TABLE operations_by_web (
  organization_id uuid NOT NULL,
  client_operation_id text NOT NULL,
  merchant_id uuid NOT NULL,
  transaction_id uuid NOT NULL,
  number integer NOT NULL,
  PRIMARY KEY (organization_id, client_operation_id, merchant_id)
);
