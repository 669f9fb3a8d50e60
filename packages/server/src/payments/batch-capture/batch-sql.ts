// SQL of capture batches: created in one statement, processed in pages.
import type { Database, Ids } from '../../platform/index.ts';
import { isUuid } from '../runtime/find-transaction.ts';
import { insertBatchCompletedEvent } from './batch-event-payloads.ts';

export type BatchSelection = {
  merchantId: string;
  storeId?: string | undefined;
  currency?: string | undefined;
  /** RFC 3339; only what was authorised before it. */
  authorizedBefore?: string | undefined;
};

export type BatchRow = {
  batchId: string;
  merchantId: string;
  state: 'Running' | 'Completed';
  request: Record<string, unknown>;
  total: number;
  succeeded: number;
  failed: number;
  filed: number;
  createdAt: string;
  updatedAt: string;
};

export type BatchItem = {
  transactionId: string;
  amount: number | undefined;
  status: 'Pending' | BatchResult['status'];
  code: string | undefined;
};

/** What became of an item. */
export type BatchResult = {
  transactionId: string;
  /** `Filed` waits in a clearing file. */
  status: 'Succeeded' | 'Filed' | 'Failed';
  code?: string;
};

export type PlannedCapture = { transactionId: string; amount: number; currency: string };

/** A sale that a client has named. */
export type RequestedSale = {
  transactionId: string;
  currency: string;
  /** What could still be captured, minor units. */
  remainingAmount: number;
  /** RFC 3339. */
  createdAt: string;
};

type BatchPage = {
  organizationId: string;
  batchId: string;
  after?: string | undefined;
  limit: number;
};

export type BatchStore = {
  /** The sales under names, in their order: the server's identifier first, then the client's. */
  findRequestedSales(query: {
    organizationId: string;
    merchantId: string;
    storeId: string | undefined;
    identifiers: readonly string[];
  }): Promise<(RequestedSale | undefined)[]>;
  listCapturable(
    organizationId: string,
    selection: BatchSelection,
    limit: number,
  ): Promise<PlannedCapture[]>;
  countCapturable(organizationId: string, selection: BatchSelection): Promise<number>;
  /** Makes batch, items and job together; false where the client's identifier is taken. */
  create(batch: {
    organizationId: string;
    batchId: string;
    clientOperationId: string;
    request: Record<string, unknown>;
    selection: BatchSelection;
    items?: readonly { transactionId: string; amount: number | undefined; code?: string }[];
    at: string;
    job: { jobId: string; kind: string };
  }): Promise<boolean>;
  find(organizationId: string, batchId: string): Promise<BatchRow | undefined>;
  findByClientId(
    organizationId: string,
    clientOperationId: string,
    merchantId: string,
  ): Promise<BatchRow | undefined>;
  listItems(page: BatchPage): Promise<BatchItem[]>;
  /** What is left to capture over one acquirer link. */
  listPendingItems(page: BatchPage & { linkId: string }): Promise<BatchItem[]>;
  /** Notes of the next items over which link they go; `last` where more may follow. */
  assignLinks(page: BatchPage): Promise<{ linkIds: string[]; last: string | undefined }>;
  /** The links of what is left to capture, of items that were sorted. */
  listPendingLinks(organizationId: string, batchId: string): Promise<string[]>;
  /** Records results and counts them; the batch is completed once nothing is pending. */
  recordResults(
    organizationId: string,
    batchId: string,
    results: readonly BatchResult[],
    at: string,
  ): Promise<void>;
};

type Raw = Record<string, unknown>;

const remainingAmountSql =
  't.authorized - t.captured - t.cancelled - t.capture_reserved - t.cancel_reserved';

// What is under way already is no matter of a second capture: one in a file stays authorised until it is acknowledged.
const selectionSql = `FROM transactions t WHERE t.organization_id = $1 AND t.merchant_id = $2
    AND t.phase = 'Approved' AND ${remainingAmountSql} > 0
    AND t.state IN ('Authorized', 'PartiallyCaptured')
    AND ($3::uuid IS NULL OR t.store_id = $3) AND ($4::text IS NULL OR t.currency = $4)
    AND ($5::timestamptz IS NULL OR t.created_at < $5)`;

const locationSql =
  't.organization_id = $2 AND t.merchant_id = $3 AND ($4::uuid IS NULL OR t.store_id = $4)';

