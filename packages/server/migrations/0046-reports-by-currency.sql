-- Sums of merchants and of the organisation by currency alone, which a summary of everything reads. Those that are
-- there are made anew, step by step, behind the start.

UPDATE report_positions SET stage = 'Wiping', place = NULL;
