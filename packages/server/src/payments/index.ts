// Interface of the payments module.
import type { FastifyInstance } from 'fastify';
import type { LateResponse } from '../acquiring/index.ts';
import type { Database, Jobs } from '../platform/index.ts';
import type { Provisioning } from '../provisioning/index.ts';
import { createApprovalStore } from './approvals/approval-code-sql.ts';
import { createApprovalChecker } from './approvals/check-approval-code.ts';
import { createApprovalCodeManager } from './approvals/manage-approval-codes.ts';
import { createBatchStore } from './batch-capture/batch-sql.ts';
import {
  batchCaptureJob,
  batchCaptureLinkJob,
  createBatchWorker,
} from './batch-capture/batch-worker.ts';
import { createKsnCleanup, createKsnStore } from './card-input/ksn-sql.ts';
import { createPinKsnStore } from './card-input/pin-ksn-sql.ts';
import { createTerminalClockCheck } from './card-input/terminal-clock-check.ts';
import {
  applyAcknowledgementJob,
  createAcknowledgementHandler,
} from './clearing/apply-acknowledgement.ts';
import {
  createClearingFiles,
  createClearingTask,
  registerClearingGauges,
} from './clearing/clearing-files.ts';
import { createClearingStore } from './clearing/clearing-sql.ts';
import type { PaymentsDeps } from './deps.ts';
import { registerLinkRoutes } from './http/acquirer-link-routes.ts';
import { registerApprovalCodes } from './http/approval-code-routes.ts';
import { registerClearingRoutes } from './http/clearing-routes.ts';
import { registerPaymentRoutes } from './http/routes.ts';
import { createGapReporter, gapReportJob } from './offline/missing-sequence-numbers.ts';
import { createOfflineStore } from './offline/offline-sql.ts';
import { createOfflineSubmission, submitOfflineSaleJob } from './offline/submit-offline-sale.ts';
import { createConfirmDeadlineHandler } from './operations/confirm-sale.ts';
import { createAuthorizationExpiry } from './recovery/expire-authorizations.ts';
import { createCrashRecovery } from './recovery/recover-after-crash.ts';
import { createOperationRetry } from './recovery/retry-operations.ts';
import { findLinksInUse } from './repository/links-in-use.ts';
import { createRerouteStore } from './repository/reroute-sql.ts';
import { createTransactionRepository } from './repository/transaction-repository.ts';
import { retryOperationJob } from './reversals/create-reversal.ts';
import { recordLateResponse } from './reversals/late-response.ts';
import { createInFlightTransactions } from './runtime/in-flight-transactions.ts';
import { createLinkQueue, registerBacklogGauges } from './runtime/link-queue.ts';
import { createRetryDriver } from './runtime/retry-driver.ts';
import { createStepUpStore } from './sale/step-up-sql.ts';

import { confirmDeadlineJob } from './transaction/confirm-deadline.ts';

export * from './reporting-queries.ts';
export {
  createRecentTransactions,
  type RecentTransactions,
} from './repository/recent-transactions.ts';
export { settlementDayForContext } from './transaction/contract-terms.ts';
export { settlementDayForTime } from './transaction/settlement-date.ts';
export { saleResponse } from './transaction/terminal-action.ts';
export {
  type AuthorizationContext,
  authorizationContext,
  type StoredEvent,
  saleOutcome,
  saleOutcomeEvent,
  type TransactionRecord,
} from './transaction/transaction.ts';
export { paymentEvents } from './webhook-payloads.ts';

export type Payments = {
  register(app: FastifyInstance): void;
  /** Begins to end what crashed processes left, and what is due. */
  start(): void;
  /** How full the queues of writes are, 0 to 1. */
  queueUtilization(): number;
  /** The acquirer links, of any status, that something is left to finish on. */
  findLinksInUse(): Promise<string[]>;
  /** Records an answer that came after its request was given up. */
  recordLateResponse(lateResponse: LateResponse): void;
  /** Answers the readers that wait for a change, so that they do not hold up a stop. */
  stopWaitingReaders(): void;
  /** Ends the sweep and waits for what runs, so that outcomes are durable before the links close. */
  stop(): Promise<void>;
};

