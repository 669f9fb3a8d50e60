// The door to the card payments: sale, capture, refund, cancel, status, and what they leave to do.
import type { FastifyInstance } from 'fastify';
import type { LateAnswer } from '../acquiring/index.ts';
import type { Database, Jobs } from '../platform/index.ts';
import type { Provisioning } from '../provisioning/index.ts';
import { createApprovalStore } from './approvals/approval-code-sql.ts';
import { createApprovals } from './approvals/check-approval-code.ts';
import { createCodes } from './approvals/manage-approval-codes.ts';
import { createBatchStore } from './batch-capture/batch-sql.ts';
import { captureAllJob, captureLinkJob, createCaptureWork } from './batch-capture/batch-worker.ts';
import { createDataUseSweep, createDataUses } from './card-input/ksn-sql.ts';
import { createPinCounters } from './card-input/pin-ksn-sql.ts';
import { createTerminalClock } from './card-input/terminal-clock-check.ts';
import { clearingJob, createClearingWork } from './clearing/apply-acknowledgement.ts';
import {
  createClearingFiles,
  createClearingSweep,
  measureFiles,
} from './clearing/clearing-files.ts';
import { createClearingStore } from './clearing/clearing-sql.ts';
import type { PaymentsDeps } from './deps.ts';
import { registerLinks } from './http/acquirer-link-routes.ts';
import { registerApprovalCodes } from './http/approval-code-routes.ts';
import { registerClearing } from './http/clearing-routes.ts';
import { registerPaymentRoutes } from './http/routes.ts';
import { createGapTeller, gapJob } from './offline/missing-sequence-numbers.ts';
import { createOfflineStore } from './offline/offline-sql.ts';
import { createOfflineSender, offlineJob } from './offline/submit-offline-sale.ts';
import { confirmJob, createConfirmDeadlines } from './operations/confirm-sale.ts';
import { createExpiry } from './recovery/expire-authorizations.ts';
import { createLanes, measureLanes } from './recovery/link-queue.ts';
import { createRecovery } from './recovery/recover-after-crash.ts';
import { createRepeats } from './recovery/retry-operations.ts';
import { unfinishedLinks } from './repository/links-in-use.ts';
import { createReroutes } from './repository/reroute-sql.ts';
import { createStore } from './repository/transaction-repository.ts';
import { repeatJob } from './reversals/create-reversal.ts';
import { recordLateAnswer } from './reversals/late-response.ts';
import { createRunning } from './runtime/in-flight-transactions.ts';
import { createStepUps } from './sale/step-up.ts';

export { createRecentSales, type RecentSales } from './repository/recent-transactions.ts';
export * from './repository/reporting-queries.ts';
export { settlementDayOf } from './transaction/contract-terms.ts';
export { settlementDayAt } from './transaction/settlement-date.ts';
export { responseOf } from './transaction/terminal-action.ts';
export {
  factsOf,
  type LoadedTransaction,
  outcomeEventOf,
  outcomeOf,
  type SaleFacts,
  type StoredEvent,
} from './transaction/transaction.ts';
export { paymentEvents } from './webhook-payloads.ts';

export type Payments = {
  register(app: FastifyInstance): void;
  /** Begins to end what crashed processes left, and what is due. */
  start(): void;
  /** How full the queues of writes are, 0 to 1. */
  pressure(): number;
  /** The acquirer links, of any status, that something is left to finish on. */
  unfinishedLinks(): Promise<string[]>;
  /** Records an answer that came after its request was given up. */
  lateAnswer(late: LateAnswer): void;
  /** Answers the readers that wait for a change, so that they do not hold up a stop. */
  endWaits(): void;
  /** Ends the sweep and waits for what runs, so that outcomes are durable before the links close. */
  stop(): Promise<void>;
};

type Counts = 'dataUses' | 'pinCounters' | 'stepUps' | 'terminalClock' | 'offline';
/** What the room makes itself, and what it is given in another shape. */
type Own = 'store' | 'reroutes' | 'running' | 'jobs' | 'approvals' | 'provisioning' | Counts;

/** Of each kind that is short and that money waits for: reversals, deadlines, advices. */
const shortMost = 64;
/** Links of batches that are worked at once: one of them may take an hour. */
const linksMost = 16;

type Deps = Omit<PaymentsDeps, Own> & {
  database: Database;
  jobs: Jobs;
  provisioning: Provisioning;
};

/**
 * Builds the payments room.
 *
 * @example const payments = createPayments({ database, acquiring, provisioning, vault, jobs, … });
 */
export function createPayments({ database, jobs, audit, ...rest }: Deps): Payments {
  const approvalParts = {
    ...rest,
    store: createApprovalStore(database),
    markOf: (organizationId: string, code: string) =>
      rest.vault.digest(`approval|${organizationId}|${code}`),
  };
  const deps = {
    ...rest,
    audit,
    jobs,
    store: createStore({ database, ids: rest.ids, clock: rest.clock }),
    reroutes: createReroutes({ database, ids: rest.ids }),
    running: createRunning(),
    pinCounters: createPinCounters({ database, clock: rest.clock }),
    dataUses: createDataUses({ database, clock: rest.clock }),
    stepUps: createStepUps({ database, clock: rest.clock }),
    terminalClock: createTerminalClock(rest),
    offline: createOfflineStore({ database, jobs }),
    batches: createBatchStore({ database, ids: rest.ids }),
    clearing: createClearingStore({ database, ids: rest.ids }),
    approvals: createApprovals(approvalParts),
  };
  const codes = createCodes({ ...approvalParts, database, audit });
  const recovery = createRecovery(deps);
  const lanes = createLanes({ database });
  measureLanes(lanes, deps);
  jobs.handle(repeatJob, createRepeats(deps, lanes), { most: shortMost });
  jobs.handle(confirmJob, createConfirmDeadlines(deps), { most: shortMost });
  jobs.handle(offlineJob, createOfflineSender(deps, lanes), { most: shortMost });
  jobs.handle(gapJob, createGapTeller(deps));
  const captures = createCaptureWork(deps);
  jobs.handle(captureAllJob, captures.sort);
  jobs.handle(captureLinkJob, captures.link, { most: linksMost });
  jobs.handle(clearingJob, createClearingWork(deps));
  const files = createClearingFiles(deps);
  measureFiles(deps);
  const sweeps = [
    recovery,
    createExpiry(deps),
    createClearingSweep(files, deps),
    createDataUseSweep(deps),
  ];
  return {
    register(app) {
      registerPaymentRoutes(app, deps);
      registerLinks(app, { ...deps, lanes });
      registerApprovalCodes(app, codes);
      registerClearing(app, files);
    },
    start() {
      for (const sweep of sweeps) sweep.start();
    },
    pressure: deps.store.pressure,
    unfinishedLinks: () => unfinishedLinks(database),
    lateAnswer: (late) => recordLateAnswer(deps, late),
    endWaits: deps.running.stop,
    async stop() {
      await Promise.all(sweeps.map((sweep) => sweep.stop()));
      await deps.running.idle();
      await deps.store.drain();
    },
  };
}
