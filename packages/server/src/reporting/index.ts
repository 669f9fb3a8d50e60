// The interface of reporting: a search over payments, sums by day, settlements and exports.
import type { FastifyInstance } from 'fastify';
import type { AuditRecorder } from '../audit/index.ts';
import type { RecentTransactions } from '../payments/index.ts';
import type { Clock, Database, Ids, Jobs, Log, Metrics } from '../platform/index.ts';
import { createExportModule } from './exports/export-module.ts';
import { createExportSources } from './exports/export-sources.ts';
import { createReportQueryRunner } from './infrastructure/query-limits.ts';
import { createFeedFollower } from './projection/feed-follower.ts';
import { createGroupDictionaries } from './projection/group-dictionary.ts';
import { rebuildReports } from './projection/projection-batch.ts';
import { createReconciliationModule } from './reconciliation/reconciliation-module.ts';
import { registerReportRoutes } from './report-routes.ts';
import type { PaymentSearchCriteria } from './search/parse-search-filters.ts';
import { createPaymentClassCache } from './search/payment-class-cache.ts';
import { type ScannedPart, type ScanPart, scanPayments } from './search/scan-payments.ts';

export { compareReports, type ReportComparison, type ReportDifference } from './compare-reports.ts';
export type { GroupFilters } from './infrastructure/group-filters.ts';
export type { ReportScope } from './infrastructure/report-scope.ts';
export { rebuildReports } from './projection/projection-batch.ts';
export type { PaymentSearchCriteria } from './search/parse-search-filters.ts';
export type { ScannedPart, ScannedPayment, ScanPart } from './search/scan-payments.ts';

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
  exportRetentionDays: number;
  /** @throws ProblemError if the organisation has no such acquirer link */
  requireLink(organizationId: string, linkId: string): Promise<void>;
  /** The load of the process from 0 to 1; reports wait while payments need the process. */
  getPressure(): number;
  /** The busy share of the process time; by default that of the event loop. */
  getBusyShare?: () => number;
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
  scanPayments(search: PaymentSearchCriteria, part: ScanPart): Promise<ScannedPart>;
  /** Deletes the reports of an organisation, and builds them again from its payments. */
  rebuildReports(organizationId: string): Promise<void>;
  /** Starts a check at once, for tests. */
  checkNow(): void;
};

/** @example const reporting = createReporting({ database, clock, log, metrics, getPressure }); */
export function createReporting(deps: ReportingDeps): Reporting {
  const { database, clock } = deps;
  const dictionaries = createGroupDictionaries();
  const paymentClasses = createPaymentClassCache(clock);
  const queries = createReportQueryRunner(database);
  const follower = createFeedFollower({ ...deps, dictionaries, recent: deps.cards?.recent });
  const sources = createExportSources({ queries, paymentClasses });
  const exports = createExportModule({ ...deps, sources, retentionDays: deps.exportRetentionDays });
  const reconciliations = createReconciliationModule(deps);
  return {
    register(app) {
      registerReportRoutes(app, { queries, paymentClasses, clock });
      exports.register(app);
      reconciliations.register(app);
    },
    start: follower.start,
    stop: follower.stop,
    checkNow: follower.checkNow,
    scanPayments: (search, part) =>
      queries.run((run) => scanPayments(run, paymentClasses, search, part)),
    rebuildReports: (organizationId) => rebuildReports(database, organizationId),
  };
}