// One look at an index for each name and kind of name, however long the list is.
const findRequestedSalesSql = `SELECT n.i, f.transaction_id, f.currency, f.open, f.created_at
  FROM jsonb_to_recordset($1::jsonb) AS n(i integer, id uuid, name text),
  LATERAL (
    (SELECT 1 AS rank, t.transaction_id, t.currency, ${remainingAmountSql} AS open, t.created_at
      FROM transactions t WHERE ${locationSql} AND t.transaction_id = n.id)
    UNION ALL
    (SELECT 2 AS rank, t.transaction_id, t.currency, ${remainingAmountSql} AS open, t.created_at
      FROM transactions t WHERE ${locationSql} AND t.client_transaction_id = n.name)
    ORDER BY rank LIMIT 1
  ) f`;

function selectionValues(organizationId: string, selection: BatchSelection): unknown[] {
  const { merchantId, storeId, currency, authorizedBefore } = selection;
  return [organizationId, merchantId, storeId, currency, authorizedBefore].map(
    (value) => value ?? null,
  );
}

const iso = (value: unknown) => new Date(value as string).toISOString();

function toBatch(row: Raw): BatchRow {
  return {
    batchId: String(row['batch_id']),
    merchantId: String(row['merchant_id']),
    state: row['state'] as BatchRow['state'],
    request: row['request'] as Record<string, unknown>,
    total: Number(row['total']),
    succeeded: Number(row['succeeded']),
    failed: Number(row['failed']),
    filed: Number(row['filed']),
    createdAt: iso(row['created_at']),
    updatedAt: iso(row['updated_at']),
  };
}

function toItem(row: Raw): BatchItem {
  return {
    transactionId: String(row['transaction_id']),
    amount: row['amount'] === null ? undefined : Number(row['amount']),
    status: row['status'] as BatchItem['status'],
    code: row['code'] === null ? undefined : String(row['code']),
  };
}

/** The batch goes on by itself from the moment in which it exists. */
const insertJob = (organization: string, id: string, kind: string, at: string) => `job AS (
    INSERT INTO jobs (organization_id, job_id, kind, payload, due_at, attempts, created_at)
    SELECT ${organization}, ${id}, ${kind}, jsonb_build_object('batchId', batch_id), ${at}, 0, ${at}
    FROM batch
  )`;

const insertBatchBySelection = `WITH picked AS (
    SELECT t.transaction_id ${selectionSql}
  ), batch AS (
    INSERT INTO capture_batches (organization_id, batch_id, merchant_id, client_operation_id,
      state, request, total, succeeded, failed, created_at, updated_at)
    SELECT $1, $6, $2, $7, CASE WHEN count(*) = 0 THEN 'Completed' ELSE 'Running' END, $8,
      count(*), 0, 0, $9, $9 FROM picked
    ON CONFLICT (organization_id, client_operation_id, merchant_id) DO NOTHING
    RETURNING batch_id, state
  ), told AS (
    ${insertBatchCompletedEvent("SELECT batch_id AS id FROM batch WHERE state = 'Completed'", '$12', '$9')}
  ), made AS (
    INSERT INTO capture_batch_items (organization_id, batch_id, transaction_id, amount, status,
      updated_at)
    SELECT $1, batch.batch_id, picked.transaction_id, NULL, 'Pending', $9 FROM picked, batch
  ), ${insertJob('$1', '$10', '$11', '$9')}
  SELECT batch_id FROM batch`;

const insertBatchByItems = `WITH picked AS (
    SELECT * FROM jsonb_to_recordset($6::jsonb) AS r(transaction_id uuid, amount bigint, code text)
  ), batch AS (
    INSERT INTO capture_batches (organization_id, batch_id, merchant_id, client_operation_id,
      state, request, total, succeeded, failed, created_at, updated_at)
    SELECT $1, $3, $2, $4, 'Running', $5, count(*), 0, 0, $7, $7 FROM picked
    ON CONFLICT (organization_id, client_operation_id, merchant_id) DO NOTHING
    RETURNING batch_id
  ), made AS (
    INSERT INTO capture_batch_items (organization_id, batch_id, transaction_id, amount, status,
      code, updated_at)
    SELECT $1, batch.batch_id, picked.transaction_id, picked.amount, 'Pending', NULL, $7
    FROM picked, batch
  ), ${insertJob('$1', '$8', '$9', '$7')}
  SELECT batch_id FROM batch`;

