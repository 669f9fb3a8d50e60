// Interface of the payments module.
import type { FastifyInstance } from 'fastify';
import type { Acquiring, LateResponse } from '../acquiring/index.ts';
import type { AuditRecorder } from '../audit/index.ts';
import type {
  Clock,
  Database,
  DueClock,
  FailPoints,
  Ids,
  Jobs,
  Log,
  Metrics,
  Numbering,
} from '../platform/index.ts';
import type { Provisioning } from '../provisioning/index.ts';
import type { Hsm, Vault } from '../vault/index.ts';
import { createApprovalStore } from './approvals/approval-code-sql.ts';
import { createApprovalChecker } from './approvals/check-approval-code.ts';
import { createApprovalCodeManager } from './approvals/manage-approval-codes.ts';
import { createBatchStore } from './batch-capture/batch-sql.ts';
import {
  batchCaptureContractJob,
  batchCaptureJob,
  createBatchWorker,
} from './batch-capture/batch-worker.ts';
import { createKsnCleanup, createKsnStore, createPinKsnStore } from './card-input/ksn-sql.ts';
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
import { registerLinkRoutes } from './http/acquirer-link-routes.ts';
import { registerApprovalCodes } from './http/approval-code-routes.ts';
import { registerBatchCaptureRoutes } from './http/batch-capture-routes.ts';
import { registerClearingRoutes } from './http/clearing-routes.ts';
import {
  registerConfirmRoute,
  registerOperationRoutes,
  registerWebOperationRoutes,
} from './http/operation-routes.ts';
import { registerSaleRoute } from './http/sale-route.ts';
import { registerOfflineRoutes, registerReadRoutes } from './http/status-routes.ts';
import { createGapReporter, gapReportJob } from './offline/missing-sequence-numbers.ts';
import { createOfflineStore } from './offline/offline-sale-sql.ts';
import { createOfflineSubmission, submitOfflineSaleJob } from './offline/submit-offline-sale.ts';
import { createConfirmDeadlineHandler } from './operations/confirm-sale.ts';
import { createAuthorizationExpiry } from './recovery/expire-authorizations.ts';
import { createCrashRecovery } from './recovery/recover-after-crash.ts';
import { createOperationRetry } from './recovery/send-pending-operations.ts';
import {
  createTransactionRepository,
  type RecentTransactions,
} from './repository/transaction-repository.ts';
import { retryOperationJob } from './reversals/create-reversal.ts';
import { recordLateResponse } from './reversals/late-response.ts';
import { createInFlightTransactions } from './runtime/in-flight-transactions.ts';
import { createLinkQueue, registerBacklogGauges } from './runtime/link-backlog.ts';
import { createPaymentMetrics } from './runtime/payment-metrics.ts';
import { createRetryDriver } from './runtime/send-queued-message.ts';
import { createStepUpStore } from './sale/step-up.ts';
import { confirmDeadlineJob } from './transaction/time-limits.ts';
import { createTerminalClockCheck } from './validation/check-sale-terms.ts';

export * from './reporting-queries.ts';
export {
  createRecentTransactions,
  type RecentTransactions,
} from './repository/transaction-repository.ts';
export {
  settlementDayForContext,
  settlementDayForTime,
} from './transaction/settlement-and-expiry.ts';
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

/** For each kind of job that delays money: reversals, confirm deadlines, offline sales. */
const shortJobOptions = { maxConcurrent: 64 };
/** Concurrent capture batches. One batch may take an hour. */
const maxContractJobs = 16;

type Ports = {
  database: Database;
  jobs: Jobs;
  provisioning: Provisioning;
  acquiring: Acquiring;
  vault: Vault;
  hsm: Hsm;
  audit: Pick<AuditRecorder, 'record'>;
  clock: Clock;
  /** Due times are compared with this clock. */
  dueClock: DueClock;
  ids: Ids;
  log: Log;
  metrics: Metrics;
  failPoints: FailPoints;
  numbering: Numbering;
  /** Absent when this process publishes no transaction events. */
  recentTransactions?: RecentTransactions | undefined;
  /** Time limit for a response of the acquirer, in ms. */
  acquirerTimeoutMs: number;
};

