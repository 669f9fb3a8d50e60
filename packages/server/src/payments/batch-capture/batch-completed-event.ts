// Event batch.completed: inserted in the commit of the last item, read by the event publisher.
import type { EventFacts, EventSource } from '../../platform/index.ts';
import { insertOutboxRow, queryRows } from '../repository/sql-statements.ts';

/** @param subjectQuery query of `id`, with a row if the statement has just completed the batch */
export const insertBatchCompletedEvent = (subjectQuery: string, outboxId: string, at: string) =>
  insertOutboxRow({ kind: 'batch.completed', subjectQuery, sequence: 1, outboxId, at });

const selectEventDataText = `SELECT r.outbox_id AS "outboxId", b.batch_id AS "batchId",
    b.merchant_id AS "merchantId", b.client_operation_id AS "clientOperationId",
    b.total, b.succeeded, b.failed, b.filed
  FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS r(organization_id, outbox_id, batch_id)
  CROSS JOIN LATERAL (SELECT * FROM capture_batches WHERE organization_id = r.organization_id
    AND batch_id = r.batch_id LIMIT 1) b`;

type EventDataRow = {
  outboxId: string;
  batchId: string;
  merchantId: string;
  clientOperationId: string;
  total: number;
  succeeded: number;
  failed: number;
  filed: number;
};

export const batchEvents: EventSource = {
  prefix: 'batch.',
  async read(rows, trx) {
    const eventRows = await queryRows<EventDataRow>(trx, selectEventDataText, [
      rows.map((row) => row.organizationId),
      rows.map((row) => row.outboxId),
      rows.map((row) => row.subjectId),
    ]);
    return new Map(
      eventRows.map(
        ({ outboxId, merchantId, clientOperationId, ...counts }): [string, EventFacts] => {
          // A batch without an identifier of the client stores its own there.
          const isClientIdentifier = clientOperationId !== counts.batchId;
          const data = { ...counts, ...(isClientIdentifier ? { clientOperationId } : {}) };
          return [outboxId, { merchantId, data }];
        },
      ),
    );
  },
};
