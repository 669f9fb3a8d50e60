// Signs the end of a chain at intervals, so that earlier records cannot be changed or removed unnoticed.
import type { AuditCheckpoint, AuditKeyList } from '@switchyard/contract';
import type { FoundPage, PageRequest } from '../http/index.ts';
import { type Clock, type Database, isoTime, type Jobs } from '../platform/index.ts';
import { addCheckpoint, listCheckpoints, listKeys, lockHead } from './audit-sql.ts';
import type { CheckpointSigner } from './checkpoint-signer.ts';
import { checkpointJobKind } from './record-changes.ts';

type Deps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly jobs: Pick<Jobs, 'handle'>;
  readonly signer: CheckpointSigner;
};

export type Checkpoints = ReturnType<typeof createCheckpoints>;

/** A job of the organisation signs; record-changes.ts schedules it. */
export function createCheckpoints({ database, clock, jobs, signer }: Deps) {
  /** Locks the head, so that the next record schedules the next checkpoint. */
  async function sign(organizationId: string): Promise<void> {
    await database.transaction(async (trx) => {
      const { sequence, hash, checkpointSequence } = await lockHead(trx, organizationId);
      if (sequence === checkpointSequence) return;
      const at = isoTime(clock.now());
      const checkpoint = signer.sign({ organizationId, sequence, hash, at });
      await addCheckpoint(trx, checkpoint, signer.key.x);
    });
  }

  jobs.handle(checkpointJobKind, ({ organizationId }) => sign(organizationId));

  return {
    sign,

    async list(organizationId: string, page: PageRequest): Promise<FoundPage<AuditCheckpoint>> {
      const checkpointRows = await listCheckpoints(
        database,
        organizationId,
        page.limit + 1,
        page.after,
      );
      const items = checkpointRows.slice(0, page.limit);
      const next = checkpointRows.length > page.limit ? items.at(-1)?.sequence : undefined;
      return { items, next: next === undefined ? undefined : String(next) };
    },

    /** The current signing key first, then earlier keys, which still verify old checkpoints. */
    async keys(): Promise<AuditKeyList> {
      const older = await listKeys(database, signer.key.kid);
      return { keys: [signer.key, ...older] };
    },
  };
}
