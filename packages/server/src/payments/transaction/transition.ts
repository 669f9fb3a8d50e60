// Applies a transition to a transaction: amounts, event and state. Adds what a void or a clearing file changes.
import { defined } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import { settlementDayForContext } from './settlement-and-expiry.ts';
import {
  applyPositionChanges,
  deriveState,
  type OperationType,
  type PositionChanges,
} from './state-machine.ts';
import {
  authorizationContext,
  type ClearingEntry,
  type EventData,
  type JobRequest,
  type StoredOperation,
  saleOutcome,
  type TransactionChange,
  type TransactionRecord,
  type TransactionRow,
} from './transaction.ts';

export type Transition = {
  /** Epoch ms. */
  at: number;
  type: string;
  changes: PositionChanges;
  data?: Omit<EventData, 'state' | 'changes' | 'operation'>;
  operation?: StoredOperation;
  job?: JobRequest;
  clearing?: ClearingEntry;
};

/** The update checks the version on which the decision was made. */
export function applyTransition(before: TransactionRow, transition: Transition): TransactionChange {
  const position = applyPositionChanges(before.position, transition.changes);
  const state = deriveState(position);
  const version = before.version + 1;
  const at = isoTime(transition.at);
  const { operation, job, clearing, changes } = transition;
  const data: EventData = { ...transition.data, state, changes };
  if (operation !== undefined) {
    const { operationId, operationNumber, kind, status } = operation;
    data.operation = { operationId, number: operationNumber, kind, status };
  }
  return {
    before,
    after: {
      ...before,
      position,
      state,
      version,
      operationCount: Math.max(before.operationCount, operation?.operationNumber ?? 0),
      updatedAt: at,
    },
    event: { sequence: version, type: transition.type, at, data },
    ...defined({ operation, job, clearing }),
  };
}

/** The transaction after a committed change, without a new read. */
export function withChange(
  transaction: TransactionRecord,
  change: TransactionChange,
): TransactionRecord {
  const { operation } = change;
  const otherOperations = transaction.operations.filter(
    (each) => each.operationNumber !== operation?.operationNumber,
  );
  return {
    row: change.after,
    events: [...transaction.events, change.event],
    operations: operation === undefined ? otherOperations : [...otherOperations, operation],
  };
}

/** Finishes the void or the reversal in the commit of its reservation. */
export function voidUnsubmittedSale({ job: _job, ...transition }: Transition): Transition {
  const { operation } = transition;
  if (operation === undefined) throw new Error('the void of an offline sale has no operation');
  const isReversal = operation.kind === 'Reversal';
  return {
    ...transition,
    type: isReversal ? 'transaction.reversed' : 'transaction.cancelled',
    changes: { phase: isReversal ? 'Reversed' : 'Cancelled' },
    operation: { ...operation, status: 'Succeeded' },
  };
}

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
