// Writes exports in the background, and commits each part together with the new position.
import { setImmediate as turn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { defined } from '@switchyard/contract';
import {
  type Clock,
  type Database,
  isoTime,
  type Job,
  type Log,
  type Reschedule,
} from '../../platform/index.ts';
import { formatHeader, formatLines } from './csv-and-json-lines.ts';
import type { ExportSource, ExportSources } from './export-source-types.ts';
import { type ExportRow, type ExportStore, wholeOrganizationId } from './export-sql.ts';

const compress = promisify(gzip);

/** A part is written at this length; a crash loses only the part in progress. */
const partBytes = 1_048_576;
/** The lines per read, after which other work of the process can run. */
const rowsPerRead = 1_000;
/** After this time the job ends its turn, so that another job can run. */
const jobTimeMs = 5_000;
const attemptsMax = 8;
/** Level 1 takes a third of the time of the default level, and needs a tenth more bytes. */
const gzipLevel = 1;

export const exportJobKind = 'report-export';

export type ExportLimits = { readonly rows: number };

export type ExportJobDeps = {
  readonly database: Pick<Database, 'transaction'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly store: ExportStore;
  readonly sources: ExportSources;
  readonly limits: ExportLimits;
};

type WrittenPart = { text: string; lines: number; position: string | null };

const toOptionalId = (id: string) => (id === wholeOrganizationId ? undefined : id);
const toOwner = ({ organizationId, merchantId, storeId, createdAt }: ExportRow) => ({
  organizationId,
  merchantId: toOptionalId(merchantId),
  storeId: toOptionalId(storeId),
  asOf: isoTime(createdAt.getTime()),
});

/** Builds the next part from the end of the previous one; the last part has no position. */
async function readNextPart<Item>(
  source: ExportSource<Item>,
  row: ExportRow,
): Promise<WrittenPart> {
  const part: WrittenPart = {
    text: row.parts === 0 ? formatHeader(row.format, source.columns) : '',
    lines: 0,
    position: row.place,
  };
  do {
    const page = { limit: rowsPerRead, after: part.position ?? undefined };
    const { items, next } = await source.read(toOwner(row), row.filters, page);
    part.text += formatLines(row.format, source.columns, items);
    part.lines += items.length;
    part.position = next ?? null;
    await turn();
  } while (part.position !== null && part.text.length < partBytes);
  return part;
}

/** @example jobs.handle(exportJobKind, createExportJobHandler(deps)); */
export function createExportJobHandler(deps: ExportJobDeps) {
  const { database, clock, log, store, sources, limits } = deps;

  const endExport = (row: ExportRow, state: 'Completed' | 'Failed', failure?: string) =>
    database.transaction((trx) =>
      store.end(trx, row, {
        state,
        at: isoTime(clock.now()),
        ...defined({ failure }),
      }),
    );

  const readPart = (row: ExportRow): Promise<WrittenPart> =>
    row.report === 'transactions'
      ? readNextPart(sources.transactions, row)
      : readNextPart(sources.settlements, row);

  const isLast = (row: ExportRow) => row.place === null || row.rows >= limits.rows;

  /** @returns false if the export has ended, or another process has added this part */
  async function storePart(
    row: ExportRow,
    { text, lines, position }: WrittenPart,
  ): Promise<boolean> {
    const content = Buffer.from(text, 'utf8');
    return store.addPart(row, {
      lines,
      bytes: content.length,
      place: position,
      at: isoTime(clock.now()),
      content: await compress(content, { level: gzipLevel }),
    });
  }

  const finish = (row: ExportRow) =>
    row.place === null ? endExport(row, 'Completed') : endExport(row, 'Failed', 'too_many_rows');

  /**
   * Reads the next part while the current one is compressed and stored.
   *
   * @returns true if more parts are left for another turn
   */
  async function writeParts(first: ExportRow, isTimeOver: () => boolean): Promise<boolean> {
    let row = first;
    let nextPartPromise: Promise<WrittenPart> | undefined = readPart(row);
    while (nextPartPromise !== undefined) {
      const part: WrittenPart = await nextPartPromise;
      const nextRow: ExportRow = {
        ...row,
        rows: row.rows + part.lines,
        parts: row.parts + 1,
        place: part.position,
      };
      nextPartPromise = isLast(nextRow) || isTimeOver() ? undefined : readPart(nextRow);
      // If storing this part fails, the server reports that error and ignores the next part.
      nextPartPromise?.catch(() => {});
      if (!(await storePart(row, part))) return false;
      row = nextRow;
    }
    if (!isLast(row)) return true;
    await finish(row);
    return false;
  }

  return async ({ organizationId, payload, attempts }: Job): Promise<Reschedule | undefined> => {
    const owner = { organizationId, merchantId: undefined, storeId: undefined };
    const row = await store.find(owner, String(payload['exportId']));
    if (row === undefined || (row.state !== 'Pending' && row.state !== 'Running')) return undefined;
    if (attempts >= attemptsMax) {
      log.error({ exportId: row.exportId, attempts }, 'an export failed after too many attempts');
      await endExport(row, 'Failed', 'report_unreadable');
      return undefined;
    }
    // The last part was stored, but the process stopped before it set the final state.
    if (row.parts > 0 && isLast(row)) {
      await finish(row);
      return undefined;
    }
    const endsAtMs = performance.now() + jobTimeMs;
    const isMore = await writeParts(row, () => performance.now() >= endsAtMs);
    return isMore ? { retryAt: clock.now(), countAttempt: false } : undefined;
  };
}
