-- All reports are made anew: what of QR payments was settled elsewhere, or paid in another currency, stood in them as
-- captured, and answers of cards have other codes and categories now, by which summaries would be split.

UPDATE report_positions SET written_as_of = NULL;
