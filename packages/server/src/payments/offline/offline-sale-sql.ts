// SQL of offline sales. One terminal sequence number is one sale; gaps are stored in the same transaction.
import type { Kysely } from 'kysely';
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

/** `Twin`: that transaction already has the sequence number. */
export type StoreResult =
  | { result: 'Stored' | 'ClientIdTaken' | 'CountExceeded' | 'SerialReused' }
  | { result: 'Twin'; transactionId: string };

export type Gap = {
  gap_id: string;
  terminal_owner_id: string;
  sequence_scope: string;
  first_missing: number;
  last_missing: number;
  transaction_id: string;
  merchant_id: string;
  store_id: string | null;
  detected_at: Date;
};

type GapListQuery = {
  organizationId: string;
  merchantId: string | undefined;
  storeId: string | undefined;
  deviceId: string | undefined;
  after: string | undefined;
  limit: number;
};

/** Serialises the uploads of one terminal owner, of all its sequence scopes, by a row lock. */
const lockTerminalOwnerText = `INSERT INTO offline_terminal_owners AS h (organization_id, terminal_owner_id) VALUES ($1, $2)
  ON CONFLICT (organization_id, terminal_owner_id) DO UPDATE SET terminal_owner_id = h.terminal_owner_id`;

const selectSequenceRangeText = `INSERT INTO offline_sequence_ranges
    (organization_id, terminal_owner_id, sequence_scope, first_sequence, last_sequence)
  VALUES ($1, $2, $3, $4, $4)
  ON CONFLICT (organization_id, terminal_owner_id, sequence_scope)
    DO UPDATE SET sequence_scope = offline_sequence_ranges.sequence_scope
  RETURNING first_sequence, last_sequence`;

const updateSequenceRangeText = `UPDATE offline_sequence_ranges SET first_sequence = $4, last_sequence = $5
  WHERE organization_id = $1 AND terminal_owner_id = $2 AND sequence_scope = $3`;

const findUploadText = `SELECT transaction_id FROM offline_uploads
  WHERE organization_id = $1 AND terminal_owner_id = $2 AND sequence_scope = $3 AND terminal_sequence = $4`;

const findSameSaleText = `SELECT u.transaction_id FROM offline_uploads u JOIN transactions t
    ON t.organization_id = u.organization_id AND t.transaction_id = u.transaction_id
  WHERE u.organization_id = $1 AND u.terminal_sequence = $2 AND u.authorized_at = $3
    AND t.merchant_id = $4 LIMIT $5`;

/**
 * Inserts nothing if a period of 24 hours that contains the new sale would have too many sales, of all
 * sequence scopes. Uploads arrive in any order.
 */
const insertText = `INSERT INTO offline_uploads (organization_id, terminal_owner_id, sequence_scope,
    terminal_sequence, transaction_id, authorized_at, chip_data)
  SELECT $1::uuid, $2::uuid, $3::text, $4::integer, $5::uuid, $6::timestamptz, $7::bytea
  WHERE (SELECT max(count) FROM (
      SELECT at, count(*) OVER (ORDER BY at
        RANGE BETWEEN interval '23:59:59.999999' PRECEDING AND CURRENT ROW) AS count
      FROM (SELECT authorized_at AS at FROM offline_uploads
          WHERE organization_id = $1 AND terminal_owner_id = $2
            AND authorized_at > $6::timestamptz - interval '24 hours'
            AND authorized_at < $6::timestamptz + interval '24 hours'
        UNION ALL SELECT $6::timestamptz) AS near) AS spans
    WHERE at >= $6::timestamptz) <= $8::integer
  RETURNING transaction_id`;

const takeIdentifierText = `INSERT INTO offline_sale_identifiers AS a
    (organization_id, client_transaction_id, merchant_id, transaction_id)
  SELECT $1::uuid, $2::text, $3::uuid, $4::uuid
  WHERE NOT EXISTS (SELECT FROM transactions t WHERE t.organization_id = $1::uuid
    AND t.client_transaction_id = $2::text AND t.merchant_id = $3::uuid)
  ON CONFLICT (organization_id, client_transaction_id, merchant_id)
    DO UPDATE SET transaction_id = a.transaction_id
  RETURNING transaction_id`;

