// The SQL of offline sales: one number of a terminal is one sale, stored with its gaps in one transaction.
import { CompiledQuery, type Kysely } from 'kysely';
import { type Database, isoTime, type Jobs, type NewJob } from '../../platform/index.ts';
import { type DataUse, useIn } from '../card-input/ksn-sql.ts';
import { begin, beginRow } from '../repository/transaction-sql.ts';
import type { StoredEvent, TransactionRow } from '../transaction/transaction.ts';
import type { Counter } from '../validation/validate-offline-sale.ts';

export type NewUpload = Counter & {
  row: TransactionRow;
  event: StoredEvent;
  sequence: number;
  /** Epoch ms. */
  authorizedAt: number;
  /** Sealed. */
  chipData: Buffer | undefined;
  maxCount: number;
  /** Of the card data, where the device has encrypted it. */
  use: DataUse | undefined;
  outboxId: string;
  /** That sends it. */
  job: NewJob;
  /** For a gap that the number leaves behind it, and the job that tells of it. */
  gapId: string;
  gapJob: NewJob;
};

/** `Twin`: the number stands for that transaction already. */
export type Stored =
  | { result: 'Stored' | 'ClientIdTaken' | 'CountExceeded' | 'SerialReused' }
  | { result: 'Twin'; transactionId: string };

export type Gap = {
  gap_id: string;
  holder_id: string;
  counter: string;
  first_missing: number;
  last_missing: number;
  transaction_id: string;
  merchant_id: string;
  store_id: string | null;
  detected_at: Date;
};

export type WantedGaps = {
  organizationId: string;
  merchantId: string | undefined;
  storeId: string | undefined;
  deviceId: string | undefined;
  after: string | undefined;
  limit: number;
};

/**
 * Whoever sells waits for his own uploads, also for those that another counter of his has numbered: the
 * row is held until the transaction ends.
 */
const holderText = `INSERT INTO offline_holders AS h (organization_id, holder_id) VALUES ($1, $2)
  ON CONFLICT (organization_id, holder_id) DO UPDATE SET holder_id = h.holder_id`;

const spanOfText = `INSERT INTO offline_terminals
    (organization_id, holder_id, counter, first_sequence, last_sequence)
  VALUES ($1, $2, $3, $4, $4)
  ON CONFLICT (organization_id, holder_id, counter)
    DO UPDATE SET counter = offline_terminals.counter
  RETURNING first_sequence, last_sequence`;

const spanText = `UPDATE offline_terminals SET first_sequence = $4, last_sequence = $5
  WHERE organization_id = $1 AND holder_id = $2 AND counter = $3`;

const twinText = `SELECT transaction_id FROM offline_uploads
  WHERE organization_id = $1 AND holder_id = $2 AND counter = $3 AND terminal_sequence = $4`;

const elsewhereText = `SELECT u.transaction_id FROM offline_uploads u JOIN transactions t
    ON t.organization_id = u.organization_id AND t.transaction_id = u.transaction_id
  WHERE u.organization_id = $1 AND u.terminal_sequence = $2 AND u.authorized_at = $3
    AND t.merchant_id = $4 LIMIT $5`;

/**
 * The upload is there unless there are too many: the most sales in 24 hours that the new one lies in,
 * itself among them, of whichever counter; uploads come in any order.
 */
const insertText = `INSERT INTO offline_uploads (organization_id, holder_id, counter,
    terminal_sequence, transaction_id, authorized_at, chip_data)
  SELECT $1::uuid, $2::uuid, $3::text, $4::integer, $5::uuid, $6::timestamptz, $7::bytea
  WHERE (SELECT max(count) FROM (
      SELECT at, count(*) OVER (ORDER BY at
        RANGE BETWEEN interval '23:59:59.999999' PRECEDING AND CURRENT ROW) AS count
      FROM (SELECT authorized_at AS at FROM offline_uploads
          WHERE organization_id = $1 AND holder_id = $2
            AND authorized_at > $6::timestamptz - interval '24 hours'
            AND authorized_at < $6::timestamptz + interval '24 hours'
        UNION ALL SELECT $6::timestamptz) AS near) AS spans
    WHERE at >= $6::timestamptz) <= $8::integer
  RETURNING transaction_id`;

const outboxText = `INSERT INTO outbox
    (organization_id, outbox_id, kind, subject_id, sequence, created_at)
  VALUES ($1, $2, $3, $4, $5, $6)`;

