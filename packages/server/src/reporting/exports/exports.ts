// Creates exports, shows their progress, cancels them and deletes them.
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import {
  type Export,
  type ExportReport,
  type ExportRequest,
  exportReports,
  throwProblem,
} from '@switchyard/contract';
import { type AuditRecorder, actorOf } from '../../audit/index.ts';
import type { Caller, FoundPage, PageRequest } from '../../http/index.ts';
import {
  type Clock,
  type Database,
  dayMs,
  type Ids,
  isoTime,
  type Jobs,
} from '../../platform/index.ts';
import { buildFileName } from './csv-and-json-lines.ts';
import type { ExportFilters, ExportSources } from './export-source-types.ts';
import {
  type ExportRow,
  type ExportStore,
  type NewExport,
  wholeOrganizationId,
} from './export-sql.ts';
import type { ByteRange } from './range-header.ts';
import { exportJobKind } from './write-export-job.ts';

/** The maximum number of open exports of one organisation. */
const openExportsMax = 5;
const partsPerDelete = 50;

export const expiryJobKind = 'report-export-expiry';

type ExportsDeps = {
  readonly database: Pick<Database, 'transaction'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly audit: Pick<AuditRecorder, 'record'>;
  readonly jobs: Pick<Jobs, 'enqueue' | 'wake'>;
  readonly store: ExportStore;
  readonly sources: ExportSources;
  /** The retention time of an export. */
  readonly retentionDays: number;
};

export type Exports = ReturnType<typeof createExports>;

export function toExportView(row: ExportRow): Export {
  return {
    exportId: row.exportId,
    report: row.report,
    format: row.format,
    filters: row.filters,
    state: row.state,
    rows: row.rows,
    bytes: row.bytes,
    fileName: buildFileName(row.report, row.format, row.createdAt.toISOString()),
    ...(row.failure === null ? {} : { failure: row.failure }),
    createdAt: isoTime(row.createdAt.getTime()),
    updatedAt: isoTime(row.updatedAt.getTime()),
    ...(row.completedAt === null ? {} : { completedAt: isoTime(row.completedAt.getTime()) }),
    expiresAt: isoTime(row.expiresAt.getTime()),
  };
}

function selectReport(request: ExportRequest): { report: ExportReport; filters: ExportFilters } {
  const requestedReports = exportReports.filter((report) => request[report] !== undefined);
  const [report] = requestedReports;
  if (report !== undefined && requestedReports.length === 1) {
    return { report, filters: { ...request[report] } };
  }
  const code = report === undefined ? 'field_required' : 'field_invalid';
  return throwProblem(code, `Exactly one of ${exportReports.join(', ')} must be present.`, {
    errors: (report === undefined ? [exportReports[0]] : requestedReports).map((name) => ({
      pointer: `/${name}`,
      code,
      detail: report === undefined ? 'One report is required.' : 'Only one report is allowed.',
    })),
  });
}

/** @throws ProblemError client_id_reused */
function requireSameRequest(
  first: ExportRow,
  second: Pick<NewExport, 'report' | 'format' | 'filters'>,
) {
  const sorted = (filters: ExportFilters) =>
    JSON.stringify(Object.entries(filters).sort(([one], [other]) => (one < other ? -1 : 1)));
  const differing = [
    ...(first.format === second.format ? [] : ['/format']),
    ...(first.report === second.report && sorted(first.filters) === sorted(second.filters)
      ? []
      : [`/${second.report}`]),
  ];
  if (differing.length === 0) return;
  throwProblem('client_id_reused', 'This clientOperationId belongs to another export.', {
    errors: differing.map((pointer) => ({
      pointer,
      code: 'client_id_reused',
      detail: 'Differs from the first request.',
    })),
  });
}