/** @example const payments = createPayments({ database, acquiring, provisioning, vault, jobs, … }); */
export function createPayments(ports: Ports) {
  const { database, jobs, vault, ids, clock, numbering } = ports;
  const approvalPorts = {
    ...ports,
    store: createApprovalStore(database),
    hashCode: (organizationId: string, code: string) =>
      vault.computeDigest(`approval|${organizationId}|${code}`),
  };
  const parts = {
    ...ports,
    transactions: createTransactionRepository({ database, ids, clock, numbering }),
    inFlightTransactions: createInFlightTransactions(),
    pinKsnStore: createPinKsnStore({ database, clock }),
    ksnStore: createKsnStore({ database, clock }),
    stepUpStore: createStepUpStore({ database, clock }),
    terminalClock: createTerminalClockCheck(ports),
    offlineStore: createOfflineStore({ database, jobs }),
    batches: createBatchStore({ database, ids }),
    clearing: createClearingStore({ database, ids }),
    approvals: createApprovalChecker(approvalPorts),
    linkQueue: createLinkQueue({ database }),
    paymentMetrics: createPaymentMetrics(ports),
  };
  registerBacklogGauges(parts.linkQueue, parts);
  const operationRetry = createRetryDriver(parts, createOperationRetry(parts));
  const offlineSubmission = createRetryDriver(parts, createOfflineSubmission(parts));
  jobs.handle(retryOperationJob, operationRetry, shortJobOptions);
  jobs.handle(confirmDeadlineJob, createConfirmDeadlineHandler(parts), shortJobOptions);
  jobs.handle(submitOfflineSaleJob, offlineSubmission, shortJobOptions);
  jobs.handle(gapReportJob, createGapReporter(parts));
  const batchWorker = createBatchWorker(parts);
  jobs.handle(batchCaptureJob, batchWorker.startContractJobs);
  jobs.handle(batchCaptureContractJob, batchWorker.captureContractItems, {
    maxConcurrent: maxContractJobs,
  });
  jobs.handle(applyAcknowledgementJob, createAcknowledgementHandler(parts));
  registerClearingGauges(parts);
  const pollers = [
    createCrashRecovery(parts),
    createAuthorizationExpiry(parts),
    createClearingTask(parts),
  ];
  return {
    cleanupJob: createKsnCleanup(parts.ksnStore),
    register(app: FastifyInstance): void {
      registerSaleRoute(app, parts);
      registerOperationRoutes(app, parts);
      registerConfirmRoute(app, parts);
      registerWebOperationRoutes(app, parts);
      registerReadRoutes(app, parts);
      registerBatchCaptureRoutes(app, parts);
      registerOfflineRoutes(app, parts);
      registerLinkRoutes(app, parts);
      registerApprovalCodes(app, createApprovalCodeManager(approvalPorts));
      registerClearingRoutes(app, createClearingFiles(parts));
    },
    start(): void {
      for (const poller of pollers) poller.start();
    },
    queueUtilization: parts.transactions.queueUtilization,
    /** True while this process captures items of a batch. */
    isCapturingBatch: batchWorker.isCapturing,
    /** Acquirer links of any status with an unfinished sale or operation. */
    findLinksInUse: parts.transactions.findLinksInUse,
    /** Records a response that arrived after the time-out of its request. */
    recordLateResponse: (lateResponse: LateResponse) => recordLateResponse(parts, lateResponse),
    /** Ends all long polls, so that they do not delay a shutdown. */
    stopWaitingReaders: parts.inFlightTransactions.stop,
    /** Waits for work in progress, so that outcomes are stored before the links close. */
    async stop(): Promise<void> {
      await Promise.all(pollers.map((poller) => poller.stop()));
      await parts.inFlightTransactions.waitForIdle();
      await parts.transactions.flush();
    },
  };
}

export type Payments = ReturnType<typeof createPayments>;
