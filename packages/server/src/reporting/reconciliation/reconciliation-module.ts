// The interface of reconciliations, which compare an acquirer's file with the platform's records.
import type { FastifyInstance } from 'fastify';
import type { AuditRecorder } from '../../audit/index.ts';
import type { Clock, Database, Ids, Jobs } from '../../platform/index.ts';
import { whenWhole } from '../projection/postpone-during-rebuild.ts';
import { createMatchWork, matchJob } from './compare-file-job.ts';
import { registerReconciliations } from './reconciliation-routes.ts';
import { createReconciliationStore } from './reconciliation-sql.ts';
import { abandonJob, createReconciliations, type ReconciliationsDeps } from './reconciliations.ts';

export type ReconciliationRoomDeps = Pick<ReconciliationsDeps, 'demandLink'> & {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'uuid'>;
  readonly jobs: Jobs;
  readonly audit: Pick<AuditRecorder, 'record'>;
};

/** @example const reconciliations = openReconciliations(deps); reconciliations.register(app); */
export function openReconciliations(deps: ReconciliationRoomDeps): {
  register(app: FastifyInstance): void;
} {
  const store = createReconciliationStore(deps.database);
  const all = createReconciliations({ ...deps, store });
  deps.jobs.handle(matchJob, whenWhole(deps, createMatchWork({ ...deps, store })));
  deps.jobs.handle(abandonJob, all.abandon);
  return { register: (app) => registerReconciliations(app, all) };
}
