// Creates exports, shows their progress, cancels them and deletes them.
import {
  type Export,
  type ExportReport,
  type ExportRequest,
  exportReports,
  throwProblem,
} from '@switchyard/contract';
import { type AuditRecorder, actorOf } from '../../audit/index.ts';
import type { Caller, FoundPage, PageRequest } from '../../http/index.ts';
import { type Clock, type Database, type Ids, isoTime, type Jobs } from '../../platform/index.ts';
import { fileNameOf } from './csv-and-json-lines.ts';
import type { ExportSources, Filters } from './export-source-types.ts';
import { type ExportRow, type ExportStore, type NewExport, nobody } from './export-sql.ts';
import type { Range } from './range-header.ts';
import { bytesOf } from './stream-content.ts';
import { exportJob } from './write-export-job.ts';

/** The maximum number of open exports of one organisation. */
const openMax = 5;
const dayMs = 86_400_000;
const partsPerDelete = 50;

export const expiryJob = 'report-export-expiry';

export type ExportsDeps = {
  readonly database: Pick<Database, 'transaction'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly audit: Pick<AuditRecorder, 'record'>;
  readonly jobs: Pick<Jobs, 'enqueue' | 'wake'>;
  readonly store: ExportStore;
  readonly sources: ExportSources;
  /** The retention time of an export. */
  readonly keptDays: number;
};

export type Exports = ReturnType<typeof createExports>;

export function viewExport(row: ExportRow): Export {
  return {
    exportId: row.exportId,
    report: row.report,
    format: row.format,
    filters: row.filters,
    state: row.state,
    rows: row.rows,
    bytes: row.bytes,
    fileName: fileNameOf(row.report, row.format, row.createdAt.toISOString()),
    ...(row.failure === null ? {} : { failure: row.failure }),
    createdAt: isoTime(row.createdAt.getTime()),
    updatedAt: isoTime(row.updatedAt.getTime()),
    ...(row.completedAt === null ? {} : { completedAt: isoTime(row.completedAt.getTime()) }),
    expiresAt: isoTime(row.expiresAt.getTime()),
  };
}

function reportOf(request: ExportRequest): { report: ExportReport; filters: Filters } {
  const named = exportReports.filter((report) => request[report] !== undefined);
  const [report] = named;
  if (report !== undefined && named.length === 1) {
    return { report, filters: { ...request[report] } };
  }
  const code = report === undefined ? 'field_required' : 'field_invalid';
  return throwProblem(code, `Exactly one of ${exportReports.join(', ')} is ordered.`, {
    errors: (report === undefined ? [exportReports[0]] : named).map((name) => ({
      pointer: `/${name}`,
      code,
      detail: report === undefined ? 'One report is required.' : 'One report alone.',
    })),
  });
}

/** @throws Refusal client_id_reused */
function demandSame(first: ExportRow, second: Pick<NewExport, 'report' | 'format' | 'filters'>) {
  const sorted = (filters: Filters) =>
    JSON.stringify(Object.entries(filters).sort(([one], [other]) => (one < other ? -1 : 1)));
  const differing = [
    ...(first.format === second.format ? [] : ['/format']),
    ...(first.report === second.report && sorted(first.filters) === sorted(second.filters)
      ? []
      : [`/${second.report}`]),
  ];
  if (differing.length === 0) return;
  throwProblem('client_id_reused', 'This clientOperationId stands for another export.', {
    errors: differing.map((pointer) => ({
      pointer,
      code: 'client_id_reused',
      detail: 'Differs from the first request.',
    })),
  });
}

