// SQL of capture batches: one statement creates a batch with its items, others process it in pages.
import type { Batch } from '@switchyard/contract';
import { bucketSql, type Database, type Ids, isUuid } from '../../platform/index.ts';
import { insertOutboxRow } from '../repository/sql-statements.ts';

export type BatchSelection = {
  organizationId: string;
  merchantId: string;
  storeId: string | undefined;
  currency: string | undefined;
  /** RFC 3339, exclusive. */
  authorizedBefore: string | undefined;
};

export type BatchRow = Pick<Batch, 'batchId' | 'state' | 'total' | 'succeeded' | 'failed'> & {
  merchantId: string;
  request: Record<string, unknown>;
  /** Captures that wait in a clearing file. */
  filed: number;
  createdAt: Date;
  updatedAt: Date;
};

export type BatchItem = {
  transactionId: string;
  /** Null: all that is left to capture. */
  amount: number | null;
  status: 'Pending' | BatchResult['status'];
  code: string | null;
};

export type BatchResult = {
  transactionId: string;
  status: 'Succeeded' | 'Filed' | 'Failed';
  code?: string;
};

export type RequestedSale = {
  transactionId: string;
  contractId: string;
  currency: string;
  /** What is left to capture, minor units. */
  remainingAmount: number;
  createdAt: Date;
};

type BatchItemRequest = Pick<RequestedSale, 'transactionId' | 'contractId'> & {
  amount: number | undefined;
};

type BatchPage = {
  organizationId: string;
  batchId: string;
  after?: string | undefined;
  limit: number;
};

const remainingAmountSql =
  't.authorized - t.captured - t.cancelled - t.capture_reserved - t.cancel_reserved';

/**
 * A capture in a clearing file is reserved, so a second batch leaves it out.
 *
 * @param first number of the first of three parameters: store, currency and time
 */
const capturableSql = (first: number) => `FROM transactions t
  WHERE t.bucket = ${bucketSql('$2::uuid')} AND t.organization_id = $1 AND t.merchant_id = $2
    AND t.phase = 'Approved' AND ${remainingAmountSql} > 0
    AND t.state IN ('Authorized', 'PartiallyCaptured')
    AND ($${first}::uuid IS NULL OR t.store_id = $${first})
    AND ($${first + 1}::text IS NULL OR t.currency = $${first + 1})
    AND ($${first + 2}::timestamptz IS NULL OR t.created_at < $${first + 2})`;

const listCapturableSql = `SELECT t.transaction_id AS "transactionId", t.currency,
    ${remainingAmountSql} AS amount ${capturableSql(3)} ORDER BY t.transaction_id LIMIT $6`;

const countCapturableSql = `SELECT count(*)::int AS total ${capturableSql(3)}`;

const requestedSaleColumns = `t.transaction_id AS "transactionId", t.contract_id AS "contractId", t.currency,
    ${remainingAmountSql} AS "remainingAmount", t.created_at AS "createdAt" FROM transactions t
  WHERE t.bucket = ${bucketSql('$3::uuid')} AND t.organization_id = $2 AND t.merchant_id = $3 AND ($4::uuid IS NULL OR t.store_id = $4)`;

// One index look-up for each identifier and kind of identifier, however long the list is.
const findRequestedSalesSql = `SELECT n.i, f.*
  FROM jsonb_to_recordset($1::jsonb) AS n(i integer, id uuid, name text),
  LATERAL (
    (SELECT 1 AS rank, ${requestedSaleColumns} AND t.transaction_id = n.id)
    UNION ALL
    (SELECT 2 AS rank, ${requestedSaleColumns} AND t.client_transaction_id = n.name)
    ORDER BY rank LIMIT 1
  ) f`;

/** For a statement with a CTE `batch`; the condition is true if the statement has just completed the batch. */
const insertCompletedEvent = (condition: string, outboxId: string, at: string) =>
  insertOutboxRow({
    kind: 'batch.completed',
    subjectQuery: `SELECT bucket, batch_id AS id FROM batch WHERE ${condition}`,
    sequence: 1,
    outboxId,
    at,
  });

