-- Payments: finds operations that are repeated until the acquirer answers, which are few among all.
CREATE INDEX operations_pending ON operations (organization_id, transaction_id)
  WHERE status = 'Pending';
