// Sends a stored sale to the acquirer and stores the outcome.
import { defined } from '@switchyard/contract';
import {
  type AcquirerOutcome,
  isAmbiguousDecline,
  isDuplicateDecline,
} from '../../acquiring/index.ts';
import type { Log, Span } from '../../platform/index.ts';
import type { RecentTransactions } from '../repository/transaction-repository.ts';
import {
  commitTransition,
  retryWhileUnavailable,
  updateWithRetry,
} from '../repository/update-with-retry.ts';
import { type ReversalInput, reversalTransition } from '../reversals/create-reversal.ts';
import { type LateResponsePorts, recordSupersededOutcome } from '../reversals/late-response.ts';
import { logNotSent } from '../runtime/message-reference-and-unknown-outcome.ts';
import { settlementDayForContext } from '../transaction/settlement-and-expiry.ts';
import { type ConfirmDeadlinePorts, createConfirmDeadline } from '../transaction/time-limits.ts';
import type { TransactionRecord } from '../transaction/transaction.ts';
import type { Transition } from '../transaction/transition.ts';
import { type FailoverPorts, sendWithFailover } from './acquirer-failover.ts';
import type { SaleIntent } from './create-sale-intent.ts';

export type AuthorizePorts = FailoverPorts &
  ConfirmDeadlinePorts &
  LateResponsePorts & {
    log: Pick<Log, 'debug'>;
    /** Absent when this process publishes no transaction events. */
    recentTransactions?: Pick<RecentTransactions, 'add'> | undefined;
  };

/** @returns the transaction with its outcome */
export async function authorizeSale(
  ports: AuthorizePorts,
  initialIntent: SaleIntent,
  span?: Span,
): Promise<TransactionRecord> {
  ports.failPoints.hit('after-intent');
  const { intent, outcome } = await sendWithFailover(ports, initialIntent, span);
  const { transactionId, deadline } = intent.transaction.row;
  logNotSent(ports, outcome, { transactionId }, span);
  return updateWithRetry(ports.transactions, intent.transaction, async (current) => {
    if (current.row.position.phase !== 'Received') {
      return recordSupersededOutcome(ports, current, outcome);
    }
    const at = ports.clock.now();
    const decision = decideSaleOutcome(ports, intent, outcome, at);
    const transition =
      'type' in decision ? decision : await reversalTransition(ports, current, decision);
    // Retries until the deadline, so that a database restart does not lose an approval.
    const transaction = await retryWhileUnavailable(ports, deadline, () =>
      commitTransition(ports.transactions, current, transition, span),
    );
    if (transaction === undefined) return undefined;
    ports.inFlightTransactions.notifyChange(transactionId);
    ports.recentTransactions?.add(transaction);
    return transaction;
  });
}

/** @returns the transition, or the reversal when the sale is not approved and may have been authorised */
function decideSaleOutcome(
  ports: ConfirmDeadlinePorts,
  { request, context, transaction }: SaleIntent,
  outcome: AcquirerOutcome,
  at: number,
): Transition | ReversalInput {
  switch (outcome.outcome) {
    case 'Approved': {
      const { amount, responseCode, authorizationCode } = outcome;
      const response = { code: responseCode };
      if (amount < request.amount && !context.partialApproval) {
        const details = { approvedAtHost: true } as const;
        const issuer = issuerData(outcome);
        return { at, reason: 'PartialApproval', response, authorizationCode, issuer, details };
      }
      const { transactionId } = transaction.row;
      const confirmation = createConfirmDeadline(ports, context, { transactionId, at });
      const isCaptured = context.kind === 'Sale';
      return {
        at,
        type: isCaptured ? 'transaction.captured' : 'transaction.authorized',
        changes: {
          phase: confirmation ? 'AwaitingConfirmation' : 'Approved',
          authorized: amount,
          ...defined({ captured: isCaptured ? amount : undefined }),
        },
        ...defined({ job: confirmation?.job }),
        data: {
          amount,
          response,
          ...defined({
            // A capture belongs to the settlement day of the store.
            settlementDate: isCaptured ? settlementDayForContext(context, at).date : undefined,
            confirmBy: confirmation?.confirmBy,
            authorizationCode,
          }),
          ...issuerData(outcome),
        },
      };
    }
    case 'Declined': {
      const response = { code: outcome.responseCode };
      const issuer = issuerData(outcome);
      if (isAmbiguousDecline(outcome)) {
        const reason = isDuplicateDecline(outcome) ? 'Duplicate' : 'Undecided';
        return { at, reason, response, issuer };
      }
      const data = { response, ...issuer };
      return { at, type: 'transaction.declined', changes: { phase: 'Declined' }, data };
    }
    case 'NotSent': {
      const data = { reason: 'AcquirerUnavailable' };
      return { at, type: 'transaction.failed', changes: { phase: 'Failed' }, data };
    }
    case 'Unknown':
      return { at, reason: outcome.reason };
  }
}

type IssuerData = Pick<
  AcquirerOutcome & { outcome: 'Approved' },
  'issuerData' | 'addressResult' | 'acquirerData' | 'retrievalReference'
>;

const issuerData = ({ addressResult: avsResultCode, ...data }: IssuerData) => {
  const { issuerData, acquirerData, retrievalReference } = data;
  return defined({ issuerData, avsResultCode, acquirerData, retrievalReference });
};