const batchKeySql = 'organization_id = $1 AND batch_id = $2';

const selectItems = `SELECT transaction_id, amount, status, code FROM capture_batch_items
  WHERE ${batchKeySql} AND ($3::uuid IS NULL OR transaction_id > $3)
  ORDER BY transaction_id LIMIT $4`;

const selectPending = `SELECT transaction_id, amount, status, code FROM capture_batch_items
  WHERE ${batchKeySql} AND status = 'Pending' AND link_id = $3
    AND ($4::uuid IS NULL OR transaction_id > $4)
  ORDER BY transaction_id LIMIT $5`;

const selectPendingLinks = `SELECT DISTINCT link_id FROM capture_batch_items
  WHERE ${batchKeySql} AND status = 'Pending' AND link_id IS NOT NULL`;

/** In place of a link: of captures that are lines of a file, and of what is not there any more. */
export const clearingFileLinkId = '00000000-0000-0000-0000-000000000001';
const missingLinkId = '00000000-0000-0000-0000-000000000000';
/** What needs no link to be worked. */
export const placeholderLinkIds: ReadonlySet<string> = new Set([clearingFileLinkId, missingLinkId]);

// The planner takes the items of a new batch for one or two, and a join would walk through all of them for
// each: what changes is named by an array, which is looked up in the key.

// The link stands in the facts of the sale, the latest of them where it took another way.
const assignLinksSql = `WITH sorted AS (
    UPDATE capture_batch_items i SET link_id = coalesce((
      SELECT CASE WHEN e.data->'facts'->>'captureTransport' = 'File' THEN '${clearingFileLinkId}'
        ELSE e.data->'facts'->>'linkId' END
      FROM transaction_events e
      WHERE e.organization_id = $1 AND e.transaction_id = i.transaction_id
        AND e.data->'facts' IS NOT NULL
      ORDER BY e.sequence DESC LIMIT 1)::uuid, '${missingLinkId}')
    WHERE i.organization_id = $1 AND i.batch_id = $2 AND i.transaction_id = ANY(ARRAY(
      SELECT transaction_id FROM capture_batch_items
      WHERE ${batchKeySql} AND status = 'Pending' AND link_id IS NULL
        AND ($4::uuid IS NULL OR transaction_id > $4)
      ORDER BY transaction_id LIMIT $3))
    RETURNING i.link_id, i.transaction_id::text AS transaction_id
  )
  SELECT link_id, count(*)::int AS count, max(transaction_id) AS last FROM sorted GROUP BY link_id`;

const recordResults = `WITH done AS (
    UPDATE capture_batch_items i SET status = $5::jsonb->i.transaction_id::text->>'status',
      code = $5::jsonb->i.transaction_id::text->>'code', updated_at = $4
    WHERE i.organization_id = $1 AND i.batch_id = $2 AND i.transaction_id = ANY($3::uuid[])
      AND i.status = 'Pending'
    RETURNING i.status
  ), counted AS (
    SELECT count(*) FILTER (WHERE status = 'Succeeded') AS good,
      count(*) FILTER (WHERE status = 'Failed') AS bad,
      count(*) FILTER (WHERE status = 'Filed') AS filed FROM done
  ), was AS (
    SELECT state FROM capture_batches WHERE organization_id = $1 AND batch_id = $2 FOR UPDATE
  ), counting AS (
  UPDATE capture_batches b SET succeeded = b.succeeded + counted.good,
    failed = b.failed + counted.bad, filed = b.filed + counted.filed, updated_at = $4,
    state = CASE WHEN b.succeeded + b.failed + b.filed + counted.good + counted.bad
        + counted.filed >= b.total
      THEN 'Completed' ELSE 'Running' END
  FROM counted, was WHERE b.organization_id = $1 AND b.batch_id = $2
  RETURNING b.batch_id, b.state, was.state AS before
  )
  ${insertBatchCompletedEvent("SELECT batch_id AS id FROM counting WHERE state = 'Completed' AND before = 'Running'", '$6', '$4')}`;

