// Sends a stored sale to the acquirer and stores the outcome.
import { defined, type ProcessRequest } from '@switchyard/contract';
import {
  type AcquirerOutcome,
  isAmbiguousDecline,
  isDuplicateDecline,
} from '../../acquiring/index.ts';
import type { AcquirerContract } from '../../provisioning/index.ts';
import type { PresentedCard } from '../card-input/read-card.ts';
import type { PaymentsDeps } from '../deps.ts';
import { reversalTransition } from '../reversals/create-reversal.ts';
import { logNotSent } from '../reversals/reconciliation-alerts.ts';
import { recordSupersededOutcome } from '../reversals/superseded-outcome.ts';
import { retryWhileUnavailable } from '../runtime/retry-while-database-down.ts';
import { createConfirmDeadline } from '../transaction/confirm-deadline.ts';
import { settlementDayForContext } from '../transaction/contract-terms.ts';
import type {
  AuthorizationContext,
  TransactionChange,
  TransactionRecord,
} from '../transaction/transaction.ts';
import { applyTransition, type Transition, withChange } from '../transaction/transition.ts';
import { avsData } from '../validation/validate-sale-request.ts';
import { sendWithFailover } from './acquirer-failover.ts';

/** A stored sale that is not sent yet, with its card data in memory only. */
export type SaleIntent = {
  request: ProcessRequest;
  card: PresentedCard;
  transaction: TransactionRecord;
  context: AuthorizationContext;
  /** Contracts for failover when nothing was sent. */
  failoverContracts?: readonly AcquirerContract[];
};

/** Changes that may come between an intent and its outcome, such as late answers. */
const maxConflictRetries = 10;

/** @returns the transaction with what became of it */
export async function authorizeSale(
  deps: PaymentsDeps,
  initialIntent: SaleIntent,
): Promise<TransactionRecord> {
  deps.failPoints.hit('after-intent');
  const { organizationId, transactionId, deadline } = initialIntent.transaction.row;
  // A paused process must not send a sale that another process has already reversed.
  const isPastSendDeadline = deps.clock.now() > deadline - deps.acquirerTimeoutMs;
  const { intent, outcome } = isPastSendDeadline
    ? {
        intent: initialIntent,
        outcome: { outcome: 'NotSent', reason: 'send deadline has passed' } as const,
      }
    : await sendWithFailover(deps, initialIntent, (each, onSent) =>
        sendToAcquirer(deps, each, onSent),
      );
  logNotSent(deps, outcome, { transactionId });
  let current = intent.transaction;
  for (let attempt = 0; attempt < maxConflictRetries; attempt += 1) {
    if (current.row.position.phase !== 'Received')
      return recordSupersededOutcome(deps, current, outcome);
    const transition = await outcomeTransition(deps, { ...intent, transaction: current }, outcome);
    const change = applyTransition(current.row, transition);
    if (await updateBeforeDeadline(deps, change)) {
      deps.inFlightTransactions.notifyChange(transactionId);
      const transaction = withChange(current, change);
      deps.recentTransactions?.add(transaction);
      return transaction;
    }
    const reloaded = await deps.transactions.findById(organizationId, transactionId);
    if (reloaded === undefined) throw new Error('the stored intent does not exist');
    current = reloaded;
  }
  throw new Error('the outcome could not be stored after all retries');
}

// Retries until the deadline, so that a database restart does not lose an approval.
const updateBeforeDeadline = (deps: PaymentsDeps, change: TransactionChange): Promise<boolean> =>
  retryWhileUnavailable(deps, change.before.deadline, () => deps.transactions.update(change));

function sendToAcquirer(
  deps: PaymentsDeps,
  intent: SaleIntent,
  onSent: () => void,
): Promise<AcquirerOutcome> {
  const { request, card, context, transaction } = intent;
  const addressCheck = avsData(request);
  return deps.acquiring.send(
    {
      kind: context.kind,
      repeat: false,
      organizationId: transaction.row.organizationId,
      transactionId: transaction.row.transactionId,
      linkId: context.linkId,
      reference: context.reference,
      merchantNumber: context.merchantNumber,
      mcc: context.mcc,
      amount: request.amount,
      currency: request.currency,
      entryMode: request.entryMode,
      card: { pan: card.pan, expiry: card.expiry },
      ...defined({
        sensitive: card.sensitive,
        panSequence: card.panSequenceNumber,
        chipData: card.chipData,
        isRemoteOrder: request.orderChannel === undefined ? undefined : true,
        addressCheck,
        amounts: context.amounts,
      }),
    },
    () => {
      onSent();
      deps.failPoints.hit('after-send');
    },
  );
}

/** What is captured with the sale belongs to the store's day. */
function settlementMembers(context: AuthorizationContext, at: number): { settlementDate?: string } {
  return context.kind === 'Sale'
    ? { settlementDate: settlementDayForContext(context, at).date }
    : {};
}

function issuerResponseMembers(outcome: { issuerData?: string; addressResult?: string }) {
  const { issuerData, addressResult } = outcome;
  return defined({ issuerData, addressResult });
}

/** Transition for an acquirer outcome. An unknown outcome is reversed. */
async function outcomeTransition(
  deps: PaymentsDeps,
  intent: SaleIntent,
  outcome: AcquirerOutcome,
): Promise<Transition> {
  const at = deps.clock.now();
  switch (outcome.outcome) {
    case 'Approved': {
      const { amount, responseCode, authorizationCode } = outcome;
      if (amount < intent.request.amount && !intent.context.partialApproval) {
        return reversalTransition(deps, intent.transaction, {
          at,
          reason: 'PartialApproval',
          response: { code: responseCode },
          authorizationCode,
          details: { approvedAtHost: true },
        });
      }
      const captured = intent.context.kind === 'Sale' ? { captured: amount } : {};
      const { transactionId } = intent.transaction.row;
      const confirmation = createConfirmDeadline(deps.ids, intent.context, { transactionId, at });
      return {
        at,
        type: intent.context.kind === 'Sale' ? 'transaction.captured' : 'transaction.authorized',
        changes: {
          phase: confirmation ? 'Unconfirmed' : 'Approved',
          authorized: amount,
          ...captured,
        },
        ...defined({ job: confirmation?.job }),
        data: {
          amount,
          ...settlementMembers(intent.context, at),
          response: { code: responseCode },
          ...defined({ confirmBy: confirmation?.confirmBy, authorizationCode }),
          ...issuerResponseMembers(outcome),
        },
      };
    }
    case 'Declined':
      if (isAmbiguousDecline(outcome)) {
        return reversalTransition(deps, intent.transaction, {
          at,
          reason: isDuplicateDecline(outcome) ? 'Duplicate' : 'Undecided',
          response: { code: outcome.responseCode },
          issuer: issuerResponseMembers(outcome),
        });
      }
      return {
        at,
        type: 'transaction.declined',
        changes: { phase: 'Declined' },
        data: {
          response: { code: outcome.responseCode },
          ...issuerResponseMembers(outcome),
        },
      };
    case 'NotSent':
      return {
        at,
        type: 'transaction.failed',
        changes: { phase: 'Failed' },
        data: { reason: 'AcquirerUnavailable' },
      };
    default:
      return reversalTransition(deps, intent.transaction, { at, reason: outcome.reason });
  }
}
