// SQL of offline sales. One terminal sequence number is one sale; gaps are stored in the same transaction.
import { type Kysely, sql } from 'kysely';
import { type Database, isoTime, type Jobs, type NewJob } from '../../platform/index.ts';
import { type KsnUse, takeKsnInTransaction } from '../card-input/ksn-sql.ts';
import { queryRows } from '../repository/sql-statements.ts';
import { insertTransaction, toInsertRow } from '../repository/transaction-sql.ts';
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
  JOIN transactions t ON t.organization_id = u.organization_id AND t.transaction_id = u.transaction_id
  WHERE u.organization_id = $1 AND u.terminal_sequence = $2 AND u.authorized_at = $3
    AND t.merchant_id = $4 LIMIT $5`;

const takeIdentifierText = `INSERT INTO offline_sale_identifiers AS a
    (organization_id, client_transaction_id, merchant_id, transaction_id)
  SELECT $1::uuid, $2::text, $3::uuid, $4::uuid
  WHERE NOT EXISTS (SELECT FROM transactions t WHERE t.organization_id = $1::uuid
    AND t.client_transaction_id = $2::text AND t.merchant_id = $3::uuid)
  ON CONFLICT (organization_id, client_transaction_id, merchant_id)
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

const sequenceScopeKey = ({ row, terminalOwnerId, sequenceScope }: NewUpload) =>
  sql`organization_id = ${row.organizationId} AND terminal_owner_id = ${terminalOwnerId}
    AND sequence_scope = ${sequenceScope}`;

/** Inserts a gap that this upload found, or the upper part of a gap that it splits. */
async function insertGap(
  trx: Kysely<unknown>,
  { row, gapId, terminalOwnerId, sequenceScope }: NewUpload,
  gap: Pick<Gap, 'firstMissing' | 'lastMissing' | 'transactionId'> & { detectedAt: Date | string },
): Promise<void> {
  await sql`INSERT INTO missing_offline_sequences (organization_id, gap_id, terminal_owner_id,
      sequence_scope, first_missing, last_missing, transaction_id, merchant_id, store_id, detected_at)
    VALUES (${row.organizationId}, ${gapId}, ${terminalOwnerId}, ${sequenceScope},
      ${gap.firstMissing}, ${gap.lastMissing}, ${gap.transactionId}, ${row.merchantId},
      ${row.storeId ?? null}, ${gap.detectedAt})`.execute(trx);
}

async function shrinkGap(trx: Kysely<unknown>, upload: NewUpload): Promise<void> {
  const { row, sequence } = upload;
  const { rows } = await sql<Gap>`SELECT ${sql.raw(gapColumns)} FROM missing_offline_sequences
    WHERE ${sequenceScopeKey(upload)}
      AND first_missing <= ${sequence} AND last_missing >= ${sequence}`.execute(trx);
  const [gap] = rows;
  if (gap === undefined) throw new Error('the sequence number is neither stored nor in a gap');
  const { gapId, firstMissing, lastMissing } = gap;
  const gapKey = sql`organization_id = ${row.organizationId} AND gap_id = ${gapId}`;
  if (firstMissing === lastMissing) {
    await sql`DELETE FROM missing_offline_sequences WHERE ${gapKey}`.execute(trx);
    return;
  }
  const [first, last] =
    sequence === firstMissing ? [sequence + 1, lastMissing] : [firstMissing, sequence - 1];
  await sql`UPDATE missing_offline_sequences SET first_missing = ${first}, last_missing = ${last}
    WHERE ${gapKey}`.execute(trx);
  if (sequence === firstMissing || sequence === lastMissing) return;
  await insertGap(trx, upload, { ...gap, firstMissing: sequence + 1 });
}

