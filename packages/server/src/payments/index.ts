// The door to the card payments: sale, capture, refund, cancel, status, and what they leave to do.
import type { FastifyInstance } from 'fastify';
import type { LateAnswer } from '../acquiring/index.ts';
import type { Database, Jobs } from '../platform/index.ts';
import type { Provisioning } from '../provisioning/index.ts';
import {
  createApprovalStore,
  createApprovals,
  createCodes,
  registerApprovalCodes,
} from './approvals/index.ts';
import { createBatchStore } from './batch-store.ts';
import { captureAllJob, captureLinkJob, createCaptureWork } from './capture-work.ts';
import {
  clearingJob,
  createClearingFiles,
  createClearingStore,
  createClearingSweep,
  createClearingWork,
  measureFiles,
  registerClearing,
} from './clearing/index.ts';
import { confirmJob, createConfirmDeadlines } from './confirm.ts';
import { createDataUseSweep, createDataUses } from './data-uses.ts';
import type { PaymentsDeps } from './deps.ts';
import { recordLateAnswer } from './late-answer.ts';
import { createLanes, measureLanes } from './link-queue.ts';
import { registerLinks } from './link-routes.ts';
import {
  createGapTeller,
  createOfflineSender,
  createOfflineStore,
  gapJob,
  offlineJob,
} from './offline/index.ts';
import { createRepeats } from './pending.ts';
import { createPinCounters } from './pin-counters.ts';
import { createRecovery } from './recovery.ts';
import { createReroutes } from './reroutes.ts';
import { repeatJob } from './reversal.ts';
import { registerPaymentRoutes } from './routes.ts';
import { createRunning } from './running.ts';
import { createExpiry } from './settlement/index.ts';
import { createStepUps } from './step-up.ts';
import { createStore } from './store.ts';
import { createTerminalClock } from './terminal-clock.ts';
import { unfinishedLinks } from './unfinished.ts';

export { paymentEvents } from './events.ts';
export {
  factsOf,
  type LoadedTransaction,
  outcomeEventOf,
  outcomeOf,
  type SaleFacts,
  type StoredEvent,
} from './model.ts';
export { responseOf } from './next-action.ts';
export { createRecentSales, type RecentSales } from './recent.ts';
export * from './reported.ts';
export { settlementDayAt, settlementDayOf } from './settlement/index.ts';

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
