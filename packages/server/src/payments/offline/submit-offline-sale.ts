// Submits offline sales as advices and retries with the same references until a final response arrives.
import { defined } from '@switchyard/contract';
import type { AcquirerOutcome } from '../../acquiring/index.ts';
import type { Span } from '../../platform/index.ts';
import type { Vault } from '../../vault/index.ts';
import { createStoredCardRequest, type SendPorts } from '../operations/send-operation.ts';
import { commitTransition, updateWithRetry } from '../repository/update-with-retry.ts';
import { type LateResponsePorts, recordSupersededOutcome } from '../reversals/late-response.ts';
import {
  classifyResponse,
  findRule,
  type OutcomeResult,
  offlineSaleOutcomeRules,
} from '../reversals/operation-outcome.ts';
import { alertReferenceCollision } from '../reversals/reconciliation-alerts.ts';
import type { RetrySteps, RetryTime } from '../runtime/send-queued-message.ts';
import { settlementDayForContext } from '../transaction/settlement-and-expiry.ts';
import { commitGraceMs } from '../transaction/time-limits.ts';
import { authorizationContext, type TransactionRecord } from '../transaction/transaction.ts';
import type { Transition } from '../transaction/transition.ts';
import type { OfflineStore } from './offline-sale-sql.ts';

export const submitOfflineSaleJob = 'payments.submit-offline-sale';

const sentEventType = 'transaction.sent';
/** Reason of the event that records a reference collision. */
const collisionReason = 'NumbersTaken';

export type OfflineSubmissionPorts = LateResponsePorts &
  SendPorts & {
    vault: Pick<Vault, 'decryptData'>;
    offlineStore: Pick<OfflineStore, 'chipData' | 'forgetChipData'>;
  };

type SubmittedSale = {
  transaction: TransactionRecord;
  /** An earlier copy of the advice may have been sent. */
  isRepeat: boolean;
  /** Epoch ms. */
  readAt: number;
};

/** @example createRetryDriver(ports, createOfflineSubmission(ports)) */
export function createOfflineSubmission(ports: OfflineSubmissionPorts): RetrySteps<SubmittedSale> {
  return {
    async load({ organizationId, payload }) {
      const { transactionId } = payload as { transactionId: string };
      const readAt = ports.clock.now();
      const stored = await ports.transactions.findById(organizationId, transactionId);
      const sale = stored && (await markSubmitted(ports, stored, readAt));
      if (sale !== undefined) {
        ports.failPoints.hit('after-intent');
        return sale;
      }
      await ports.offlineStore.forgetChipData(organizationId, transactionId);
      return 'Done';
    },
    send: (sale, onPossiblySent, span) => sendAdvice(ports, sale, onPossiblySent, span),
    async storeOutcome(sale, outcome, span) {
      const retryTime = await storeOutcome(ports, sale, outcome, span);
      const { organizationId, transactionId } = sale.transaction.row;
      if (retryTime === undefined)
        await ports.offlineStore.forgetChipData(organizationId, transactionId);
      return retryTime;
    },
    noResponseAlert: ({ transaction }) => [
      { transactionId: transaction.row.transactionId },
      'an offline sale has no response from the acquirer after many attempts',
    ],
  };
}

/**
 * Records the submission before the first byte is sent: then the sale cannot be voided without the acquirer.
 * Undefined if the sale was voided or decided.
 */
function markSubmitted(
  { transactions, clock }: OfflineSubmissionPorts,
  stored: TransactionRecord,
  readAt: number,
): Promise<SubmittedSale | undefined> {
  return updateWithRetry(transactions, stored, async (current) => {
    const { phase } = current.row.position;
    if (phase === 'Submitted') return { sale: { transaction: current, isRepeat: true, readAt } };
    if (phase !== 'Stored') return { sale: undefined };
    const transaction = await commitTransition(transactions, current, {
      at: clock.now(),
      type: sentEventType,
      changes: { phase: 'Submitted' },
    });
    return transaction && { sale: { transaction, isRepeat: false, readAt } };
  }).then(({ sale }) => sale);
}