const outboxText = `INSERT INTO outbox
    (organization_id, outbox_id, kind, subject_id, sequence, created_at)
  VALUES ($1, $2, $3, $4, $5, $6)`;

const gapText = `INSERT INTO missing_offline_sequences (organization_id, gap_id, terminal_owner_id, sequence_scope,
    first_missing, last_missing, transaction_id, merchant_id, store_id, detected_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`;

const findGapText = `SELECT gap_id, first_missing, last_missing, transaction_id, detected_at
  FROM missing_offline_sequences WHERE organization_id = $1 AND terminal_owner_id = $2 AND sequence_scope = $3
    AND first_missing <= $4 AND last_missing >= $4`;

const shrinkGapText = `UPDATE missing_offline_sequences SET first_missing = $3, last_missing = $4
  WHERE organization_id = $1 AND gap_id = $2`;

const deleteGapText =
  'DELETE FROM missing_offline_sequences WHERE organization_id = $1 AND gap_id = $2';

const gapColumns = `gap_id, terminal_owner_id, sequence_scope, first_missing, last_missing, transaction_id,
  merchant_id, store_id, detected_at`;

/** Several terminals of a merchant may use the same number in the same millisecond. */
const maxSameSaleMatches = 20;

type StoreRefusal = Exclude<StoreResult['result'], 'Stored' | 'Twin'>;

/** Rolls back the database transaction, so that a refused upload does not use its number. */
class UploadNotStored extends Error {
  readonly result: StoreRefusal;
  constructor(result: StoreRefusal) {
    super(result);
    this.result = result;
  }
}

type SequenceRange = { first_sequence: number; last_sequence: number };

/** Inserts a gap that this upload found, or the upper part of a gap that it splits. */
async function insertGap(
  trx: Kysely<unknown>,
  { row, gapId, terminalOwnerId, sequenceScope }: NewUpload,
  [firstMissing, lastMissing]: readonly [number, number],
  { transactionId, detectedAt }: { transactionId: string; detectedAt: string | Date },
): Promise<void> {
  const sequenceKey = [terminalOwnerId, sequenceScope, firstMissing, lastMissing, transactionId];
  const location = [row.merchantId, row.storeId ?? null];
  const values = [row.organizationId, gapId, ...sequenceKey, ...location, detectedAt];
  await queryRows(trx, gapText, values);
}

async function shrinkGap(trx: Kysely<unknown>, upload: NewUpload): Promise<void> {
  const { terminalOwnerId, sequenceScope, sequence } = upload;
  const { organizationId } = upload.row;
  const sequenceKey = [organizationId, terminalOwnerId, sequenceScope, sequence];
  const [gap] = await queryRows<Gap>(trx, findGapText, sequenceKey);
  if (gap === undefined) throw new Error('the sequence number is neither stored nor in a gap');
  const { gap_id: gapId, first_missing: first, last_missing: last } = gap;
  const gapKey = [organizationId, gapId];
  if (first === last) {
    await queryRows(trx, deleteGapText, gapKey);
    return;
  }
  const below = [first, sequence - 1] as const;
  const above = [sequence + 1, last] as const;
  await queryRows(trx, shrinkGapText, [...gapKey, ...(sequence === first ? above : below)]);
  if (sequence === first || sequence === last) return;
  const { transaction_id: transactionId, detected_at: detectedAt } = gap;
  await insertGap(trx, upload, above, { transactionId, detectedAt });
}

