// What is durable of a capture, refund or cancel before the acquirer is asked: its amount is reserved.
import { defined } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import { graceMs, type PaymentsDeps } from '../deps.ts';
import { nextReferenceFor, reversalStep } from '../reversals/create-reversal.ts';
import { type Changes, openAmount, type Verb } from '../transaction/state-machine.ts';
import type {
  LoadedTransaction,
  OperationDetails,
  StoredOperation,
} from '../transaction/transaction.ts';
import type { Step } from '../transaction/transition.ts';
import { operationOf } from '../validation/validate-sale-request.ts';
import { requestOf } from './operation-idempotency.ts';
import type { OperationCall } from './run-operation.ts';

type DecidedOperation = { amount: number; final: boolean; approvalCodeId: string | undefined };

const reserved: Readonly<Record<Exclude<Verb, 'Reverse'>, keyof Changes>> = {
  Capture: 'captureReserved',
  Cancel: 'cancelReserved',
  Refund: 'refundReserved',
};

/** The step that reserves what was decided. */
export async function firstStep(
  deps: PaymentsDeps,
  loaded: LoadedTransaction,
  verb: Verb,
  call: OperationCall,
  decision: DecidedOperation & { queued: boolean; waits: boolean },
): Promise<Step> {
  const at = deps.clock.now();
  const details = detailsOf(loaded, verb, call, decision);
  if (verb === 'Reverse') {
    const step = await reversalStep(deps, loaded, {
      at,
      amount: decision.amount,
      reason: call.reversalReason ?? 'Technical',
      clientOperationId: call.clientOperationId,
      details,
      // A sale that still runs at the host is reversed only once its time is over.
      ...(decision.queued ? { notBefore: endOfSending(deps, loaded, at) } : {}),
    });
    if (decision.waits || step.operation === undefined) return step;
    const { job: _job, ...withoutJob } = step;
    return { ...withoutJob, operation: { ...step.operation, status: 'Sent' } };
  }
  const iso = isoTime(at);
  const operation: StoredOperation = {
    number: loaded.row.operationCount + 1,
    operationId: deps.ids.uuid(),
    kind: operationOf[verb],
    status: 'Sent',
    amount: decision.amount,
    clientOperationId: call.clientOperationId,
    details: {
      ...details,
      reference: await nextReferenceFor(deps, loaded, verb === 'Cancel' ? 'Reversal' : verb),
    },
    deadline: at + deps.acquirerTimeoutMs + graceMs,
    createdAt: iso,
    updatedAt: iso,
  };
  return {
    at,
    type: `transaction.${verb.toLowerCase()}_pending`,
    changes: reservedBy(verb, decision.amount, details.released),
    data: { amount: decision.amount, ...defined({ actor: call.actor }) },
    operation,
  };
}

/** When nothing of a running sale can be on its way any more; an offline one is sent at any time. */
function endOfSending(deps: PaymentsDeps, { row }: LoadedTransaction, at: number): number {
  const isOffline = row.position.phase === 'Sending';
  return isOffline ? at + deps.acquirerTimeoutMs + graceMs : row.deadline;
}

function reservedBy(
  verb: Exclude<Verb, 'Reverse'>,
  amount: number,
  released: number | undefined,
): Changes {
  const changes = { [reserved[verb]]: amount };
  return released === undefined ? changes : { ...changes, cancelReserved: released };
}

function detailsOf(
  loaded: LoadedTransaction,
  verb: Verb,
  call: OperationCall,
  decision: DecidedOperation,
): Omit<OperationDetails, 'reference'> {
  const { authorized, cancelled } = loaded.row.position;
  const released = Math.max(0, openAmount(loaded.row.position) - decision.amount);
  // DE95 names what stays of the whole authorisation, captured or not.
  const rest = authorized - cancelled - decision.amount;
  return {
    request: requestOf(call),
    ...defined({ actor: call.actor, approvalCodeId: decision.approvalCodeId }),
    ...(decision.final ? { final: true, ...(released > 0 ? { released } : {}) } : {}),
    ...defined({
      cancelReason: call.cancelReason,
      reversalReason: call.reversalReason,
      chipData: call.chipData,
    }),
    ...(verb === 'Cancel' && rest > 0 ? { remainingAmount: rest } : {}),
  };
}
