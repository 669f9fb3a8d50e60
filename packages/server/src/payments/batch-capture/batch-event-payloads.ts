// Tells that a batch has an answer for each of its transactions: in the commit of the last one.
import { CompiledQuery } from 'kysely';
import type { EventFacts, EventSource } from '../../platform/index.ts';
import { tell } from '../repository/outbox-sql.ts';

/** @param batch a query of `id` that has a row where the batch has just been completed */
export const tellCompleted = (batch: string, outboxId: string, at: string) =>
  tell({ kind: 'batch.completed', of: batch, sequence: 1, outboxId, at });

const factsText = `SELECT r.outbox_id AS "outboxId", b.batch_id AS "batchId",
    b.merchant_id AS "merchantId", b.client_operation_id AS "clientOperationId",
    b.total, b.succeeded, b.failed, b.filed
  FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS r(organization_id, outbox_id, batch_id)
  CROSS JOIN LATERAL (SELECT * FROM capture_batches WHERE organization_id = r.organization_id
    AND batch_id = r.batch_id LIMIT 1) b`;

type FactsRow = {
  outboxId: string;
  batchId: string;
  merchantId: string;
  clientOperationId: string;
  total: number;
  succeeded: number;
  failed: number;
  filed: number;
};

/** Speaks for what runs over many transactions. */
export const batchEvents: EventSource = {
  prefix: 'batch.',
  async read(rows, trx) {
    const { rows: found } = await trx.executeQuery<FactsRow>(
      CompiledQuery.raw(factsText, [
        rows.map((row) => row.organizationId),
        rows.map((row) => row.outboxId),
        rows.map((row) => row.subjectId),
      ]),
    );
    return new Map(
      found.map(({ outboxId, merchantId, clientOperationId, ...counts }): [string, EventFacts] => {
        // Where the client named none, it is the batch's own.
        const isTheirs = clientOperationId !== counts.batchId;
        const data = { ...counts, ...(isTheirs ? { clientOperationId } : {}) };
        return [outboxId, { merchantId, data }];
      }),
    );
  },
};
