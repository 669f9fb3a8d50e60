// The door of the audit: records of every change, chained by their hashes and signed now and then.
import type { FastifyInstance } from 'fastify';
import type { Kysely } from 'kysely';
import type { Database } from '../platform/index.ts';
import type { AskedChange, Recorder } from './audit-entry.ts';
import { actorOf, platformAuthor } from './change-author.ts';
import { createSigner } from './checkpoint-signer.ts';
import { createCheckpoints } from './checkpoints.ts';
import { createFinder } from './find-records.ts';
import { createRecorder, type RecorderDeps } from './record-changes.ts';
import { registerAuditRoutes } from './routes.ts';

export type { Actor, AuditEntry, Author, Recorder } from './audit-entry.ts';
export { auditEvents } from './audit-events.ts';
export { actorOf, platformAuthor };

export type AuditDeps = RecorderDeps & {
  readonly database: Database;
  /** 32 bytes; the key of the checkpoints is derived from it. */
  readonly masterKey: Buffer;
};

export type Audit = Recorder & {
  register(app: FastifyInstance): void;
  /** Records a change that a room tells by a port of its own. */
  recordChange(trx: Kysely<unknown>, change: AskedChange): Promise<void>;
  /** Signs a checkpoint now, where anything was recorded since the last one. */
  checkpoint(organizationId: string): Promise<void>;
};

/** @example const audit = createAudit({ database, clock, jobs, masterKey }); */
export function createAudit(deps: AuditDeps): Audit {
  const { database, masterKey } = deps;
  const checkpoints = createCheckpoints({ ...deps, signer: createSigner(masterKey) });
  const finder = createFinder(database);
  const recorder = createRecorder(deps);
  return {
    ...recorder,
    recordChange: (trx, { asked, ...change }) =>
      recorder.record(trx, {
        ...(asked === undefined ? platformAuthor : actorOf(asked.caller, asked.id)),
        ...change,
      }),
    register: (app) => registerAuditRoutes(app, { finder, checkpoints }),
    checkpoint: checkpoints.sign,
  };
}
