// Reserves the amount of a capture, refund or cancellation before the acquirer is called.

import { defined } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { allocateMessageReference, reversalTransition } from '../reversals/create-reversal.ts';
import {
  type OperationType,
  type PositionChanges,
  remainingAuthorized,
} from '../transaction/state-machine.ts';
import { commitGraceMs } from '../transaction/timeouts.ts';
import type {
  OperationDetails,
  StoredOperation,
  TransactionRecord,
} from '../transaction/transaction.ts';
import type { Transition } from '../transaction/transition.ts';
import { operationFingerprint } from './operation-idempotency.ts';
import type { OperationInput } from './run-operation.ts';

type ReservedOperation = { amount: number; isFinal: boolean; approvalCodeId: string | undefined };

const reservedAmountField: Readonly<
  Record<Exclude<OperationType, 'Reversal'>, keyof PositionChanges>
> = {
  Capture: 'captureReserved',
  Cancel: 'cancelReserved',
  Refund: 'refundReserved',
};

/** The step that reserves what was decided. */
export async function reservationTransition(
  deps: PaymentsDeps,
  transaction: TransactionRecord,
  operationType: OperationType,
  input: OperationInput,
  decision: ReservedOperation & { isAfterOutcome: boolean; isDeferred: boolean },
): Promise<Transition> {
  const at = deps.clock.now();
  const details = createOperationDetails(transaction, operationType, input, decision);
  if (operationType === 'Reversal') {
    const transition = await reversalTransition(deps, transaction, {
      at,
      amount: decision.amount,
      reason: input.reversalReason ?? 'Technical',
      clientOperationId: input.clientOperationId,
      details,
      // A sale that still runs at the host is reversed only once its time is over.
      ...(decision.isAfterOutcome
        ? { notBefore: lastPossibleSendTime(deps, transaction, at) }
        : {}),
    });
    if (decision.isDeferred || transition.operation === undefined) return transition;
    const { job: _job, ...withoutJob } = transition;
    return { ...withoutJob, operation: { ...transition.operation, status: 'Sent' } };
  }
  const iso = isoTime(at);
  const operation: StoredOperation = {
    number: transaction.row.operationCount + 1,
    operationId: deps.ids.uuid(),
    kind: operationType,
    status: 'Sent',
    amount: decision.amount,
    clientOperationId: input.clientOperationId,
    details: {
      ...details,
      reference: await allocateMessageReference(
        deps,
        transaction,
        operationType === 'Cancel' ? 'Reversal' : operationType,
      ),
    },
    deadline: at + deps.acquirerTimeoutMs + commitGraceMs,
    createdAt: iso,
    updatedAt: iso,
  };
  return {
    at,
    type: `transaction.${operationType.toLowerCase()}_pending`,
    changes: reservationChanges(operationType, decision.amount, details.released),
    data: { amount: decision.amount, ...defined({ actor: input.actor }) },
    operation,
  };
}

/** When nothing of a running sale can be on its way any more; an offline one is sent at any time. */
function lastPossibleSendTime(deps: PaymentsDeps, { row }: TransactionRecord, at: number): number {
  const isOffline = row.position.phase === 'Sending';
  return isOffline ? at + deps.acquirerTimeoutMs + commitGraceMs : row.deadline;
}

function reservationChanges(
  operationType: Exclude<OperationType, 'Reversal'>,
  amount: number,
  released: number | undefined,
): PositionChanges {
  const changes = { [reservedAmountField[operationType]]: amount };
  return released === undefined ? changes : { ...changes, cancelReserved: released };
}

function createOperationDetails(
  transaction: TransactionRecord,
  operationType: OperationType,
  input: OperationInput,
  decision: ReservedOperation,
): Omit<OperationDetails, 'reference'> {
  const { authorized, cancelled } = transaction.row.position;
  const released = Math.max(0, remainingAuthorized(transaction.row.position) - decision.amount);
  // DE95 names what stays of the whole authorisation, captured or not.
  const remainingAmount = authorized - cancelled - decision.amount;
  return {
    request: operationFingerprint(input),
    ...defined({ actor: input.actor, approvalCodeId: decision.approvalCodeId }),
    ...(decision.isFinal ? { final: true, ...(released > 0 ? { released } : {}) } : {}),
    ...defined({
      cancelReason: input.cancelReason,
      reversalReason: input.reversalReason,
      chipData: input.chipData,
    }),
    ...(operationType === 'Cancel' && remainingAmount > 0
      ? { remainingAmount: remainingAmount }
      : {}),
  };
}
