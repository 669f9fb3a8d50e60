// SQL of offline sales. One terminal sequence number is one sale; gaps are stored in the same transaction.
import {
  bucketOf,
  bucketSql,
  type Database,
  isoTime,
  type Jobs,
  type NewJob,
  type Queries,
  runInTransaction,
  shardOf,
} from '../../platform/index.ts';
import { type KsnUse, takeKsnInTransaction } from '../card-input/ksn-sql.ts';
import { insertTransaction, toInsertRow } from '../repository/transaction-write-sql.ts';
import type { SaleKey } from '../sale/sale-idempotency.ts';
import type { StoredEvent, TransactionRow } from '../transaction/transaction.ts';
import type { OfflineSequence } from '../validation/validate-offline-sale.ts';

export type NewUpload = OfflineSequence & {
  row: TransactionRow;
  event: StoredEvent;
  sequence: number;
  /** Epoch ms. */
  authorizedAt: number;
  /** Sealed. */
  chipData: Buffer | undefined;
  maxCount: number;
  /** Undefined if the card data was not encrypted. */
  ksnUse: KsnUse | undefined;
  outboxId: string;
  job: NewJob;
  /** Identifier and report job of a gap next to the number. */
  gapId: string;
  gapJob: NewJob;
};

type StoreConflict = 'ClientIdTaken' | 'CountExceeded' | 'SerialReused';

/** `Twin`: that transaction already has the sequence number. */
export type StoreResult =
  | { result: 'Stored' }
  | { result: StoreConflict }
  | { result: 'Twin'; transactionId: string };

export type Gap = {
  gapId: string;
  terminalOwnerId: string;
  sequenceScope: string;
  firstMissing: number;
  lastMissing: number;
  transactionId: string;
  merchantId: string;
  storeId: string | null;
  detectedAt: Date;
};

type GapListQuery = { organizationId: string; limit: number } & Record<
  'merchantId' | 'storeId' | 'deviceId' | 'after',
  string | undefined
>;

const gapColumns = `gap_id AS "gapId", terminal_owner_id AS "terminalOwnerId",
  sequence_scope AS "sequenceScope", first_missing AS "firstMissing", last_missing AS "lastMissing",
  transaction_id AS "transactionId", merchant_id AS "merchantId", store_id AS "storeId",
  detected_at AS "detectedAt"`;

const findUploadText = `SELECT transaction_id AS "transactionId" FROM offline_uploads
  WHERE organization_id = $1 AND terminal_owner_id = $2 AND sequence_scope = $3 AND terminal_sequence = $4`;

const findSameSaleText = `SELECT u.transaction_id AS "transactionId" FROM offline_uploads u
  JOIN transactions t ON t.bucket = ${bucketSql('$4::uuid')} AND t.transaction_id = u.transaction_id
  WHERE u.organization_id = $1 AND u.terminal_sequence = $2 AND u.authorized_at = $3
    AND t.merchant_id = $4 LIMIT $5`;

const takeIdentifierText = `INSERT INTO offline_sale_identifiers AS a
    (bucket, organization_id, client_transaction_id, merchant_id, transaction_id)
  SELECT ${bucketSql('$3::uuid')}, $1::uuid, $2::text, $3::uuid, $4::uuid
  WHERE NOT EXISTS (SELECT FROM transactions t WHERE t.bucket = ${bucketSql('$3::uuid')}
    AND t.client_transaction_id = $2::text AND t.merchant_id = $3::uuid)
  ON CONFLICT (bucket, client_transaction_id, merchant_id)
    DO UPDATE SET transaction_id = a.transaction_id
  RETURNING transaction_id`;

/** Several terminals of a merchant may use the same number in the same millisecond. */
const maxSameSaleMatches = 20;

/** Rolls back the database transaction, so that a refused upload does not use its number. */
class UploadNotStored extends Error {
  readonly result: StoreConflict;
  constructor(result: StoreConflict) {
    super(result);
    this.result = result;
  }
}