async function recordSequenceNumber(
  trx: Kysely<unknown>,
  jobs: Pick<Jobs, 'enqueue'>,
  upload: NewUpload,
): Promise<void> {
  const { row, terminalOwnerId, sequenceScope, sequence, event } = upload;
  const { rows } = await sql<{ first: number; last: number }>`INSERT INTO offline_sequence_ranges
      (organization_id, terminal_owner_id, sequence_scope, first_sequence, last_sequence)
    VALUES (${row.organizationId}, ${terminalOwnerId}, ${sequenceScope}, ${sequence}, ${sequence})
    ON CONFLICT (organization_id, terminal_owner_id, sequence_scope)
      DO UPDATE SET sequence_scope = offline_sequence_ranges.sequence_scope
    RETURNING first_sequence AS first, last_sequence AS last`.execute(trx);
  const [range] = rows;
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
  await sql`UPDATE offline_sequence_ranges SET first_sequence = ${Math.min(first, sequence)},
      last_sequence = ${Math.max(last, sequence)}
    WHERE ${sequenceScopeKey(upload)}`.execute(trx);
}

/**
 * False if a period of 24 hours that contains the new sale would have too many sales, of all sequence scopes.
 * Uploads arrive in any order.
 */
async function insertUpload(trx: Kysely<unknown>, upload: NewUpload): Promise<boolean> {
  const { terminalOwnerId, sequenceScope, sequence, chipData = null, maxCount } = upload;
  const { organizationId, transactionId } = upload.row;
  const soldAt = sql`${isoTime(upload.authorizedAt)}::timestamptz`;
  const { rows } = await sql`INSERT INTO offline_uploads (organization_id, terminal_owner_id,
      sequence_scope, terminal_sequence, transaction_id, authorized_at, chip_data)
    SELECT ${organizationId}::uuid, ${terminalOwnerId}::uuid, ${sequenceScope}::text,
      ${sequence}::integer, ${transactionId}::uuid, ${soldAt}, ${chipData}::bytea
    WHERE (SELECT max(count) FROM (
        SELECT at, count(*) OVER (ORDER BY at
          RANGE BETWEEN interval '23:59:59.999999' PRECEDING AND CURRENT ROW) AS count
        FROM (SELECT authorized_at AS at FROM offline_uploads
            WHERE organization_id = ${organizationId} AND terminal_owner_id = ${terminalOwnerId}
              AND authorized_at > ${soldAt} - interval '24 hours'
              AND authorized_at < ${soldAt} + interval '24 hours'
          UNION ALL SELECT ${soldAt}) AS near) AS spans
      WHERE at >= ${soldAt}) <= ${maxCount}::integer
    RETURNING transaction_id`.execute(trx);
  return rows.length > 0;
}

async function storeInTransaction(
  trx: Kysely<unknown>,
  jobs: Pick<Jobs, 'enqueue'>,
  upload: NewUpload,
): Promise<StoreResult> {
  const { row, event, terminalOwnerId, sequenceScope, sequence, ksnUse } = upload;
  const { organizationId, transactionId } = row;
  // Serialises the uploads of one terminal owner, of all its sequence scopes, by a row lock.
  await sql`INSERT INTO offline_terminal_owners AS h (organization_id, terminal_owner_id)
    VALUES (${organizationId}, ${terminalOwnerId})
    ON CONFLICT (organization_id, terminal_owner_id)
      DO UPDATE SET terminal_owner_id = h.terminal_owner_id`.execute(trx);
  const sequenceKey = [organizationId, terminalOwnerId, sequenceScope, sequence];
  const [twin] = await queryRows<UploadRow>(trx, findUploadText, sequenceKey);
  if (twin !== undefined) return { result: 'Twin', ...twin };
  const newRow = JSON.stringify([toInsertRow(row, event)]);
  const insertedRows = await queryRows(trx, insertTransaction.text, [newRow]);
  if (insertedRows.length === 0) throw new UploadNotStored('ClientIdTaken');
  if (!(await insertUpload(trx, upload))) throw new UploadNotStored('CountExceeded');
  if (ksnUse !== undefined && !(await takeKsnInTransaction(trx, ksnUse)))
    throw new UploadNotStored('SerialReused');
  await sql`INSERT INTO outbox (organization_id, outbox_id, kind, subject_id, sequence, created_at)
    VALUES (${organizationId}, ${upload.outboxId}, ${event.type}, ${transactionId},
      ${event.sequence}, ${event.at})`.execute(trx);
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