type StoreMembers = 'ksnStore' | 'pinKsnStore' | 'stepUpStore' | 'terminalClock' | 'offlineStore';
/** Dependencies that the module creates or receives in another form. */
type CreatedMembers =
  | 'transactions'
  | 'rerouteStore'
  | 'inFlightTransactions'
  | 'jobs'
  | 'approvals'
  | 'provisioning'
  | StoreMembers;

/** Of each kind that is short and that money waits for: reversals, deadlines, advices. */
const maxShortJobs = 64;
/** Links of batches that are worked at once: one of them may take an hour. */
const maxLinkJobs = 16;

type Deps = Omit<PaymentsDeps, CreatedMembers> & {
  database: Database;
  jobs: Jobs;
  provisioning: Provisioning;
};

/**
 * Creates the payments module.
 *
 * @example const payments = createPayments({ database, acquiring, provisioning, vault, jobs, … });
 */
export function createPayments({ database, jobs, audit, ...rest }: Deps): Payments {
  const approvalDeps = {
    ...rest,
    store: createApprovalStore(database),
    hashCode: (organizationId: string, code: string) =>
      rest.vault.digest(`approval|${organizationId}|${code}`),
  };
  const deps = {
    ...rest,
    audit,
    jobs,
    transactions: createTransactionRepository({ database, ids: rest.ids, clock: rest.clock }),
    rerouteStore: createRerouteStore({ database, ids: rest.ids }),
    inFlightTransactions: createInFlightTransactions(),
    pinKsnStore: createPinKsnStore({ database, clock: rest.clock }),
    ksnStore: createKsnStore({ database, clock: rest.clock }),
    stepUpStore: createStepUpStore({ database, clock: rest.clock }),
    terminalClock: createTerminalClockCheck(rest),
    offlineStore: createOfflineStore({ database, jobs }),
    batches: createBatchStore({ database, ids: rest.ids }),
    clearing: createClearingStore({ database, ids: rest.ids }),
    approvals: createApprovalChecker(approvalDeps),
  };
  const approvalCodes = createApprovalCodeManager({ ...approvalDeps, database, audit });
  const recovery = createCrashRecovery(deps);
  const linkQueue = createLinkQueue({ database });
  registerBacklogGauges(linkQueue, deps);
  const driverDeps = { ...deps, linkQueue };
  jobs.handle(retryOperationJob, createRetryDriver(driverDeps, createOperationRetry(deps)), {
    most: maxShortJobs,
  });
  jobs.handle(confirmDeadlineJob, createConfirmDeadlineHandler(deps), { most: maxShortJobs });
  jobs.handle(submitOfflineSaleJob, createRetryDriver(driverDeps, createOfflineSubmission(deps)), {
    most: maxShortJobs,
  });
  jobs.handle(gapReportJob, createGapReporter(deps));
  const batchWorker = createBatchWorker(deps);
  jobs.handle(batchCaptureJob, batchWorker.assignLinks);
  jobs.handle(batchCaptureLinkJob, batchWorker.captureLinkItems, { most: maxLinkJobs });
  jobs.handle(applyAcknowledgementJob, createAcknowledgementHandler(deps));
  const clearingFiles = createClearingFiles(deps);
  registerClearingGauges(deps);
  const periodicTasks = [
    recovery,
    createAuthorizationExpiry(deps),
    createClearingTask(clearingFiles, deps),
    createKsnCleanup(deps),
  ];
  return {
    register(app) {
      registerPaymentRoutes(app, deps);
      registerLinkRoutes(app, driverDeps);
      registerApprovalCodes(app, approvalCodes);
      registerClearingRoutes(app, clearingFiles);
    },
    start() {
      for (const sweep of periodicTasks) sweep.start();
    },
    queueUtilization: deps.transactions.queueUtilization,
    findLinksInUse: () => findLinksInUse(database),
    recordLateResponse: (lateResponse) => recordLateResponse(deps, lateResponse),
    stopWaitingReaders: deps.inFlightTransactions.stop,
    async stop() {
      await Promise.all(periodicTasks.map((sweep) => sweep.stop()));
      await deps.inFlightTransactions.idle();
      await deps.transactions.flush();
    },
  };
}
