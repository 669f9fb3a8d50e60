// The interface of reporting: a search over payments, sums by day, settlements and exports.
import type { FastifyInstance } from 'fastify';
import type { AuditRecorder } from '../audit/index.ts';
import type { RecentTransactions } from '../payments/index.ts';
import type { Clock, Database, Ids, Jobs, Log, Metrics } from '../platform/index.ts';
import { openExports } from './exports/export-module.ts';
import { exportSources } from './exports/export-sources.ts';
import { createQueries } from './infrastructure/query-limits.ts';
import { createFollower } from './projection/feed-follower.ts';
import { createDictionaries } from './projection/group-dictionary.ts';
import { rebuildReports } from './projection/projection-batch.ts';
import { openReconciliations } from './reconciliation/reconciliation-module.ts';
import { registerReports } from './report-routes.ts';
import { createClasses } from './search/payment-class-cache.ts';
import { type ScannedPart, type ScanPart, scanPayments } from './search/scan-payments.ts';
import type { Search } from './search/search-filters.ts';

export { compareReports, type ReportCheck, type ReportDifference } from './compare-reports.ts';
export type { Scope } from './infrastructure/report-scope.ts';
export { rebuildReports } from './projection/projection-batch.ts';
export type { ScannedPart, ScannedPayment, ScanPart } from './search/scan-payments.ts';
export type { Search, Words } from './search/search-filters.ts';

export type ReportingDeps = {
  database: Database;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  ids: Ids;
  jobs: Jobs;
  audit: Pick<AuditRecorder, 'record'>;
  /**
   * Sales that this process has committed; if absent, the server reads all sales from the database.
   */
  cards?: { readonly recent: RecentTransactions | undefined } | undefined;
  /** The retention time of exports in days. */
  exportDays: number;
  /** @throws Refusal if the organisation has no such acquirer link */
  demandLink(organizationId: string, linkId: string): Promise<void>;
  /** The load of the process from 0 to 1; reports wait while payments need the process. */
  pressure(): number;
  /** The busy share of the process time; by default that of the event loop. */
  busy?: () => number;
};

export type Reporting = {
  register(app: FastifyInstance): void;
  /** Starts to update the reports; called in processes with the role `jobs`. */
  start(): void;
  stop(): Promise<void>;
  /**
   * Reads payments for an export, oldest first, from the end of the last part. A part may be empty
   * although more follow; the scan is complete when `next` is undefined.
   */
  scan(search: Search, part: ScanPart): Promise<ScannedPart>;
  /** Deletes the reports of an organisation, and builds them again from its payments. */
  rebuild(organizationId: string): Promise<void>;
  /** Starts a check at once, for tests. */
  poke(): void;
};

/** @example const reporting = createReporting({ database, clock, log, metrics, pressure }); */
export function createReporting(deps: ReportingDeps): Reporting {
  const { database, clock } = deps;
  const dictionaries = createDictionaries();
  const classes = createClasses(clock);
  const queries = createQueries(database);
  const follower = createFollower({ ...deps, dictionaries, recent: deps.cards?.recent });
  const sources = exportSources({ queries, classes });
  const exports = openExports({ ...deps, sources, keptDays: deps.exportDays });
  const reconciliations = openReconciliations(deps);
  return {
    register(app) {
      registerReports(app, { queries, classes, clock });
      exports.register(app);
      reconciliations.register(app);
    },
    start: follower.start,
    stop: follower.stop,
    poke: follower.poke,
    scan: (search, part) => queries.ask((run) => scanPayments(run, classes, search, part)),
    rebuild: (organizationId) => rebuildReports(database, organizationId),
  };
}