/** @param items query of `transaction_id`, `contract_id` and `amount` */
const createBatchSql = (items: string) => `WITH picked AS (${items}), batch AS (
    INSERT INTO capture_batches (bucket, organization_id, batch_id, merchant_id, client_operation_id,
      state, request, total, succeeded, failed, created_at, updated_at)
    SELECT ${bucketSql('$2::uuid')}, $1, $3, $2, $4, CASE WHEN count(*) = 0 THEN 'Completed' ELSE 'Running' END, $5,
      count(*), 0, 0, $6, $6 FROM picked
    ON CONFLICT (bucket, client_operation_id, merchant_id) DO NOTHING
    RETURNING bucket, batch_id, state
  ), outbox_insert AS (
    ${insertCompletedEvent("state = 'Completed'", '$9', '$6')}
  ), item_insert AS (
    INSERT INTO capture_batch_items (bucket, organization_id, batch_id, transaction_id, contract_id, amount,
      status, updated_at)
    SELECT batch.bucket, $1, batch.batch_id, picked.transaction_id, picked.contract_id, picked.amount,
      'Pending', $6
    FROM picked, batch
  ), job_insert AS (
    INSERT INTO jobs (bucket, organization_id, job_id, kind, payload, due_at, attempts, created_at)
    SELECT bucket, $1, $7, $8, jsonb_build_object('batchId', batch_id), $6, 0, $6 FROM batch
  )
  SELECT batch_id FROM batch`;

const createFromSelectionSql = createBatchSql(
  `SELECT t.transaction_id, t.contract_id, NULL::bigint AS amount ${capturableSql(10)}`,
);

const createFromItemsSql = createBatchSql(
  `SELECT "transactionId" AS transaction_id, "contractId" AS contract_id, amount
    FROM jsonb_to_recordset($10::jsonb) AS r("transactionId" uuid, "contractId" uuid, amount bigint)`,
);

/** A batch is in the bucket of its merchant, as its sales are. */
const batchBucketSql = bucketSql('$2::uuid');
const batchKeySql = `bucket = ${batchBucketSql} AND organization_id = $1 AND batch_id = $2`;

const batchColumns = `batch_id AS "batchId", merchant_id AS "merchantId", state, request, total,
  succeeded, failed, filed, created_at AS "createdAt", updated_at AS "updatedAt"`;

const findBatchSql = `SELECT ${batchColumns} FROM capture_batches WHERE ${batchKeySql}`;

const findByClientIdSql = `SELECT ${batchColumns} FROM capture_batches
  WHERE bucket = ${bucketSql('$3::uuid')} AND organization_id = $1 AND client_operation_id = $2
    AND merchant_id = $3`;

const listItemsSql = `SELECT transaction_id AS "transactionId", amount, status, code
  FROM capture_batch_items
  WHERE ${batchKeySql} AND ($3::uuid IS NULL OR transaction_id > $3)`;

const listItemsPageSql = `${listItemsSql} ORDER BY transaction_id LIMIT $4`;

const listPendingItemsSql = `${listItemsSql} AND status = 'Pending' AND contract_id = $5
  ORDER BY transaction_id LIMIT $4`;

const listPendingContractsSql = `SELECT DISTINCT contract_id AS "contractId" FROM capture_batch_items
  WHERE ${batchKeySql} AND status = 'Pending'`;

const recordResultsSql = `WITH result AS (
    UPDATE capture_batch_items i SET status = $5::jsonb->i.transaction_id::text->>'status',
      code = $5::jsonb->i.transaction_id::text->>'code', updated_at = $4
    WHERE i.bucket = ${batchBucketSql} AND i.organization_id = $1 AND i.batch_id = $2 AND i.transaction_id = ANY($3::uuid[])
      AND i.status = 'Pending'
    RETURNING i.status
  ), counted AS (
    SELECT count(*) AS total, count(*) FILTER (WHERE status = 'Succeeded') AS succeeded,
      count(*) FILTER (WHERE status = 'Failed') AS failed,
      count(*) FILTER (WHERE status = 'Filed') AS filed FROM result
  ), previous AS (
    SELECT state FROM capture_batches WHERE ${batchKeySql} FOR UPDATE
  ), batch AS (
    UPDATE capture_batches b SET succeeded = b.succeeded + counted.succeeded,
      failed = b.failed + counted.failed, filed = b.filed + counted.filed, updated_at = $4,
      state = CASE WHEN b.succeeded + b.failed + b.filed + counted.total >= b.total
        THEN 'Completed' ELSE 'Running' END
    FROM counted, previous WHERE b.bucket = ${batchBucketSql} AND b.organization_id = $1 AND b.batch_id = $2
    RETURNING b.bucket, b.batch_id, b.state, previous.state AS previous_state
  )
  ${insertCompletedEvent("state = 'Completed' AND previous_state = 'Running'", '$6', '$4')}`;

