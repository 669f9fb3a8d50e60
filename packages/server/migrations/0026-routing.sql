-- Routing: which sales an acquirer contract takes; acquirers that speak HTTP, with the keys they sign with.
ALTER TABLE acquirer_contracts ADD COLUMN routing jsonb NOT NULL DEFAULT '[]';
ALTER TABLE acquirer_links ADD COLUMN http_json jsonb;
