// Stores an acquirer failover before the message is sent: one statement with a version check.
import type { Database, Ids } from '../../platform/index.ts';
import type { StoredEvent, TransactionRow } from '../transaction/transaction.ts';

const updateRouteSql = `WITH tx AS (
    UPDATE transactions SET contract_id = $4, over_capture_allowance = $5, version = $6, updated_at = $7
    WHERE organization_id = $1 AND transaction_id = $2 AND version = $3 AND phase = 'Received'
    RETURNING organization_id, transaction_id
  ), ev AS (
    INSERT INTO transaction_events (organization_id, transaction_id, sequence, type, at, data)
    SELECT organization_id, transaction_id, $6, $8, $7, $9::jsonb FROM tx
  ), ob AS (
    INSERT INTO outbox (organization_id, outbox_id, kind, subject_id, sequence, created_at)
    SELECT organization_id, $10, $8, transaction_id, $6, $7 FROM tx
  )
  SELECT transaction_id FROM tx`;

/** @example const reroutes = createRerouteStore({ database, ids }); */
export function createRerouteStore({ database, ids }: { database: Database; ids: Ids }) {
  return {
    /** False when another request changed the sale first or the sale is no longer in progress. */
    async updateRoute(
      before: TransactionRow,
      after: TransactionRow,
      event: StoredEvent,
    ): Promise<boolean> {
      const updatedRows = await database.query(updateRouteSql, [
        before.organizationId,
        before.transactionId,
        before.version,
        after.contractId,
        after.overCaptureAllowance,
        after.version,
        event.at,
        event.type,
        JSON.stringify(event.data),
        ids.uuid(),
      ]);
      return updatedRows.length > 0;
    },
  };
}

export type RerouteStore = ReturnType<typeof createRerouteStore>;
