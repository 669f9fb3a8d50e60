// The interface of exports: reports that users download as files.
import type { FastifyInstance } from 'fastify';
import type { AuditRecorder } from '../../audit/index.ts';
import type { Clock, Database, Ids, Jobs, Log } from '../../platform/index.ts';
import { whenWhole } from '../projection/postpone-during-rebuild.ts';
import { registerExports } from './export-routes.ts';
import type { ExportSources } from './export-source-types.ts';
import { createExportStore } from './export-sql.ts';
import { createExports, expiryJob } from './exports.ts';
import { createExportWork, exportJob } from './write-export-job.ts';

/** Spreadsheets and loaders do not accept more rows; the client selects a shorter time range. */
const rowsMax = 20_000_000;

export type ExportsRoomDeps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly jobs: Jobs;
  readonly audit: Pick<AuditRecorder, 'record'>;
  readonly sources: ExportSources;
  readonly keptDays: number;
};

/** @example const exports = openExports(deps); exports.register(app); */
export function openExports(deps: ExportsRoomDeps): { register(app: FastifyInstance): void } {
  const store = createExportStore(deps.database);
  const exports = createExports({ ...deps, store });
  const work = createExportWork({ ...deps, store, limits: { rows: rowsMax } });
  deps.jobs.handle(exportJob, whenWhole(deps, work));
  deps.jobs.handle(expiryJob, exports.expire);
  return { register: (app) => registerExports(app, exports) };
}
