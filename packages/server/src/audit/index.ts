// The door of the audit: records of every change, chained by their hashes and signed now and then.
import type { FastifyInstance } from 'fastify';
import type { Kysely } from 'kysely';
import type { Database } from '../platform/index.ts';
import { actorOf, platformAuthor } from './actor.ts';
import { createCheckpoints } from './checkpoints.ts';
import { createFinder } from './find.ts';
import { createRecorder, type RecorderDeps } from './record.ts';
import { registerAuditRoutes } from './routes.ts';
import { createSigner } from './signer.ts';
import type { AskedChange, Recorder } from './types.ts';

export { auditEvents } from './events.ts';
export type { Actor, AuditEntry, Author, Recorder } from './types.ts';
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
