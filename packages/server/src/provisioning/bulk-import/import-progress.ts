// Stores the progress of an import in the same transaction as the changes of its lines.
import type { BulkImport, BulkResult } from '@switchyard/contract';
import { type FoundPage, type PageRequest, readPage } from '../../http/index.ts';
import { type Clock, type Database, isoTime, type Queries } from '../../platform/index.ts';
import type { Row } from '../resources/resource-sql.ts';
import type { ImportFormat } from './body/import-body.ts';

/** The owner of an import, and the owner's name for it. */
export type ImportKey = {
  readonly organizationId: string;
  readonly ownerId: string;
  readonly bulkId: string;
};

export type Counts = Record<BulkResult['status'], number>;
export type ImportError = NonNullable<BulkImport['error']>;

/** The position up to which the body was processed. */
export type Progress = {
  readonly lines: number;
  readonly bytes: number;
  readonly hash: string;
  readonly counts: Counts;
};

export type LeasedImport = Progress & {
  readonly leaseId: string;
  readonly format: ImportFormat;
  readonly isCompleted: boolean;
};

/** The time for which a dead process keeps its import, by the clock of the database. */
export const leaseMs = 15_000;

export const noCounts: Counts = { created: 0, replaced: 0, unchanged: 0, deleted: 0, failed: 0 };

/**
 * Thrown after another process took over the import, because this process did not renew its lease.
 */
export class LeaseLostError extends Error {
  constructor() {
    super('another process has taken over the import');
    this.name = 'LeaseLost';
  }
}

const columns = `bulk_id, format, lines, bytes, hash, counts, error, lease_id, created_at, updated_at,
  completed_at`;
const isLeasedSql = 'leased_until > statement_timestamp() AS is_leased';
/** Uses the database clock, because the clocks of two processes may differ. */
const leaseEnd = `clock_timestamp() + ${leaseMs} * interval '1 millisecond'`;
const importKeySql = 'organization_id = $1 AND owner_id = $2 AND bulk_id = $3';
const valuesOf = ({ organizationId, ownerId, bulkId }: ImportKey) => [
  organizationId,
  ownerId,
  bulkId,
];

const beginImportText = `INSERT INTO bulk_imports AS i (organization_id, owner_id, bulk_id, format, lines,
    bytes, hash, counts, lease_id, leased_until, created_at, updated_at)
  VALUES ($1, $2, $3, $4, 0, 0, '', $5, $6, ${leaseEnd}, $7, $7)
  ON CONFLICT (organization_id, owner_id, bulk_id) DO UPDATE
    SET lease_id = $6, leased_until = ${leaseEnd} WHERE i.leased_until <= statement_timestamp()
  RETURNING ${columns}, (created_at = $7) AS is_new`;

const storeProgressText = `UPDATE bulk_imports SET lines = $5, bytes = $6, hash = $7, counts = $8,
    error = NULL, leased_until = ${leaseEnd}, updated_at = $9, completed_at = $10
  WHERE ${importKeySql} AND lease_id = $4 RETURNING bulk_id`;

const insertResultsText = `INSERT INTO bulk_import_results (organization_id, owner_id, bulk_id, first_line, last_line,
    answers) VALUES ($1, $2, $3, $4, $5, $6)`;

const renewText = `UPDATE bulk_imports SET leased_until = ${leaseEnd}
  WHERE ${importKeySql} AND lease_id = $4`;

const releaseText = `UPDATE bulk_imports SET leased_until = statement_timestamp(),
    error = coalesce($5, error)
  WHERE ${importKeySql} AND lease_id = $4`;

const progressOf = (row: Row): Progress => ({
  lines: Number(row['lines']),
  bytes: Number(row['bytes']),
  hash: String(row['hash']),
  counts: row['counts'] as Counts,
});

const toIsoTime = (value: unknown) => isoTime((value as Date).getTime());

const listText = `SELECT ${columns}, ${isLeasedSql} FROM bulk_imports
  WHERE organization_id = $1 AND owner_id = $2
    AND ($4::timestamptz IS NULL OR (created_at, bulk_id) < ($4, $5))
  ORDER BY created_at DESC, bulk_id DESC LIMIT $3`;

/** The content of a cursor: the start time of an import and its name. */
export const importListCursorPattern = /^(?<at>\d{1,13})\.(?<bulkId>[A-Za-z0-9._:-]{1,64})$/;

function viewOf(row: Row): BulkImport {
  const { lines, bytes, counts } = progressOf(row);
  const completedAt = row['completed_at'];
  return {
    bulkId: String(row['bulk_id']),
    state:
      completedAt !== null ? 'Completed' : row['is_leased'] === true ? 'Running' : 'Interrupted',
    format: row['format'] as ImportFormat,
    lines,
    bytes,
    ...counts,
    ...(row['error'] === null ? {} : { error: row['error'] as ImportError }),
    createdAt: toIsoTime(row['created_at']),
    updatedAt: toIsoTime(row['updated_at']),
    ...(completedAt === null ? {} : { completedAt: toIsoTime(completedAt) }),
  };
}