const gapText = `INSERT INTO offline_gaps (organization_id, gap_id, holder_id, counter,
    first_missing, last_missing, transaction_id, merchant_id, store_id, detected_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`;

const aroundText = `SELECT gap_id, first_missing, last_missing, transaction_id, detected_at
  FROM offline_gaps WHERE organization_id = $1 AND holder_id = $2 AND counter = $3
    AND first_missing <= $4 AND last_missing >= $4`;

const narrowText = `UPDATE offline_gaps SET first_missing = $3, last_missing = $4
  WHERE organization_id = $1 AND gap_id = $2`;

const closeText = 'DELETE FROM offline_gaps WHERE organization_id = $1 AND gap_id = $2';

const gapColumns = `gap_id, holder_id, counter, first_missing, last_missing, transaction_id,
  merchant_id, store_id, detected_at`;

/** Terminals of one merchant that sell under the same number in the same millisecond. */
const elsewhereMax = 20;

type Refused = Exclude<Stored['result'], 'Stored' | 'Twin'>;

/** Undoes the transaction: what is refused leaves no trace of its number. */
class NotStored extends Error {
  readonly result: Refused;
  constructor(result: Refused) {
    super(result);
    this.result = result;
  }
}

async function rowsIn<Of>(trx: Kysely<unknown>, text: string, values: readonly unknown[]) {
  const { rows } = await trx.executeQuery<Of>(CompiledQuery.raw(text, [...values]));
  return rows;
}

type Span = { first_sequence: number; last_sequence: number };

/** A number that was missing has come: what is left of its gap lies on both sides of it. */
async function narrowGap(trx: Kysely<unknown>, upload: NewUpload): Promise<void> {
  const { row, holderId, counter, sequence } = upload;
  const { organizationId } = row;
  const [gap] = await rowsIn<Gap>(trx, aroundText, [organizationId, holderId, counter, sequence]);
  if (gap === undefined) throw new Error('a number is neither there nor missing');
  const { gap_id: gapId, first_missing: first, last_missing: last } = gap;
  if (first === last) {
    await rowsIn(trx, closeText, [organizationId, gapId]);
    return;
  }
  const below: [number, number] = [first, sequence - 1];
  const above: [number, number] = [sequence + 1, last];
  await rowsIn(trx, narrowText, [organizationId, gapId, ...(sequence === first ? above : below)]);
  if (sequence === first || sequence === last) return;
  await rowsIn(trx, gapText, [
    organizationId,
    upload.gapId,
    holderId,
    counter,
    ...above,
    gap.transaction_id,
    row.merchantId,
    row.storeId ?? null,
    gap.detected_at,
  ]);
}

async function noteNumber(
  trx: Kysely<unknown>,
  jobs: Pick<Jobs, 'enqueue'>,
  upload: NewUpload,
  { first_sequence: first, last_sequence: last }: Span,
): Promise<void> {
  const { row, holderId, counter, sequence, event } = upload;
  if (sequence > first && sequence < last) return narrowGap(trx, upload);
  const [from, to] = sequence > last ? [last + 1, sequence - 1] : [sequence + 1, first - 1];
  if (sequence !== first && from <= to) {
    await rowsIn(trx, gapText, [
      row.organizationId,
      upload.gapId,
      holderId,
      counter,
      from,
      to,
      row.transactionId,
      row.merchantId,
      row.storeId ?? null,
      event.at,
    ]);
    await jobs.enqueue(upload.gapJob, trx);
  }
  const key = [row.organizationId, holderId, counter];
  await rowsIn(trx, spanText, [...key, Math.min(first, sequence), Math.max(last, sequence)]);
}

async function storeIn(
  trx: Kysely<unknown>,
  jobs: Pick<Jobs, 'enqueue'>,
  upload: NewUpload,
): Promise<Stored> {
  const { row, event, holderId, counter, counts, sequence } = upload;
  const { organizationId, transactionId } = row;
  await rowsIn(trx, holderText, [organizationId, holderId]);
  const place = [organizationId, holderId, counter, sequence];
  const [twin] = await rowsIn<{ transaction_id: string }>(trx, twinText, place);
  if (twin !== undefined) return { result: 'Twin', transactionId: twin.transaction_id };
  const begun = await rowsIn(trx, begin.text, [JSON.stringify([beginRow(row, event)])]);
  if (begun.length === 0) throw new NotStored('ClientIdTaken');
  const sale = [transactionId, isoTime(upload.authorizedAt), upload.chipData ?? null];
  const counted = await rowsIn(trx, insertText, [...place, ...sale, upload.maxCount]);
  if (counted.length === 0) throw new NotStored('CountExceeded');
  const { use } = upload;
  if (use !== undefined && !(await useIn(trx, use))) throw new NotStored('SerialReused');
  await rowsIn(trx, outboxText, [
    organizationId,
    upload.outboxId,
    event.type,
    transactionId,
    event.sequence,
    event.at,
  ]);
  await jobs.enqueue(upload.job, trx);
  if (!counts) return { result: 'Stored' };
  const [span] = await rowsIn<Span>(trx, spanOfText, place);
  if (span === undefined) throw new Error('a terminal has no row');
  await noteNumber(trx, jobs, upload, span);
  return { result: 'Stored' };
}