const selectionValues = ({ storeId, currency, authorizedBefore }: BatchSelection) => [
  storeId,
  currency,
  authorizedBefore,
];

const pageValues = ({ organizationId, batchId, after, limit }: BatchPage) => [
  organizationId,
  batchId,
  after,
  limit,
];

export function createBatchStore({ database, ids }: { database: Database; ids: Ids }) {
  return {
    /** In the order of the identifiers. The server's identifier goes before the client's. */
    async findRequestedSales(
      { organizationId, merchantId, storeId }: BatchSelection,
      identifiers: readonly string[],
    ): Promise<(RequestedSale | undefined)[]> {
      const lookups = identifiers.map((name, i) => ({ i, id: isUuid(name) ? name : null, name }));
      const values = [JSON.stringify(lookups), organizationId, merchantId, storeId];
      type Row = RequestedSale & { i: number };
      const rows = await database.query<Row>(findRequestedSalesSql, values);
      const sales = new Map(rows.map((row) => [row.i, row]));
      return identifiers.map((_, i) => sales.get(i));
    },

    listCapturable(selection: BatchSelection, limit: number) {
      type PlannedCapture = { transactionId: string; amount: number; currency: string };
      const { organizationId, merchantId } = selection;
      const values = [organizationId, merchantId, ...selectionValues(selection), limit];
      return database.query<PlannedCapture>(listCapturableSql, values);
    },

    async countCapturable(selection: BatchSelection): Promise<number> {
      const { organizationId, merchantId } = selection;
      const values = [organizationId, merchantId, ...selectionValues(selection)];
      const [row] = await database.query<{ total: number }>(countCapturableSql, values);
      return row?.total ?? 0;
    },

    /** Creates batch, items and job together. False if the client's identifier was used before. */
    async create(batch: {
      batchId: string;
      clientOperationId: string;
      request: Record<string, unknown>;
      selection: BatchSelection;
      /** Undefined: all sales of the selection. */
      items: readonly BatchItemRequest[] | undefined;
      at: string;
      job: { jobId: string; kind: string };
    }): Promise<boolean> {
      const { batchId, clientOperationId, request, selection, items, at, job } = batch;
      const values = [
        selection.organizationId,
        selection.merchantId,
        batchId,
        clientOperationId,
        JSON.stringify(request),
        at,
        job.jobId,
        job.kind,
        ids.uuid(),
      ];
      const rows =
        items === undefined
          ? await database.query(createFromSelectionSql, [...values, ...selectionValues(selection)])
          : await database.query(createFromItemsSql, [...values, JSON.stringify(items)]);
      return rows.length > 0;
    },

    async find(organizationId: string, batchId: string): Promise<BatchRow | undefined> {
      const [row] = await database.query<BatchRow>(findBatchSql, [organizationId, batchId]);
      return row;
    },

    async findByClientId(
      organizationId: string,
      clientOperationId: string,
      merchantId: string,
    ): Promise<BatchRow | undefined> {
      const values = [organizationId, clientOperationId, merchantId];
      const [row] = await database.query<BatchRow>(findByClientIdSql, values);
      return row;
    },

    listItems: (page: BatchPage) => database.query<BatchItem>(listItemsPageSql, pageValues(page)),

    /** What is left to capture under one contract. */
    listPendingItems: (page: BatchPage & { contractId: string }) =>
      database.query<BatchItem>(listPendingItemsSql, [...pageValues(page), page.contractId]),

    /** The contracts of the sales that are left to capture. */
    async listPendingContracts(organizationId: string, batchId: string): Promise<string[]> {
      const values = [organizationId, batchId];
      const rows = await database.query<{ contractId: string }>(listPendingContractsSql, values);
      return rows.map(({ contractId }) => contractId);
    },

    /** Stores and counts results. The batch is completed once no item is pending. */
    async recordResults(
      organizationId: string,
      batchId: string,
      results: readonly BatchResult[],
      at: string,
    ): Promise<void> {
      if (results.length === 0) return;
      const entries = results.map(({ transactionId, ...result }) => [transactionId, result]);
      await database.query(recordResultsSql, [
        organizationId,
        batchId,
        results.map(({ transactionId }) => transactionId),
        at,
        JSON.stringify(Object.fromEntries(entries)),
        ids.uuid(),
      ]);
    },
  };
}

export type BatchStore = ReturnType<typeof createBatchStore>;