type BeginOptions = {
  readonly format: ImportFormat;
  readonly leaseId: string;
  onNew(trx: Queries): Promise<void>;
};

/** The results of a chunk, and the position at which it ended. */
export type ProcessedChunk = Progress & {
  readonly results: readonly BulkResult[];
  readonly answers: string;
  readonly isLast: boolean;
};

export function createImportProgress({ database, clock }: { database: Database; clock: Clock }) {
  return {
    /**
     * Returns undefined while another process works on it. `onNew` runs in the same transaction.
     */
    begin: (
      importKey: ImportKey,
      { format, leaseId, onNew }: BeginOptions,
    ): Promise<LeasedImport | undefined> =>
      database.transaction(async (trx) => {
        const now = isoTime(clock.now());
        const [row] = await trx.query(beginImportText, [
          ...valuesOf(importKey),
          format,
          JSON.stringify(noCounts),
          leaseId,
          now,
        ]);
        if (row === undefined) return undefined;
        if (row['is_new'] === true) await onNew(trx);
        return {
          ...progressOf(row),
          leaseId,
          format: row['format'] as ImportFormat,
          isCompleted: row['completed_at'] !== null,
        };
      }),

    /** @throws LeaseLostError if another process has taken over the import */
    async storeChunk(trx: Queries, importKey: ImportKey, leaseId: string, chunk: ProcessedChunk) {
      const now = isoTime(clock.now());
      const { lines, bytes, hash, counts, results, answers, isLast } = chunk;
      const advanced = await trx.query(storeProgressText, [
        ...valuesOf(importKey),
        leaseId,
        lines,
        bytes,
        hash,
        JSON.stringify(counts),
        now,
        isLast ? now : null,
      ]);
      if (advanced.length === 0) throw new LeaseLostError();
      const [first, last] = [results.at(0), results.at(-1)];
      if (first === undefined || last === undefined) return;
      await trx.query(insertResultsText, [...valuesOf(importKey), first.line, last.line, answers]);
    },

    async renew(importKey: ImportKey, leaseId: string): Promise<void> {
      await database.query(renewText, [...valuesOf(importKey), leaseId]);
    },

    /** Ends the lease, so that another process can continue at once. */
    async release(importKey: ImportKey, leaseId: string, error?: ImportError): Promise<void> {
      const errorJson = error === undefined ? null : JSON.stringify(error);
      await database.query(releaseText, [...valuesOf(importKey), leaseId, errorJson]);
    },

    async find(importKey: ImportKey): Promise<BulkImport | undefined> {
      const [row] = await database.query<Row>(
        `SELECT ${columns}, ${isLeasedSql} FROM bulk_imports WHERE ${importKeySql}`,
        valuesOf(importKey),
      );
      return row === undefined ? undefined : viewOf(row);
    },

    /** Newest first; imports older than 30 days are deleted. */
    async list(
      { organizationId, ownerId }: Omit<ImportKey, 'bulkId'>,
      page: PageRequest,
    ): Promise<FoundPage<BulkImport>> {
      const { at, bulkId } = importListCursorPattern.exec(page.after ?? '')?.groups ?? {};
      const after = [at === undefined ? null : isoTime(Number(at)), bulkId ?? null];
      return readPage(
        page,
        ({ limit }) => database.query(listText, [organizationId, ownerId, limit, ...after]),
        (row) => `${(row['created_at'] as Date).getTime()}.${row['bulk_id']}`,
        viewOf,
      );
    },

    /** The results of the chunks that end after a line, in order, up to a number of chunks. */
    async listResultsAfter(importKey: ImportKey, line: number, chunks: number): Promise<string[]> {
      const rows = await database.query(
        `SELECT answers FROM bulk_import_results WHERE ${importKeySql} AND last_line > $4
         ORDER BY first_line LIMIT $5`,
        [...valuesOf(importKey), line, chunks],
      );
      return rows.map((row) => String(row['answers']));
    },

    /** Deletes an import after its retention time; returns the time of the next check otherwise. */
    async deleteExpired(importKey: ImportKey, retentionMs: number): Promise<number | undefined> {
      const [row] = await database.query<Row>(
        `SELECT updated_at, leased_until FROM bulk_imports WHERE ${importKeySql}`,
        valuesOf(importKey),
      );
      if (row === undefined) return undefined;
      const touched = Math.max(
        (row['updated_at'] as Date).getTime(),
        (row['leased_until'] as Date).getTime(),
      );
      if (touched + retentionMs > clock.now()) return touched + retentionMs;
      await database.transaction(async (trx) => {
        await trx.query(
          `DELETE FROM bulk_import_results WHERE ${importKeySql}`,
          valuesOf(importKey),
        );
        await trx.query(`DELETE FROM bulk_imports WHERE ${importKeySql}`, valuesOf(importKey));
      });
      return undefined;
    },
  };
}