async function sendAdvice(
  ports: OfflineSubmissionPorts,
  { transaction, isRepeat, readAt }: SubmittedSale,
  onPossiblySent: () => void,
  span: Span | undefined,
): Promise<AcquirerOutcome> {
  const { organizationId, transactionId } = transaction.row;
  const { offline, amounts, panSequenceNumber } = authorizationContext(transaction);
  const request = await createStoredCardRequest(ports, transaction, { purpose: 'OfflineSale' });
  if (offline === undefined) throw new Error('the stored sale has no offline data');
  const encryptedChipData = await ports.offlineStore.chipData(organizationId, transactionId);
  const chipData =
    encryptedChipData &&
    (await ports.vault.decryptData(organizationId, transactionId, encryptedChipData)).toString();
  // A paused process must not send a sale that another process has voided since the read.
  if (ports.clock.now() > readAt + commitGraceMs)
    return { outcome: 'NotSent', reason: 'send deadline has passed' };
  return ports.acquiring.send(
    {
      ...request,
      kind: 'OfflineSale',
      repeat: isRepeat,
      authorizationCode: offline.authorizationCode,
      authorizedAt: offline.authorizedAt,
      ...defined({ panSequence: panSequenceNumber, chipData, amounts }),
    },
    () => {
      onPossiblySent();
      ports.failPoints.hit('after-send');
    },
    span,
  );
}

const hasReferenceCollision = ({ events }: TransactionRecord): boolean =>
  events.some(({ type, data }) => type === sentEventType && data.reason === collisionReason);

/** Stores the outcome. @returns when to send again; undefined if the sale is decided */
async function storeOutcome(
  ports: OfflineSubmissionPorts,
  { transaction: submitted, isRepeat }: SubmittedSale,
  outcome: AcquirerOutcome,
  span: Span | undefined,
): Promise<RetryTime | undefined> {
  const { transactions } = ports;
  const { transactionId } = submitted.row;
  const response = classifyResponse(outcome);
  type Retry = { retry: RetryTime | undefined };
  const { retry } = await updateWithRetry<Retry>(
    transactions,
    submitted,
    async (current, conflicts) => {
      if (current.row.position.phase !== 'Submitted') {
        await recordSupersededOutcome(ports, current, outcome);
        return { retry: undefined };
      }
      const hasCollision = hasReferenceCollision(current);
      const { result } = findRule(offlineSaleOutcomeRules, { response, isRepeat, hasCollision });
      const transition = outcomeTransition(current, result, outcome, ports.clock.now());
      const retryResult = { retry: 'retry' in result ? result.retry : undefined };
      // Without an update nothing checks the version: a user may have reversed the sale.
      if (transition === undefined) return conflicts === 0 ? undefined : retryResult;
      if (!(await commitTransition(transactions, current, transition, span))) return undefined;
      ports.inFlightTransactions.notifyChange(transactionId);
      if (transition.type === sentEventType) alertReferenceCollision(ports, { transactionId });
      return retryResult;
    },
  );
  return retry;
}

function outcomeTransition(
  transaction: TransactionRecord,
  result: OutcomeResult,
  outcome: AcquirerOutcome,
  at: number,
): Transition | undefined {
  if (result.status === 'Pending') {
    if (!result.isCollision) return undefined;
    return { at, type: sentEventType, changes: {}, data: { reason: collisionReason } };
  }
  const response = 'responseCode' in outcome ? { code: outcome.responseCode } : {};
  const assigned =
    'responseCode' in outcome ? defined({ retrievalReference: outcome.retrievalReference }) : {};
  if (result.status !== 'Succeeded') {
    const data = { response, ...assigned };
    return { at, type: 'transaction.declined', changes: { phase: 'Declined' }, data };
  }
  const context = authorizationContext(transaction);
  const amount = outcome.outcome === 'Approved' ? outcome.amount : transaction.row.amount;
  return {
    at,
    type: 'transaction.captured',
    changes: { phase: 'Approved', authorized: amount, captured: amount },
    data: {
      amount,
      response,
      settlementDate: settlementDayForContext(context, at).date,
      ...defined({ authorizationCode: context.offline?.authorizationCode }),
      ...assigned,
    },
  };
}
