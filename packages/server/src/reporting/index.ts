// The interface of reporting: a search over payments, sums by day, settlements and exports.
import type { FastifyInstance } from 'fastify';
import type { AuditRecorder } from '../audit/index.ts';
import type { RecentTransactions } from '../payments/index.ts';
import type { Clock, Database, Ids, Jobs, Log, Metrics } from '../platform/index.ts';
import { openExports } from './exports/index.ts';
import { exportSources } from './exports/sources.ts';
import { createDictionaries } from './projection/dictionary.ts';
import { createFollower } from './projection/follower.ts';
import { rebuildReports } from './projection/turn.ts';
import { createQueries } from './queries.ts';
import { openReconciliations } from './reconciliation/index.ts';
import { registerReports } from './routes.ts';
import { createClasses } from './search/classes.ts';
import type { Search } from './search/filters.ts';
import { type ScannedPart, type ScanPart, scanPayments } from './search/scan.ts';

export { compareReports, type ReportCheck, type ReportDifference } from './check.ts';
export { rebuildReports } from './projection/turn.ts';
export type { Scope } from './scope.ts';
export type { Search, Words } from './search/filters.ts';
export type { ScannedPart, ScannedPayment, ScanPart } from './search/scan.ts';

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