/** @example const exports = createExports(deps); await exports.createExport(caller, requestId, request); */
export function createExports(deps: ExportsDeps) {
  const { database, clock, ids, audit, jobs, store, sources, retentionDays } = deps;
  const toAuditEntry = ({
    report,
    format,
    filters,
  }: Pick<NewExport, 'report' | 'format' | 'filters'>) => ({
    report,
    format,
    filters,
  });

  async function insertExport(
    caller: Caller,
    requestId: string,
    newExport: NewExport,
  ): Promise<boolean> {
    const { organizationId, exportId } = newExport;
    const isCreated = await database.transaction(async (trx) => {
      if ((await store.countOpen(trx, organizationId)) >= openExportsMax) {
        throwProblem(
          'export_limit_reached',
          `${openExportsMax} exports already run; cancel one or wait.`,
        );
      }
      if (!(await store.insert(trx, newExport))) return false;
      const payload = { exportId };
      await jobs.enqueue({ organizationId, kind: exportJobKind, payload }, trx);
      const dueAt = Date.parse(newExport.expiresAt);
      await jobs.enqueue({ organizationId, kind: expiryJobKind, payload, dueAt }, trx);
      await audit.record(trx, {
        organizationId,
        ...actorOf(caller, requestId),
        action: 'export.ordered',
        entity: { type: 'export', id: exportId },
        after: toAuditEntry(newExport),
      });
      return true;
    });
    if (isCreated) jobs.wake();
    return isCreated;
  }

  async function requireExport(caller: Caller, exportId: string): Promise<ExportRow> {
    const { organizationId, merchantId, storeId } = caller;
    const row = await store.find({ organizationId, merchantId, storeId }, exportId);
    return row ?? throwProblem('resource_not_found', 'There is no export with this identifier.');
  }

  /** Deletes in bounded steps, because an export may have thousands of parts. */
  async function deleteParts(organizationId: string, exportId: string): Promise<void> {
    while ((await store.deleteParts(organizationId, exportId, partsPerDelete)) === partsPerDelete);
  }

  return {
    /** @throws ProblemError field_required, field_invalid, client_id_reused, export_limit_reached */
    async createExport(caller: Caller, requestId: string, request: ExportRequest) {
      const { report, filters } = selectReport(request);
      sources[report].check(caller, filters);
      const now = clock.now();
      const exportId = ids.uuid();
      const newExport: NewExport = {
        organizationId: caller.organizationId,
        exportId,
        report,
        format: request.format,
        merchantId: caller.merchantId ?? wholeOrganizationId,
        storeId: caller.storeId ?? wholeOrganizationId,
        clientOperationId: request.clientOperationId ?? exportId,
        filters: { ...filters },
        at: isoTime(now),
        expiresAt: isoTime(now + retentionDays * dayMs),
      };
      const findExisting = () => store.findByClientId(newExport, newExport.clientOperationId);
      const existing = request.clientOperationId === undefined ? undefined : await findExisting();
      const isCreated =
        existing === undefined && (await insertExport(caller, requestId, newExport));
      const row = existing ?? (await findExisting());
      if (row === undefined) throw new Error('a new export no longer exists');
      if (!isCreated) requireSameRequest(row, newExport);
      return { replayed: !isCreated, view: toExportView(row) };
    },

    async listExports(caller: Caller, page: PageRequest): Promise<FoundPage<Export>> {
      const { organizationId, merchantId, storeId } = caller;
      const owner = { organizationId, merchantId, storeId };
      const rows = await store.list(owner, { ...page, limit: page.limit + 1 });
      const items = rows.slice(0, page.limit).map(toExportView);
      return { items, next: rows.length > page.limit ? items.at(-1)?.exportId : undefined };
    },

    getExport: async (caller: Caller, exportId: string) =>
      toExportView(await requireExport(caller, exportId)),

    /** @throws ProblemError resource_not_found, export_ended */
    async cancelExport(caller: Caller, requestId: string, exportId: string): Promise<Export> {
      const row = await requireExport(caller, exportId);
      await database.transaction(async (trx) => {
        const at = isoTime(clock.now());
        if (!(await store.end(trx, row, { state: 'Cancelled', at }))) {
          throwProblem('export_ended', 'The export has ended already.');
        }
        await audit.record(trx, {
          organizationId: row.organizationId,
          action: 'export.cancelled',
          ...actorOf(caller, requestId),
          entity: { type: 'export', id: exportId },
        });
      });
      return toExportView(await requireExport(caller, exportId));
    },

    /** @throws ProblemError resource_not_found */
    async deleteExport(caller: Caller, requestId: string, exportId: string): Promise<void> {
      const row = await requireExport(caller, exportId);
      await database.transaction(async (trx) => {
        await store.end(trx, row, { state: 'Cancelled', at: isoTime(clock.now()) });
        await store.delete(trx, row.organizationId, exportId);
        await audit.record(trx, {
          organizationId: row.organizationId,
          action: 'export.deleted',
          ...actorOf(caller, requestId),
          entity: { type: 'export', id: exportId },
          before: toAuditEntry(row),
        });
      });
      await deleteParts(row.organizationId, exportId);
    },

    /** The audit records each download, because the data leaves the platform. */
    async recordDownload(caller: Caller, requestId: string, exportId: string): Promise<ExportRow> {
      const row = await requireExport(caller, exportId);
      if (row.state !== 'Completed')
        throwProblem('export_not_ready', `The export is ${row.state}.`);
      await database.transaction((trx) =>
        audit.record(trx, {
          organizationId: row.organizationId,
          action: 'export.fetched',
          ...actorOf(caller, requestId),
          entity: { type: 'export', id: exportId },
        }),
      );
      return row;
    },

    streamBytes: (row: ExportRow, range: ByteRange) => streamBytes(store, row, range),

    /** Runs as a job at the end of the retention time. */
    async deleteExpired({
      organizationId,
      payload,
    }: {
      organizationId: string;
      payload: ExportFilters;
    }) {
      const exportId = String(payload['exportId']);
      await database.transaction((trx) => store.delete(trx, organizationId, exportId));
      await deleteParts(organizationId, exportId);
    },
  };
}

const decompress = promisify(gunzip);

/** The maximum number of parts in memory at once. */
const partsPerRead = 4;

/**
 * @throws Error if the export was deleted during the download, so that it does not look complete
 */
async function* streamBytes(
  store: Pick<ExportStore, 'readParts'>,
  row: ExportRow,
  { first, last }: ByteRange,
): AsyncGenerator<Buffer> {
  let nextByte = first;
  let lastPartNumber = -1;
  while (nextByte <= last) {
    const parts = await store.readParts(
      row,
      { after: lastPartNumber, firstByte: nextByte },
      partsPerRead,
    );
    if (parts.length === 0) throw new Error('the export has been deleted');
    for (const { number, firstByte, content } of parts) {
      const bytes = await decompress(content);
      yield bytes.subarray(Math.max(0, nextByte - firstByte), last - firstByte + 1);
      lastPartNumber = number;
      nextByte = firstByte + bytes.length;
      if (nextByte > last) return;
    }
  }
}
