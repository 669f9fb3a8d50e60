// Signs the end of a chain at intervals, so that earlier records cannot be changed or removed unnoticed.
import { type AuditCheckpoint, type AuditKeyList, auditCheckpointText } from '@switchyard/contract';
import { type FoundPage, type PageRequest, readPage } from '../http/index.ts';
import { type Clock, type Database, isoTime, type Jobs } from '../platform/index.ts';
import { addCheckpoint, listCheckpoints, listKeys, lockHead } from './audit-sql.ts';
import { checkpointJobKind } from './record-changes.ts';
import { createAuditKey } from './sign-document.ts';

type Deps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly jobs: Pick<Jobs, 'handle'>;
  /** 32 bytes; the key of the checkpoints is derived from it. */
  readonly masterKey: Buffer;
};

export type Checkpoints = ReturnType<typeof createCheckpoints>;

/** A job of the organisation signs; record-changes.ts schedules it. */
export function createCheckpoints({ database, clock, jobs, masterKey }: Deps) {
  const { key, sign: signText } = createAuditKey(masterKey);

  /** Locks the head, so that the next record schedules the next checkpoint. */
  async function sign(organizationId: string): Promise<void> {
    await database.transaction(async (trx) => {
      const { sequence, hash, checkpointSequence } = await lockHead(trx, organizationId);
      if (sequence === checkpointSequence) return;
      const at = isoTime(clock.now());
      const content = { organizationId, sequence, hash, at, keyId: key.kid };
      const signature = signText(auditCheckpointText(content));
      await addCheckpoint(trx, { ...content, signature }, key.x);
    });
  }

  jobs.handle(checkpointJobKind, ({ organizationId }) => sign(organizationId));

  return {
    sign,

    list: (organizationId: string, page: PageRequest): Promise<FoundPage<AuditCheckpoint>> =>
      readPage(
        page,
        ({ limit, after }) => listCheckpoints(database, organizationId, limit, after),
        ({ sequence }) => String(sequence),
        (checkpoint) => checkpoint,
      ),

    /** The current signing key first, then earlier keys, which still verify old checkpoints. */
    async keys(): Promise<AuditKeyList> {
      const older = await listKeys(database, key.kid);
      return { keys: [key, ...older] };
    },
  };
}
