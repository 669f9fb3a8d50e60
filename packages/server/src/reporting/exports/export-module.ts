// The interface of exports: reports that users download as files.
import type { FastifyInstance } from 'fastify';
import type { AuditRecorder } from '../../audit/index.ts';
import type { Clock, Database, Ids, Jobs, Log } from '../../platform/index.ts';
import { postponeJobDuringRebuild } from '../projection/postpone-job-during-rebuild.ts';
import { registerExportRoutes } from './export-routes.ts';
import type { ExportSources } from './export-source-types.ts';
import { createExportStore } from './export-sql.ts';
import { createExports, expiryJobKind } from './exports.ts';
import { createExportJobHandler, exportJobKind } from './write-export-job.ts';

/** Spreadsheets and loaders do not accept more rows; the client selects a shorter time range. */
const rowsMax = 20_000_000;

export type ExportModuleDeps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly jobs: Jobs;
  readonly audit: Pick<AuditRecorder, 'record'>;
  readonly sources: ExportSources;
  readonly retentionDays: number;
};

/** @example const exports = createExportModule(deps); exports.register(app); */
export function createExportModule(deps: ExportModuleDeps): {
  register(app: FastifyInstance): void;
} {
  const store = createExportStore(deps.database);
  const exports = createExports({ ...deps, store });
  const handleExportJob = createExportJobHandler({ ...deps, store, limits: { rows: rowsMax } });
  deps.jobs.handle(exportJobKind, postponeJobDuringRebuild(deps, handleExportJob));
  deps.jobs.handle(expiryJobKind, exports.deleteExpired);
  return { register: (app) => registerExportRoutes(app, exports) };
}
