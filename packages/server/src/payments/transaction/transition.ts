// Applies a transition to a transaction: amounts, event and state. Adds what a void or a clearing file changes.
import { defined } from '@switchyard/contract';
import { isoTime, type Span } from '../../platform/index.ts';
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

/** A transition that creates or changes an operation. */
export type OperationTransition = Transition & { operation: StoredOperation };

/**
 * The update checks the version on which the decision was made.
 *
 * @param span the cause of the change; its event and its job refer to it
 */
export function applyTransition(
  before: TransactionRow,
  transition: Transition,
  span?: Span,
): TransactionChange {
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
  if (span !== undefined) data.traceparent = span.traceparent;
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
    ...defined({ operation, job: job && withCause(job, span), clearing }),
  };
}

const withCause = (job: JobRequest, span: Span | undefined): JobRequest =>
  span === undefined ? job : { ...job, payload: { ...job.payload, traceparent: span.traceparent } };

/** The transaction after a committed change, without a new read. */
export function withChange(
  transaction: TransactionRecord,
  change: TransactionChange,
): TransactionRecord {
  const { operation } = change;
  const operations = transaction.operations.filter(
    (each) => each.operationNumber !== operation?.operationNumber,
  );
  if (operation !== undefined) operations.push(operation);
  return { row: change.after, events: [...transaction.events, change.event], operations };
}

/** Finishes the void or the reversal in the commit of its reservation. */
export function voidUnsubmittedSale({
  job: _job,
  ...transition
}: OperationTransition): OperationTransition {
  const isReversal = transition.operation.kind === 'Reversal';
  return {
    ...transition,
    type: isReversal ? 'transaction.reversed' : 'transaction.cancelled',
    changes: { phase: isReversal ? 'Reversed' : 'Cancelled' },
    operation: { ...transition.operation, status: 'Succeeded' },
  };
}

export const usesClearingFile = (transaction: TransactionRecord, type: OperationType): boolean =>
  type === 'Capture' && authorizationContext(transaction).captureTransport === 'File';

export function clearingEntryTransition(
  transaction: TransactionRecord,
  transition: OperationTransition,
): OperationTransition {
  const context = authorizationContext(transaction);
  const { operation } = transition;
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
