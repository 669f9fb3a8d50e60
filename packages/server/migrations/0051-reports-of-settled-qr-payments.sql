-- Reports of organisations with QR payments are made anew: what was settled elsewhere, or paid in another currency,
-- stood in them as captured.

UPDATE report_positions p SET written_as_of = NULL
WHERE EXISTS (SELECT FROM qr_transactions t WHERE t.organization_id = p.organization_id);
