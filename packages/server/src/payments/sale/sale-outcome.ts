// Decides what an acquirer outcome makes of a sale. Pure.
import { defined } from '@switchyard/contract';
import {
  type AcquirerOutcome,
  isAmbiguousDecline,
  isDuplicateDecline,
} from '../../acquiring/index.ts';
import type { ReversalInput } from '../reversals/create-reversal.ts';
import { settlementDayForContext } from '../transaction/settlement-and-expiry.ts';
import { type ConfirmDeadlinePorts, createConfirmDeadline } from '../transaction/time-limits.ts';
import type { Transition } from '../transaction/transition.ts';
import type { SaleIntent } from './create-sale-intent.ts';

/** @returns the transition, or the reversal when the sale is not approved and may have been authorised */
export function decideSaleOutcome(
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
        return { at, reason: 'PartialApproval', response, authorizationCode, details };
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

type IssuerData = { issuerData?: string; addressResult?: string };

const issuerData = ({ issuerData, addressResult: avsResultCode }: IssuerData) =>
  defined({ issuerData, avsResultCode });
