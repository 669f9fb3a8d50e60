// The public interface of audit: records of every change in hash chains with signed checkpoints.
import type { FastifyInstance } from 'fastify';
import type { Database, Queries } from '../platform/index.ts';
import {
  type AuditRecorder,
  type Author,
  actorOf,
  type ChangeByRequest,
  commandAuthor,
  platformAuthor,
} from './audit-entry.ts';
import { createCheckpoints } from './checkpoints.ts';
import { createAuditRecordFinder } from './find-records.ts';
import { type AuditRecorderDeps, createAuditRecorder } from './record-changes.ts';
import { registerAuditRoutes } from './routes.ts';

export type { Actor, AuditEntry, AuditRecorder, Author } from './audit-entry.ts';
export { auditEvents } from './audit-events.ts';
export { signDocument } from './sign-document.ts';
export { actorOf, commandAuthor, platformAuthor };

export type AuditDeps = AuditRecorderDeps & {
  readonly database: Database;
  readonly masterKey: Buffer;
  /** The author of changes without a request; default: the platform itself. */
  readonly author?: Author | undefined;
};

export type Audit = AuditRecorder & {
  register(app: FastifyInstance): void;
  /** Records a change of a module that does not import audit. */
  recordChange(trx: Queries, change: ChangeByRequest): Promise<void>;
  /** Signs a checkpoint now, when records were added since the last one. */
  checkpoint(organizationId: string): Promise<void>;
};

/** @example const audit = createAudit({ database, clock, jobs, masterKey }); */
export function createAudit(deps: AuditDeps): Audit {
  const checkpoints = createCheckpoints(deps);
  const finder = createAuditRecordFinder(deps.database);
  const recorder = createAuditRecorder(deps);
  const { author = platformAuthor } = deps;
  return {
    ...recorder,
    recordChange: (trx, { request, ...change }) =>
      recorder.record(trx, {
        ...(request === undefined ? author : actorOf(request.caller, request.id)),
        ...change,
      }),
    register: (app) => registerAuditRoutes(app, { finder, checkpoints }),
    checkpoint: checkpoints.sign,
  };
}
