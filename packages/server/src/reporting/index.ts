// The door to the reports: a search over payments, sums by day, and what is settled.
import type { FastifyInstance } from 'fastify';
import type { Clock, Database, Log, Metrics } from '../platform/index.ts';
import { createDictionaries } from './projection/dictionary.ts';
import { createFollower } from './projection/follower.ts';
import { rebuild } from './projection/turn.ts';
import { createQueries } from './queries.ts';
import { registerReports } from './routes.ts';
import { createClasses } from './search/classes.ts';
import type { Search } from './search/filters.ts';
import { type ScannedPart, type ScanPart, scanPayments } from './search/scan.ts';

export { compareReports, type ReportCheck, type ReportDifference } from './check.ts';
export { type Scope, scopeOf } from './scope.ts';
export type { Search, Words } from './search/filters.ts';
export { searchOf } from './search/filters.ts';
export type { ScannedPart, ScannedPayment, ScanPart } from './search/scan.ts';

export type ReportingDeps = {
  database: Database;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  /** How much the process has to do, 0 to 1: reports give way to payments. */
  pressure(): number;
};

export type Reporting = {
  register(app: FastifyInstance): void;
  /** Begins to bring the reports up to date: in processes with the role `jobs`. */
  start(): void;
  stop(): Promise<void>;
  /**
   * Payments for an export, the oldest first: as many as asked for at a time, from where the last part
   * ended. A part may be empty and lead on; there is no more where `next` is undefined.
   */
  scan(search: Search, part: ScanPart): Promise<ScannedPart>;
  /** Deletes the reports of an organisation, and makes them anew from its payments. */
  rebuild(organizationId: string): Promise<void>;
  /** Looks now, for tests. */
  poke(): void;
};

/** @example const reporting = createReporting({ database, clock, log, metrics, pressure }); */
export function createReporting(deps: ReportingDeps): Reporting {
  const { database, clock } = deps;
  const dictionaries = createDictionaries();
  const classes = createClasses(clock);
  const queries = createQueries(database);
  const follower = createFollower({ ...deps, dictionaries });
  return {
    register: (app) => registerReports(app, { queries, classes, clock }),
    start: follower.start,
    stop: follower.stop,
    poke: follower.poke,
    scan: (search, part) => queries.ask((run) => scanPayments(run, classes, search, part)),
    rebuild: (organizationId) => rebuild({ database, clock, dictionaries }, organizationId),
  };
}
