// Commits the changes of a chunk, their audit entries and the progress in one transaction.
import type { AuditRecorder } from '../../audit/index.ts';
import { type Clock, type Database, type Ids, isoTime, type Jobs } from '../../platform/index.ts';
import type { PosClients } from '../devices/points-of-sale.ts';
import type { CallerScope } from '../resources/caller-scope.ts';
import { throwNotFound } from '../resources/provisioning-errors.ts';
import { type AppliedChunk, applyChunk } from './apply/apply-chunk.ts';
import { createPointOfSaleCredentials } from './apply/point-of-sale-credentials.ts';
import { createRowCache } from './apply/row-cache.ts';
import type { ParsedLine } from './body/parse-line.ts';

const uniqueViolation = '23505';
/** Each retry means that another request created the same row first; the retry finds that row. */
const attemptsMax = 5;

const lockOrganizationText = `SELECT 1 AS locked FROM organizations
  WHERE organization_id = $1 AND removed_at IS NULL FOR NO KEY UPDATE`;

function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === uniqueViolation;
}

export type BulkImportDeps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly audit: Pick<AuditRecorder, 'recordAll'>;
  /** Creates the credentials of points of sale. */
  readonly posClients: () => PosClients;
  /** If absent, the results are never deleted; for tests only. */
  readonly jobs?: Pick<Jobs, 'handle' | 'enqueue'> | undefined;
  /** The import calls this after each committed chunk. */
  readonly onWrite: (organizationId: string) => void;
};

type StoreProgress = (
  trx: Parameters<Parameters<BulkImportDeps['database']['transaction']>[0]>[0],
  applied: AppliedChunk,
) => Promise<void>;

export function createChunkCommit({
  database,
  clock,
  ids,
  audit,
  onWrite,
  posClients,
}: BulkImportDeps) {
  const credentials = createPointOfSaleCredentials(posClients);

  /**
   * Locks the organisation for one chunk, so that two imports never create the same entity twice.
   */
  const commitOnce = (
    scope: CallerScope,
    lines: readonly ParsedLine[],
    storeProgress: StoreProgress,
  ): Promise<AppliedChunk> =>
    database.transaction(async (trx) => {
      const lockedRows = await trx.query(lockOrganizationText, [scope.organizationId]);
      if (lockedRows.length === 0) throwNotFound('organization_not_found');
      const now = isoTime(clock.now());
      const rowCache = createRowCache();
      const writeRelatedData = credentials.createWriter(trx, rowCache);
      const applied = await applyChunk(
        { queries: trx, scope, rowCache, ids, now, isWriting: true, writeRelatedData },
        lines,
      );
      await storeProgress(trx, applied);
      await audit.recordAll(trx, applied.entries);
      return applied;
    });

  return {
    async write(
      scope: CallerScope,
      lines: readonly ParsedLine[],
      storeProgress: StoreProgress,
    ): Promise<AppliedChunk> {
      for (let tries = 1; ; tries += 1) {
        try {
          const applied = await commitOnce(scope, lines, storeProgress);
          if (applied.entries.length > 0) onWrite(scope.organizationId);
          credentials.invalidateAfterCommit(scope.organizationId, applied.results);
          return applied;
        } catch (error) {
          if (!isUniqueViolation(error) || tries === attemptsMax) throw error;
        }
      }
    },

    /** Processes lines without a write; later lines see the results of earlier lines in memory. */
    createDryRun(scope: CallerScope): (lines: readonly ParsedLine[]) => Promise<AppliedChunk> {
      const rowCache = createRowCache();
      return async (lines) => {
        const now = isoTime(clock.now());
        const options = { queries: database, scope, rowCache, ids, now, isWriting: false };
        const { results, entries } = await applyChunk(options, lines);
        // An entity that was not created has no identifier and no credentials.
        const visibleResults = results.map(
          ({ id, clientId: _client, clientSecret: _secret, ...result }) =>
            id === undefined || rowCache.isNewId(id) ? result : { ...result, id },
        );
        return { results: visibleResults, entries };
      };
    },
  };
}
