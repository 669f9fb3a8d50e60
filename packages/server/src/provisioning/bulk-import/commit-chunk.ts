// Commits the changes of a chunk, their audit entries and the progress in one transaction.
import type { AuditRecorder } from '../../audit/index.ts';
import { type Clock, type Database, type Ids, isoTime, type Jobs } from '../../platform/index.ts';
import type { PosClients } from '../devices/points-of-sale.ts';
import type { CallerScope } from '../resources/caller-scope.ts';
import { throwNotFound } from '../resources/provisioning-errors.ts';
import { createDatabaseRunner, createTransactionRunner } from '../resources/resource-sql.ts';
import { type JudgedChunk, judgeChunk } from './apply/apply-chunk.ts';
import { createCredentials } from './apply/point-of-sale-credentials.ts';
import { createWorkspace } from './apply/row-cache.ts';
import type { ReadLine } from './body/parse-line.ts';

const uniqueViolation = '23505';
/** Each retry means that another request created the same row first; the retry finds that row. */
const overtakenMax = 5;

const lockText = `SELECT 1 AS locked FROM organizations
  WHERE organization_id = $1 AND removed_at IS NULL FOR NO KEY UPDATE`;

function isOvertaken(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === uniqueViolation;
}

export type BulkDeps = {
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

type Kept = (
  trx: Parameters<Parameters<BulkDeps['database']['transaction']>[0]>[0],
  judged: JudgedChunk,
) => Promise<void>;

export function createCommit({ database, clock, ids, audit, onWrite, posClients }: BulkDeps) {
  const credentials = createCredentials(posClients);

  /**
   * Locks the organisation for one chunk, so that two imports never create the same entity twice.
   */
  const once = (scope: CallerScope, lines: readonly ReadLine[], keep: Kept): Promise<JudgedChunk> =>
    database.transaction(async (trx) => {
      const run = createTransactionRunner(trx);
      const held = await run(lockText, [scope.organizationId]);
      if (held.length === 0) throwNotFound('organization_not_found');
      const now = isoTime(clock.now());
      const workspace = createWorkspace();
      const beside = credentials.within(trx, workspace);
      const judged = await judgeChunk(
        { run, scope, workspace, ids, now, isWriting: true, beside },
        lines,
      );
      await keep(trx, judged);
      await audit.recordAll(trx, judged.entries);
      return judged;
    });

  return {
    async write(scope: CallerScope, lines: readonly ReadLine[], keep: Kept): Promise<JudgedChunk> {
      for (let tries = 1; ; tries += 1) {
        try {
          const judged = await once(scope, lines, keep);
          if (judged.entries.length > 0) onWrite(scope.organizationId);
          credentials.committed(scope.organizationId, judged.results);
          return judged;
        } catch (error) {
          if (!isOvertaken(error) || tries === overtakenMax) throw error;
        }
      }
    },

    /** Processes lines without a write; later lines see the results of earlier lines in memory. */
    createTrial(scope: CallerScope): (lines: readonly ReadLine[]) => Promise<JudgedChunk> {
      const workspace = createWorkspace();
      const run = createDatabaseRunner(database);
      return async (lines) => {
        const now = isoTime(clock.now());
        const judging = { run, scope, workspace, ids, now, isWriting: false };
        const { results, entries } = await judgeChunk(judging, lines);
        // An entity that was not created has no identifier and no credentials.
        const told = results.map(({ id, clientId: _client, clientSecret: _secret, ...result }) =>
          id === undefined || workspace.isMade(id) ? result : { ...result, id },
        );
        return { results: told, entries };
      };
    },
  };
}
