// Commits the changes of a chunk, their audit entries and the progress in one transaction.

import type { BulkResult } from '@switchyard/contract';
import type { AuditRecorder } from '../../audit/index.ts';
import {
  type Clock,
  type Database,
  type Ids,
  isoTime,
  type Jobs,
  type Queries,
} from '../../platform/index.ts';
import { createPointOfSaleDefinition, type PosClients } from '../devices/points-of-sale.ts';
import type { CallerScope } from '../resources/caller-scope.ts';
import { posClientId } from '../resources/format-rules.ts';
import { throwNotFound } from '../resources/provisioning-errors.ts';
import { pointsOfSale } from '../resources/tables.ts';
import { type AppliedChunk, applyChunk } from './apply/apply-chunk.ts';
import { createRowCache, type RowCache } from './apply/row-cache.ts';
import type { WriteRelatedData } from './apply/write-rows.ts';
import type { ParsedLine } from './body/parse-line.ts';

function createPointOfSaleCredentials(posClients: () => PosClients) {
  const { relatedData = {} } = createPointOfSaleDefinition(posClients);

  return {
    /** One by one, because each application has its own hash of a secret. */
    createWriter:
      (trx: Queries, { secrets }: RowCache): WriteRelatedData =>
      async (table, { created, changed, removed }) => {
        if (table !== pointsOfSale) return;
        for (const row of created) {
          const clientSecret = secrets.get(String(row[pointsOfSale.id]));
          await relatedData.onCreated?.(trx, row, { clientSecret });
        }
        for (const { before, after } of changed) await relatedData.onReplaced?.(trx, after, before);
        for (const row of removed) await relatedData.onRemoved?.(trx, row);
      },

    /** Runs after the commit; before it, other requests would read the old rows again. */
    invalidateAfterCommit(organizationId: string, results: readonly BulkResult[]): void {
      for (const { type, status, id } of results) {
        if (type !== 'pointOfSale' || id === undefined) continue;
        if (status !== 'replaced' && status !== 'deleted') continue;
        posClients().invalidate({ organizationId, clientId: posClientId(id) });
      }
    },
  };
}

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