const sequenceScopeSql = 'organization_id = $1 AND terminal_owner_id = $2 AND sequence_scope = $3';

const sequenceScopeValues = ({ row, terminalOwnerId, sequenceScope }: NewUpload) => [
  row.organizationId,
  terminalOwnerId,
  sequenceScope,
];

/** Inserts a gap that this upload found, or the upper part of a gap that it splits. */
async function insertGap(
  trx: Queries,
  { row, gapId, terminalOwnerId, sequenceScope }: NewUpload,
  gap: Pick<Gap, 'firstMissing' | 'lastMissing' | 'transactionId'> & { detectedAt: Date | string },
): Promise<void> {
  await trx.query(
    `INSERT INTO missing_offline_sequences (organization_id, gap_id, terminal_owner_id,
      sequence_scope, first_missing, last_missing, transaction_id, merchant_id, store_id, detected_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      row.organizationId,
      gapId,
      terminalOwnerId,
      sequenceScope,
      gap.firstMissing,
      gap.lastMissing,
      gap.transactionId,
      row.merchantId,
      row.storeId ?? null,
      gap.detectedAt,
    ],
  );
}

async function shrinkGap(trx: Queries, upload: NewUpload): Promise<void> {
  const { row, sequence } = upload;
  const [gap] = await trx.query<Gap>(
    `SELECT ${gapColumns} FROM missing_offline_sequences WHERE ${sequenceScopeSql}
      AND first_missing <= $4 AND last_missing >= $4`,
    [...sequenceScopeValues(upload), sequence],
  );
  if (gap === undefined) throw new Error('the sequence number is neither stored nor in a gap');
  const { gapId, firstMissing, lastMissing } = gap;
  const gapKey = [row.organizationId, gapId];
  if (firstMissing === lastMissing) {
    await trx.query(
      'DELETE FROM missing_offline_sequences WHERE organization_id = $1 AND gap_id = $2',
      gapKey,
    );
    return;
  }
  const bounds =
    sequence === firstMissing ? [sequence + 1, lastMissing] : [firstMissing, sequence - 1];
  await trx.query(
    `UPDATE missing_offline_sequences SET first_missing = $3, last_missing = $4
    WHERE organization_id = $1 AND gap_id = $2`,
    [...gapKey, ...bounds],
  );
  if (sequence === firstMissing || sequence === lastMissing) return;
  await insertGap(trx, upload, { ...gap, firstMissing: sequence + 1 });
}

async function recordSequenceNumber(
  trx: Queries,
  jobs: Pick<Jobs, 'enqueue'>,
  upload: NewUpload,
): Promise<void> {
  const { row, sequence, event } = upload;
  const [range] = await trx.query<{ first: number; last: number }>(
    `INSERT INTO offline_sequence_ranges
      (organization_id, terminal_owner_id, sequence_scope, first_sequence, last_sequence)
    VALUES ($1, $2, $3, $4, $4) ON CONFLICT (organization_id, terminal_owner_id, sequence_scope)
      DO UPDATE SET sequence_scope = offline_sequence_ranges.sequence_scope
    RETURNING first_sequence AS first, last_sequence AS last`,
    [...sequenceScopeValues(upload), sequence],
  );
  if (range === undefined) throw new Error('the sequence range of the terminal does not exist');
  const { first, last } = range;
  if (sequence > first && sequence < last) return shrinkGap(trx, upload);
  const [firstMissing, lastMissing] =
    sequence > last ? [last + 1, sequence - 1] : [sequence + 1, first - 1];
  if (sequence !== first && firstMissing <= lastMissing) {
    const { transactionId } = row;
    const detectedAt = event.at;
    await insertGap(trx, upload, { firstMissing, lastMissing, transactionId, detectedAt });
    await jobs.enqueue(upload.gapJob, trx);
  }
  await trx.query(
    `UPDATE offline_sequence_ranges SET first_sequence = $4, last_sequence = $5
    WHERE ${sequenceScopeSql}`,
    [...sequenceScopeValues(upload), Math.min(first, sequence), Math.max(last, sequence)],
  );
}

/**
 * False if a period of 24 hours that contains the new sale would have too many sales, of all sequence scopes.
 * Uploads arrive in any order.
 */
async function insertUpload(trx: Queries, upload: NewUpload): Promise<boolean> {
  const { terminalOwnerId, sequenceScope, sequence, chipData = null, maxCount } = upload;
  const { organizationId, transactionId } = upload.row;
  const rows = await trx.query(
    `INSERT INTO offline_uploads (organization_id, terminal_owner_id,
      sequence_scope, terminal_sequence, transaction_id, authorized_at, chip_data)
    SELECT $1::uuid, $2::uuid, $3::text, $4::integer, $5::uuid, $6::timestamptz, $7::bytea
    WHERE (SELECT max(count) FROM (SELECT at, count(*) OVER (ORDER BY at
          RANGE BETWEEN interval '23:59:59.999999' PRECEDING AND CURRENT ROW) AS count
        FROM (SELECT authorized_at AS at FROM offline_uploads
            WHERE organization_id = $1 AND terminal_owner_id = $2
              AND authorized_at > $6::timestamptz - interval '24 hours'
              AND authorized_at < $6::timestamptz + interval '24 hours'
          UNION ALL SELECT $6::timestamptz) AS near) AS spans WHERE at >= $6::timestamptz) <= $8::integer
    RETURNING transaction_id`,
    [
      organizationId,
      terminalOwnerId,
      sequenceScope,
      sequence,
      transactionId,
      isoTime(upload.authorizedAt),
      chipData,
      maxCount,
    ],
  );
  return rows.length > 0;
}

async function storeInTransaction(
  trx: Queries,
  jobs: Pick<Jobs, 'enqueue'>,
  upload: NewUpload,
): Promise<StoreResult> {
  const { row, event, terminalOwnerId, sequenceScope, sequence, ksnUse } = upload;
  const { organizationId, transactionId } = row;
  // Serialises the uploads of one terminal owner, of all its sequence scopes, by a row lock.
  await trx.query(
    `INSERT INTO offline_terminal_owners AS h (organization_id, terminal_owner_id)
    VALUES ($1, $2) ON CONFLICT (organization_id, terminal_owner_id)
      DO UPDATE SET terminal_owner_id = h.terminal_owner_id`,
    [organizationId, terminalOwnerId],
  );
  const sequenceKey = [organizationId, terminalOwnerId, sequenceScope, sequence];
  const [twin] = await trx.query<UploadRow>(findUploadText, sequenceKey);
  if (twin !== undefined) return { result: 'Twin', ...twin };
  const newRow = JSON.stringify([toInsertRow(row, event)]);
  const buckets = await shardOf(trx, bucketOf(transactionId));
  const insertedRows = await runInTransaction(trx, insertTransaction, [newRow], buckets);
  if (insertedRows.length === 0) throw new UploadNotStored('ClientIdTaken');
  if (!(await insertUpload(trx, upload))) throw new UploadNotStored('CountExceeded');
  if (ksnUse !== undefined && !(await takeKsnInTransaction(trx, ksnUse)))
    throw new UploadNotStored('SerialReused');
  await trx.query(
    `INSERT INTO outbox (bucket, organization_id, outbox_id, kind, subject_id, sequence, created_at)
    VALUES (${bucketSql('$4::uuid')}, $1, $2, $3, $4, $5, $6)`,
    [organizationId, upload.outboxId, event.type, transactionId, event.sequence, event.at],
  );
  await jobs.enqueue(upload.job, trx);
  if (upload.isGapChecked) await recordSequenceNumber(trx, jobs, upload);
  return { result: 'Stored' };
}

type UploadRow = { transactionId: string };
type StorePorts = { database: Database; jobs: Pick<Jobs, 'enqueue'> };

export function createOfflineStore({ database, jobs }: StorePorts) {
  return {
    /** The transaction under a number that was uploaded before. */
    async find(
      organizationId: string,
      { terminalOwnerId, sequenceScope }: OfflineSequence,
      sequence: number,
    ): Promise<string | undefined> {
      const values = [organizationId, terminalOwnerId, sequenceScope, sequence];
      return (await database.query<UploadRow>(findUploadText, values))[0]?.transactionId;
    },

    /** Sales of the merchant with this number and time, of all terminals. */
    async findElsewhere(
      { organizationId, merchantId }: SaleKey,
      sequence: number,
      authorizedAt: number,
    ): Promise<string[]> {
      const soldAt = isoTime(authorizedAt);
      const values = [organizationId, sequence, soldAt, merchantId, maxSameSaleMatches];
      const rows = await database.query<UploadRow>(findSameSaleText, values);
      return rows.map(({ transactionId }) => transactionId);
    },

    async store(upload: NewUpload): Promise<StoreResult> {
      try {
        return await database.transaction((trx) => storeInTransaction(trx, jobs, upload));
      } catch (error) {
        if (error instanceof UploadNotStored) return { result: error.result };
        throw error;
      }
    },

    /** Assigns another identifier to a stored sale. False when another sale has the identifier. */
    async takeIdentifier(
      { organizationId, clientTransactionId, merchantId }: SaleKey,
      transactionId: string,
    ): Promise<boolean> {
      const values = [organizationId, clientTransactionId, merchantId, transactionId];
      return (await database.query(takeIdentifierText, values)).length > 0;
    },

    /** Sealed; undefined if the terminal sent none. */
    async chipData(organizationId: string, transactionId: string): Promise<Buffer | undefined> {
      const text = `SELECT chip_data AS "chipData" FROM offline_uploads
        WHERE organization_id = $1 AND transaction_id = $2`;
      const values = [organizationId, transactionId];
      const [row] = await database.query<{ chipData: Buffer | null }>(text, values);
      return row?.chipData ?? undefined;
    },

    async forgetChipData(organizationId: string, transactionId: string): Promise<void> {
      await database.query(
        `UPDATE offline_uploads SET chip_data = NULL
          WHERE organization_id = $1 AND transaction_id = $2 AND chip_data IS NOT NULL`,
        [organizationId, transactionId],
      );
    },

    /** The numbers before an upload that are still missing. */
    gapsOf(organizationId: string, transactionId: string, limit: number): Promise<Gap[]> {
      return database.query<Gap>(
        `SELECT ${gapColumns} FROM missing_offline_sequences WHERE (organization_id, terminal_owner_id, sequence_scope) IN (
            SELECT organization_id, terminal_owner_id, sequence_scope FROM offline_uploads
            WHERE organization_id = $1 AND transaction_id = $2)
          AND transaction_id = $2 ORDER BY first_missing LIMIT $3`,
        [organizationId, transactionId, limit],
      );
    },

    /** The oldest first. */
    listGaps(query: GapListQuery): Promise<Gap[]> {
      const { organizationId, merchantId, storeId, deviceId, after, limit } = query;
      const values = [organizationId, merchantId, storeId, deviceId, after, limit];
      return database.query<Gap>(
        `SELECT ${gapColumns} FROM missing_offline_sequences
          WHERE organization_id = $1 AND ($2::uuid IS NULL OR merchant_id = $2)
            AND ($3::uuid IS NULL OR store_id = $3) AND ($4::uuid IS NULL OR terminal_owner_id = $4)
            AND gap_id > coalesce($5, '00000000-0000-0000-0000-000000000000'::uuid)
          ORDER BY gap_id LIMIT $6`,
        values.map((value) => value ?? null),
      );
    },
  };
}

export type OfflineStore = ReturnType<typeof createOfflineStore>;