async function recordSequenceNumber(
  trx: Kysely<unknown>,
  jobs: Pick<Jobs, 'enqueue'>,
  upload: NewUpload,
  { first_sequence: first, last_sequence: last }: SequenceRange,
): Promise<void> {
  const { row, terminalOwnerId, sequenceScope, sequence, event } = upload;
  if (sequence > first && sequence < last) return shrinkGap(trx, upload);
  const [from, to] = sequence > last ? [last + 1, sequence - 1] : [sequence + 1, first - 1];
  if (sequence !== first && from <= to) {
    const { transactionId } = row;
    await insertGap(trx, upload, [from, to], { transactionId, detectedAt: event.at });
    await jobs.enqueue(upload.gapJob, trx);
  }
  const range = [Math.min(first, sequence), Math.max(last, sequence)];
  const rangeKey = [row.organizationId, terminalOwnerId, sequenceScope];
  await queryRows(trx, updateSequenceRangeText, [...rangeKey, ...range]);
}

async function storeInTransaction(
  trx: Kysely<unknown>,
  jobs: Pick<Jobs, 'enqueue'>,
  upload: NewUpload,
): Promise<StoreResult> {
  const { row, event, terminalOwnerId, sequenceScope, isGapChecked, sequence } = upload;
  const { organizationId, transactionId } = row;
  await queryRows(trx, lockTerminalOwnerText, [organizationId, terminalOwnerId]);
  const sequenceKey = [organizationId, terminalOwnerId, sequenceScope, sequence];
  const [existingUpload] = await queryRows<{ transaction_id: string }>(
    trx,
    findUploadText,
    sequenceKey,
  );
  if (existingUpload !== undefined)
    return { result: 'Twin', transactionId: existingUpload.transaction_id };
  const insertedRows = await queryRows(trx, insertTransaction.text, [
    JSON.stringify([toInsertRow(row, event)]),
  ]);
  if (insertedRows.length === 0) throw new UploadNotStored('ClientIdTaken');
  const sale = [transactionId, isoTime(upload.authorizedAt), upload.chipData ?? null];
  const insertedUploads = await queryRows(trx, insertText, [
    ...sequenceKey,
    ...sale,
    upload.maxCount,
  ]);
  if (insertedUploads.length === 0) throw new UploadNotStored('CountExceeded');
  const { ksnUse } = upload;
  if (ksnUse !== undefined && !(await takeKsnInTransaction(trx, ksnUse)))
    throw new UploadNotStored('SerialReused');
  await queryRows(trx, outboxText, [
    organizationId,
    upload.outboxId,
    event.type,
    transactionId,
    event.sequence,
    event.at,
  ]);
  await jobs.enqueue(upload.job, trx);
  if (!isGapChecked) return { result: 'Stored' };
  const [range] = await queryRows<SequenceRange>(trx, selectSequenceRangeText, sequenceKey);
  if (range === undefined) throw new Error('the sequence range of the terminal does not exist');
  await recordSequenceNumber(trx, jobs, upload, range);
  return { result: 'Stored' };
}

export function createOfflineStore({
  database,
  jobs,
}: {
  database: Database;
  jobs: Pick<Jobs, 'enqueue'>;
}) {
  return {
    /** The transaction under a number that was uploaded before. */
    async find(
      organizationId: string,
      { terminalOwnerId, sequenceScope }: OfflineSequence,
      sequence: number,
    ) {
      const values = [organizationId, terminalOwnerId, sequenceScope, sequence];
      const [row] = await database.query<{ transaction_id: string }>(findUploadText, values);
      return row?.transaction_id;
    },

    /** Sales of the merchant with this number and time, of all terminals. */
    async findElsewhere(sale: {
      organizationId: string;
      merchantId: string;
      sequence: number;
      authorizedAt: number;
    }): Promise<string[]> {
      const { organizationId, merchantId, sequence, authorizedAt } = sale;
      const values = [
        organizationId,
        sequence,
        isoTime(authorizedAt),
        merchantId,
        maxSameSaleMatches,
      ];
      const rows = await database.query<{ transaction_id: string }>(findSameSaleText, values);
      return rows.map((row) => row.transaction_id);
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
      const [row] = await database.query<{ chip_data: Buffer | null }>(
        `SELECT chip_data FROM offline_uploads
          WHERE organization_id = $1 AND transaction_id = $2`,
        [organizationId, transactionId],
      );
      return row?.chip_data ?? undefined;
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
