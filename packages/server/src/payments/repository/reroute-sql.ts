// Makes it durable that a sale goes another way, before it is sent there: one guarded statement.
import type { Database, Ids } from '../../platform/index.ts';
import type { StoredEvent, TransactionRow } from '../transaction/transaction.ts';

export type Reroutes = {
  /** False where somebody was faster, or the sale is no longer under way. */
  commit(before: TransactionRow, after: TransactionRow, event: StoredEvent): Promise<boolean>;
};

/** Rare, so it is a statement of its own: the outcome of every sale stays as cheap as it is. */
const statement = `WITH tx AS (
    UPDATE transactions SET contract_id = $4, over_capture = $5, version = $6, updated_at = $7
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

/** @example const reroutes = createReroutes({ database, ids }); */
export function createReroutes({ database, ids }: { database: Database; ids: Ids }): Reroutes {
  return {
    async commit(before, after, event) {
      const made = await database.query(statement, [
        before.organizationId,
        before.transactionId,
        before.version,
        after.contractId,
        after.overCapture,
        after.version,
        event.at,
        event.type,
        JSON.stringify(event.data),
        ids.uuid(),
      ]);
      return made.length > 0;
    },
  };
}
