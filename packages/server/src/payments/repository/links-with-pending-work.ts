// Finds acquirer links that still have unfinished sales, operations or reversals.
import type { Database } from '../../platform/index.ts';

// Each condition has a partial index; the events with a context say over which links the sale was sent.
const selectLinksInUse = `SELECT DISTINCT e.data->'context'->>'linkId' AS link_id
  FROM (
    SELECT organization_id, transaction_id FROM transactions WHERE phase = 'Received'
    UNION
    SELECT organization_id, transaction_id FROM transactions WHERE phase IN ('Stored', 'Submitted')
    UNION
    SELECT organization_id, transaction_id FROM operations WHERE status = 'Sent'
    UNION
    SELECT organization_id, transaction_id FROM operations WHERE status = 'Pending'
  ) unfinished
  JOIN transaction_events e USING (organization_id, transaction_id)
  WHERE e.data->'context' IS NOT NULL`;

export async function findLinksInUse(database: Database): Promise<string[]> {
  const rows = await database.query<{ link_id: string | null }>(selectLinksInUse);
  return rows.flatMap(({ link_id: linkId }) => linkId ?? []);
}
