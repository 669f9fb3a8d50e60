// Signs how far a chain has come, now and then, so that nobody can rewrite or cut what lies before.
import type { AuditCheckpoint, AuditKeyList } from '@switchyard/contract';
import type { FoundPage, PageRequest } from '../http/index.ts';
import { type Clock, type Database, isoTime, type Jobs } from '../platform/index.ts';
import { addCheckpoint, listCheckpoints, listKeys, lockHead } from './audit-sql.ts';
import type { CheckpointSigner } from './checkpoint-signer.ts';
import { checkpointKind } from './record-changes.ts';

type Deps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly jobs: Pick<Jobs, 'handle'>;
  readonly signer: CheckpointSigner;
};

export type Checkpoints = ReturnType<typeof createCheckpoints>;

/** The organisation's job signs; see record.ts for when it is ordered. */
export function createCheckpoints({ database, clock, jobs, signer }: Deps) {
  /** Under the lock of the head: a record that comes later finds that it is the first one again. */
  async function sign(organizationId: string): Promise<void> {
    await database.transaction(async (trx) => {
      const { sequence, hash, checkpointSequence } = await lockHead(trx, organizationId);
      if (sequence === checkpointSequence) return;
      const at = isoTime(clock.now());
      const checkpoint = signer.sign({ organizationId, sequence, hash, at });
      await addCheckpoint(trx, checkpoint, signer.key.x);
    });
  }

  jobs.handle(checkpointKind, ({ organizationId }) => sign(organizationId));

  return {
    sign,

    async list(organizationId: string, page: PageRequest): Promise<FoundPage<AuditCheckpoint>> {
      const found = await listCheckpoints(database, organizationId, page.limit + 1, page.after);
      const items = found.slice(0, page.limit);
      const next = found.length > page.limit ? items.at(-1)?.sequence : undefined;
      return { items, next: next === undefined ? undefined : String(next) };
    },

    /** Keys of master keys that were changed since sign no more and still verify. */
    async keys(): Promise<AuditKeyList> {
      const older = await listKeys(database, signer.key.kid);
      return { keys: [signer.key, ...older] };
    },
  };
}
