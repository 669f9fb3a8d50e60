-- Money for QR payments that was settled elsewhere, one replay of an endpoint at a time, and keys that outlive several renewals.

-- Paid for a QR payment that has ended, and settled outside of the platform, as somebody says.
ALTER TABLE qr_transactions ADD COLUMN settled bigint NOT NULL DEFAULT 0;
ALTER TABLE qr_transactions ADD CONSTRAINT qr_transactions_settled_check
  CHECK (settled >= 0 AND refunded + refund_reserved + settled <= paid);

-- Of the replay that is under way: where it began and will end, in positions of the feed.
ALTER TABLE webhook_endpoints ADD COLUMN replay_after bigint, ADD COLUMN replay_to bigint;

-- Keys before the previous one that sign too: a list of sealed (base64) and until, the newest first.
ALTER TABLE webhook_endpoints ADD COLUMN older_keys jsonb NOT NULL DEFAULT '[]';
ALTER TABLE catalogue_services ADD COLUMN older_keys jsonb NOT NULL DEFAULT '[]';