/** @example const batches = createBatchStore({ database, ids }); */
export function createBatchStore({ database, ids }: { database: Database; ids: Ids }): BatchStore {
  const findOne = async (text: string, values: unknown[]) => {
    const [row] = await database.query(text, values);
    return row === undefined ? undefined : toBatch(row as Raw);
  };
  return {
    async findRequestedSales({ organizationId, merchantId, storeId, identifiers }) {
      const lookups = identifiers.map((name, i) => ({ i, id: isUuid(name) ? name : null, name }));
      const values = [JSON.stringify(lookups), organizationId, merchantId, storeId ?? null];
      const sales: (RequestedSale | undefined)[] = identifiers.map(() => undefined);
      for (const row of await database.query(findRequestedSalesSql, values)) {
        const each = row as Raw;
        sales[Number(each['i'])] = {
          transactionId: String(each['transaction_id']),
          currency: String(each['currency']),
          remainingAmount: Number(each['open']),
          createdAt: iso(each['created_at']),
        };
      }
      return sales;
    },
    async listCapturable(organizationId, selection, limit) {
      const rows = await database.query(
        `SELECT t.transaction_id, t.currency, ${remainingAmountSql} AS amount ${selectionSql}
          ORDER BY t.transaction_id LIMIT $6`,
        [...selectionValues(organizationId, selection), limit],
      );
      return rows.map((row) => {
        const each = row as Raw;
        return {
          transactionId: String(each['transaction_id']),
          amount: Number(each['amount']),
          currency: String(each['currency']),
        };
      });
    },
    async countCapturable(organizationId, selection) {
      const values = selectionValues(organizationId, selection);
      const [row] = await database.query(`SELECT count(*)::int AS total ${selectionSql}`, values);
      return Number((row as Raw)['total']);
    },
    async create(batch) {
      const { organizationId, batchId, clientOperationId, request, selection, items, at, job } =
        batch;
      const body = JSON.stringify(request);
      const insertedRows =
        items === undefined
          ? await database.query(insertBatchBySelection, [
              ...selectionValues(organizationId, selection),
              batchId,
              clientOperationId,
              body,
              at,
              job.jobId,
              job.kind,
              ids.uuid(),
            ])
          : await database.query(insertBatchByItems, [
              organizationId,
              selection.merchantId,
              batchId,
              clientOperationId,
              body,
              JSON.stringify(
                items.map(({ transactionId, amount }) => ({
                  transaction_id: transactionId,
                  amount,
                })),
              ),
              at,
              job.jobId,
              job.kind,
            ]);
      return insertedRows.length > 0;
    },
    find: (organizationId, batchId) =>
      findOne('SELECT * FROM capture_batches WHERE organization_id = $1 AND batch_id = $2', [
        organizationId,
        batchId,
      ]),
    findByClientId: (organizationId, clientOperationId, merchantId) =>
      findOne(
        `SELECT * FROM capture_batches WHERE organization_id = $1 AND client_operation_id = $2
          AND merchant_id = $3`,
        [organizationId, clientOperationId, merchantId],
      ),
    async listItems({ organizationId, batchId, after, limit }) {
      const values = [organizationId, batchId, after ?? null, limit];
      return (await database.query(selectItems, values)).map((row) => toItem(row as Raw));
    },
    async listPendingItems({ organizationId, batchId, linkId, after, limit }) {
      const values = [organizationId, batchId, linkId, after ?? null, limit];
      return (await database.query(selectPending, values)).map((row) => toItem(row as Raw));
    },
    async assignLinks({ organizationId, batchId, after, limit }) {
      const rows = await database.query<{ link_id: string; count: number; last: string }>(
        assignLinksSql,
        [organizationId, batchId, limit, after ?? null],
      );
      const count = rows.reduce((sum, row) => sum + row.count, 0);
      const lasts = rows.map((row) => row.last).sort();
      return {
        linkIds: rows.map((row) => row.link_id),
        last: count < limit ? undefined : lasts.at(-1),
      };
    },
    async listPendingLinks(organizationId, batchId) {
      const rows = await database.query<{ link_id: string }>(selectPendingLinks, [
        organizationId,
        batchId,
      ]);
      return rows.map((row) => row.link_id);
    },
    async recordResults(organizationId, batchId, results, at) {
      if (results.length === 0) return;
      const entries = results.map(({ transactionId, ...result }) => [transactionId, result]);
      await database.query(recordResults, [
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
