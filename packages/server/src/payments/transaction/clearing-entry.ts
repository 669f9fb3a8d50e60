// Adds a capture to the next clearing file in the commit of its reservation. No message is sent.
import { isoTime } from '../../platform/index.ts';
import { settlementDayForContext } from './contract-terms.ts';
import type { OperationType } from './state-machine.ts';
import { authorizationContext, saleOutcome, type TransactionRecord } from './transaction.ts';
import type { Transition } from './transition.ts';

export function usesClearingFile(
  transaction: TransactionRecord,
  operationType: OperationType,
): boolean {
  return (
    operationType === 'Capture' && authorizationContext(transaction).captureTransport === 'File'
  );
}

/** The capture waits for the acknowledgement of its clearing file. */
export function clearingEntryTransition(
  transaction: TransactionRecord,
  transition: Transition,
): Transition {
  const context = authorizationContext(transaction);
  const { operation } = transition;
  if (operation === undefined) throw new Error('the transition of a capture has no operation');
  const { date, endsAt } = settlementDayForContext(context, transition.at);
  const { reference, final = false } = operation.details;
  return {
    ...transition,
    data: { ...transition.data, reason: 'ClearingFile', settlementDate: date },
    operation: {
      ...operation,
      status: 'Filed',
      details: { ...operation.details, settlementDate: date },
    },
    clearing: {
      linkId: context.linkId,
      settlementDate: date,
      dueAt: isoTime(endsAt),
      line: {
        settlementDate: date,
        merchantNumber: context.acquirerMerchantId,
        amount: operation.amount,
        currency: transaction.row.currency,
        final,
        reference,
        original: context.reference,
        authorizationCode: saleOutcome(transaction)?.authorizationCode ?? '',
        maskedNumber: context.card.maskedNumber,
      },
    },
  };
}