/** @example const exports = createExports(deps); await exports.order(caller, requestId, request); */
export function createExports(deps: ExportsDeps) {
  const { database, clock, ids, audit, jobs, store, sources, keptDays } = deps;
  const auditedOf = ({
    report,
    format,
    filters,
  }: Pick<NewExport, 'report' | 'format' | 'filters'>) => ({
    report,
    format,
    filters,
  });

  async function create(caller: Caller, requestId: string, made: NewExport): Promise<boolean> {
    const { organizationId, exportId } = made;
    const isMade = await database.transaction(async (trx) => {
      if ((await store.openCount(trx, organizationId)) >= openMax) {
        throwProblem('export_limit_reached', `${openMax} exports are under way already.`);
      }
      if (!(await store.create(trx, made))) return false;
      const payload = { exportId };
      await jobs.enqueue({ organizationId, kind: exportJob, payload }, trx);
      const dueAt = Date.parse(made.expiresAt);
      await jobs.enqueue({ organizationId, kind: expiryJob, payload, dueAt }, trx);
      await audit.record(trx, {
        organizationId,
        ...actorOf(caller, requestId),
        action: 'export.ordered',
        entity: { type: 'export', id: exportId },
        after: auditedOf(made),
      });
      return true;
    });
    if (isMade) jobs.wake();
    return isMade;
  }

  async function demand(caller: Caller, exportId: string): Promise<ExportRow> {
    const { organizationId, merchantId, storeId } = caller;
    const row = await store.find({ organizationId, merchantId, storeId }, exportId);
    return row ?? throwProblem('resource_not_found', 'There is no export with this identifier.');
  }

  /** Deletes in bounded steps, because an export may have thousands of parts. */
  async function erase(organizationId: string, exportId: string): Promise<void> {
    while ((await store.removeParts(organizationId, exportId, partsPerDelete)) === partsPerDelete);
  }

  return {
    /** @throws Refusal field_required, field_invalid, client_id_reused, export_limit_reached */
    async order(caller: Caller, requestId: string, request: ExportRequest) {
      const { report, filters } = reportOf(request);
      sources[report].check(caller, filters);
      const now = clock.now();
      const exportId = ids.uuid();
      const made: NewExport = {
        organizationId: caller.organizationId,
        exportId,
        report,
        format: request.format,
        merchantId: caller.merchantId ?? nobody,
        storeId: caller.storeId ?? nobody,
        clientOperationId: request.clientOperationId ?? exportId,
        filters: { ...filters },
        at: isoTime(now),
        expiresAt: isoTime(now + keptDays * dayMs),
      };
      const known = () => store.findByClientId(made, made.clientOperationId);
      const first = request.clientOperationId === undefined ? undefined : await known();
      const isMade = first === undefined && (await create(caller, requestId, made));
      const row = first ?? (await known());
      if (row === undefined) throw new Error('an export has vanished');
      if (!isMade) demandSame(row, made);
      return { replayed: !isMade, view: viewExport(row) };
    },

    async list(caller: Caller, page: PageRequest): Promise<FoundPage<Export>> {
      const { organizationId, merchantId, storeId } = caller;
      const owner = { organizationId, merchantId, storeId };
      const rows = await store.list(owner, { ...page, limit: page.limit + 1 });
      const items = rows.slice(0, page.limit).map(viewExport);
      return { items, next: rows.length > page.limit ? items.at(-1)?.exportId : undefined };
    },

    get: async (caller: Caller, exportId: string) => viewExport(await demand(caller, exportId)),

    /** @throws Refusal resource_not_found, export_ended */
    async cancel(caller: Caller, requestId: string, exportId: string): Promise<Export> {
      const row = await demand(caller, exportId);
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
      return viewExport(await demand(caller, exportId));
    },

    /** @throws Refusal resource_not_found */
    async remove(caller: Caller, requestId: string, exportId: string): Promise<void> {
      const row = await demand(caller, exportId);
      await database.transaction(async (trx) => {
        await store.end(trx, row, { state: 'Cancelled', at: isoTime(clock.now()) });
        await store.remove(trx, row.organizationId, exportId);
        await audit.record(trx, {
          organizationId: row.organizationId,
          action: 'export.deleted',
          ...actorOf(caller, requestId),
          entity: { type: 'export', id: exportId },
          before: auditedOf(row),
        });
      });
      await erase(row.organizationId, exportId);
    },

    /** The audit records each download, because the data leaves the platform. */
    async fetched(caller: Caller, requestId: string, exportId: string): Promise<ExportRow> {
      const row = await demand(caller, exportId);
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

    bytes: (row: ExportRow, range: Range) => bytesOf(store, row, range),

    /** Runs as a job at the end of the retention time. */
    async expire({ organizationId, payload }: { organizationId: string; payload: Filters }) {
      const exportId = String(payload['exportId']);
      await database.transaction((trx) => store.remove(trx, organizationId, exportId));
      await erase(organizationId, exportId);
    },
  };
}