/** @example const offline = createOfflineStore({ database, jobs }); await offline.store(upload); */
export function createOfflineStore({
  database,
  jobs,
}: {
  database: Database;
  jobs: Pick<Jobs, 'enqueue'>;
}) {
  return {
    /** The transaction under a number that was uploaded before. */
    async find(organizationId: string, { holderId, counter }: Counter, sequence: number) {
      const values = [organizationId, holderId, counter, sequence];
      const [row] = await database.query<{ transaction_id: string }>(twinText, values);
      return row?.transaction_id;
    },

    /** Sales of the merchant with this number and time, whichever terminal counted them. */
    async findElsewhere(of: {
      organizationId: string;
      merchantId: string;
      sequence: number;
      authorizedAt: number;
    }): Promise<string[]> {
      const { organizationId, merchantId, sequence, authorizedAt } = of;
      const values = [organizationId, sequence, isoTime(authorizedAt), merchantId, elsewhereMax];
      const rows = await database.query<{ transaction_id: string }>(elsewhereText, values);
      return rows.map((row) => row.transaction_id);
    },

    /** All of it is durable, or nothing. */
    async store(upload: NewUpload): Promise<Stored> {
      try {
        return await database.transaction((trx) => storeIn(trx, jobs, upload));
      } catch (error) {
        if (error instanceof NotStored) return { result: error.result };
        throw error;
      }
    },

    /** Sealed; nothing where none was sent. */
    async chipData(organizationId: string, transactionId: string): Promise<Buffer | undefined> {
      const [row] = await database.query<{ chip_data: Buffer | null }>(
        `SELECT chip_data FROM offline_uploads
          WHERE organization_id = $1 AND transaction_id = $2`,
        [organizationId, transactionId],
      );
      return row?.chip_data ?? undefined;
    },

    /** Once the acquirer has answered nobody needs it any more. */
    async forgetChipData(organizationId: string, transactionId: string): Promise<void> {
      await database.query(
        `UPDATE offline_uploads SET chip_data = NULL
          WHERE organization_id = $1 AND transaction_id = $2 AND chip_data IS NOT NULL`,
        [organizationId, transactionId],
      );
    },

    /** What is still missing of the gaps that an upload has left behind, at most `limit`. */
    gapsOf(organizationId: string, transactionId: string, limit: number): Promise<Gap[]> {
      return database.query<Gap>(
        `SELECT ${gapColumns} FROM offline_gaps WHERE (organization_id, holder_id, counter) IN (
            SELECT organization_id, holder_id, counter FROM offline_uploads
            WHERE organization_id = $1 AND transaction_id = $2)
          AND transaction_id = $2 ORDER BY first_missing LIMIT $3`,
        [organizationId, transactionId, limit],
      );
    },

    /** In the order in which they were found. */
    listGaps({ organizationId, ...wanted }: WantedGaps): Promise<Gap[]> {
      const { merchantId, storeId, deviceId, after, limit } = wanted;
      return database.query<Gap>(
        `SELECT ${gapColumns} FROM offline_gaps
          WHERE organization_id = $1 AND ($2::uuid IS NULL OR merchant_id = $2)
            AND ($3::uuid IS NULL OR store_id = $3) AND ($4::uuid IS NULL OR holder_id = $4)
            AND gap_id > coalesce($5, '00000000-0000-0000-0000-000000000000'::uuid)
          ORDER BY gap_id LIMIT $6`,
        [
          organizationId,
          merchantId ?? null,
          storeId ?? null,
          deviceId ?? null,
          after ?? null,
          limit,
        ],
      );
    },
  };
}

export type OfflineStore = ReturnType<typeof createOfflineStore>;
