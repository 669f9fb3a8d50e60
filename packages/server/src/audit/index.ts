// The door of the audit: records of every change, chained by their hashes.
import type { Database } from '../platform/index.ts';
import { createRecorder, type RecorderDeps } from './record.ts';
import type { Recorder } from './types.ts';

export { actorOf, platformAuthor } from './actor.ts';
export type { Actor, AuditEntry, Author, Recorder } from './types.ts';

export type AuditDeps = RecorderDeps & {
  readonly database: Database;
  readonly masterKey: Buffer;
};

export type Audit = Recorder;

/** @example const audit = createAudit({ database, clock, jobs, masterKey }); await audit.record(trx, entry); */
export function createAudit(deps: AuditDeps): Audit {
  return createRecorder(deps);
}
