-- Acquiring: which terminal id a device has at its acquirer, and the trace numbers it has used.
CREATE TABLE acquirer_terminals (
  organization_id uuid NOT NULL,
  contract_id uuid NOT NULL,
  terminal_id text NOT NULL,
  holder_id uuid NOT NULL,
  next_trace bigint NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, contract_id, terminal_id),
  UNIQUE (organization_id, contract_id, holder_id)
);
