// The interface of reconciliations, which compare an acquirer's file with the platform's records.
import type { FastifyInstance } from 'fastify';
import type { AuditRecorder } from '../../audit/index.ts';
import type { Clock, Database, Ids, Jobs } from '../../platform/index.ts';
import { postponeJobDuringRebuild } from '../projection/postpone-job-during-rebuild.ts';
import { compareFileJobKind, createCompareFileJob } from './compare-file-job.ts';
import { registerReconciliationRoutes } from './reconciliation-routes.ts';
import { createReconciliationStore } from './reconciliation-sql.ts';
import {
  createReconciliations,
  incompleteUploadJobKind,
  type ReconciliationsDeps,
} from './reconciliations.ts';

export type ReconciliationModuleDeps = Pick<ReconciliationsDeps, 'requireLink'> & {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'uuid'>;
  readonly jobs: Jobs;
  readonly audit: Pick<AuditRecorder, 'record'>;
};

/** @example const reconciliations = createReconciliationModule(deps); reconciliations.register(app); */
export function createReconciliationModule(deps: ReconciliationModuleDeps): {
  register(app: FastifyInstance): void;
} {
  const store = createReconciliationStore(deps.database);
  const reconciliations = createReconciliations({ ...deps, store });
  deps.jobs.handle(
    compareFileJobKind,
    postponeJobDuringRebuild(deps, createCompareFileJob({ ...deps, store })),
  );
  deps.jobs.handle(incompleteUploadJobKind, reconciliations.failIncompleteUpload);
  return { register: (app) => registerReconciliationRoutes(app, reconciliations) };
}
