// Adds a capture to the next clearing file in the commit of its reservation. No message is sent.
import { isoTime } from '../../platform/index.ts';
import { settlementDayForContext } from './contract-terms.ts';
import type { OperationType } from './state-machine.ts';
import { authorizationContext, saleOutcome, type TransactionRecord } from './transaction.ts';
import type { Transition } from './transition.ts';

export const usesClearingFile = (transaction: TransactionRecord, type: OperationType): boolean =>
  type === 'Capture' && authorizationContext(transaction).captureTransport === 'File';

export function clearingEntryTransition(
  transaction: TransactionRecord,
  transition: Transition,
): Transition {
  const context = authorizationContext(transaction);
  const { operation } = transition;
  if (operation === undefined) throw new Error('the transition of a capture has no operation');
  const { date: settlementDate, endsAt } = settlementDayForContext(context, transition.at);
  const { reference, final = false } = operation.details;
  return {
    ...transition,
    data: { ...transition.data, reason: 'ClearingFile', settlementDate },
    operation: { ...operation, status: 'Filed', details: { ...operation.details, settlementDate } },
    clearing: {
      linkId: context.linkId,
      settlementDate,
      dueAt: isoTime(endsAt),
      line: {
        settlementDate,
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
