// Operations on an existing transaction: capture, refund, cancel, reversal.
import type { OperationAnswer, Transaction } from '@switchyard/contract';
import { type OpenValue, passOnReason } from '@switchyard/nexo';
import { type ServiceContext, ServiceError } from '../context/service-context.ts';
import { receiptsOf } from '../payments/receipts.ts';
import type { PlatformAnswer } from '../platform/payments-api.ts';
import type { PendingOperation } from '../storage/terminal-store.ts';

/** The result of an operation. */
export type FollowUpOperationResult = {
  readonly transaction: Transaction;
  readonly operation: OperationAnswer['operation'];
};

/** Undefined while the operation is pending: the platform completes it by itself, and has its receipt only then. */
export function finalReceiptsOf({ transaction, operation }: FollowUpOperationResult) {
  return operation?.status === 'Pending' ? undefined : receiptsOf(transaction);
}
type OperationAmount = { readonly amount?: number; readonly currency?: string };

/** Number of quick attempts; later attempts are slower. */
const quickTries = 10;
const slowFactor = 5;
/**
 * Statuses that are about the operation itself: the platform did not perform it. 404 is not conclusive: the terminal
 * may belong to another merchant now.
 */
const conclusiveStatuses: readonly number[] = [409, 422];
const notFound = 404;
const faultsFrom = 500;

const conditions: Readonly<Record<string, OpenValue<'ErrorCondition'>>> = {
  transaction_not_found: 'NotFound',
  permission_denied: 'UnavailableService',
};

/** Whether an answer is conclusive although an earlier attempt may have performed the operation. */
function isConclusive(answer: PlatformAnswer): boolean {
  if (answer.outcome === 'Answered') return true;
  if (answer.outcome !== 'Refused' || answer.isRetryable === true) return false;
  // A server error that is a rejection confirms that the operation is not performed.
  return conclusiveStatuses.includes(answer.status) || answer.status >= faultsFrom;
}

/**
 * Repeats an attempt whose answer was lost: with the same identifier it is the same operation. It repeats until the
 * outcome is known, because a till that gets a failure would request the operation again.
 *
 * @throws PowerLostError where the terminal loses its power; it continues after the restart
 */
async function requestUntilKnown(
  { platform, sleep, times, runtime, power, emit }: ServiceContext,
  { id, verb, body }: PendingOperation,
  wasSentBefore: boolean,
): Promise<Exclude<PlatformAnswer, { outcome: 'Unknown' }>> {
  const powerLoss = power();
  let mayBeDone = wasSentBefore;
  for (let tries = 1; ; tries += 1) {
    const answer = runtime.isReachable
      ? await platform.operate(id, verb, body)
      : ({ outcome: 'NotSent' } as const);
    powerLoss.throwIfAborted();
    mayBeDone ||= answer.outcome === 'Unknown';
    if (answer.outcome !== 'Unknown' && (!mayBeDone || isConclusive(answer))) return answer;
    if (tries === quickTries)
      emit({ type: 'Fault', fault: `${verb}: the platform does not report the outcome` });
    await sleep(tries < quickTries ? times.enquiryMs : times.enquiryMs * slowFactor, powerLoss);
  }
}

async function undoVerb(
  { platform, runtime }: ServiceContext,
  id: string,
): Promise<'refund' | 'cancel' | undefined> {
  return runtime.isReachable ? platform.findUndoOperation(id) : undefined;
}

/**
 * Checks that the original exists before the operation, so that a later 404 does not mean that nothing was done.
 *
 * @throws ServiceError
 */
export async function requireOriginal(
  { platform, runtime }: ServiceContext,
  id: string,
): Promise<void> {
  const answer = runtime.isReachable ? await platform.findTransaction(id) : undefined;
  if (answer?.outcome === 'Answered') return;
  if (answer?.outcome !== 'Refused') {
    throw new ServiceError('UnreachableHost', 'original_lookup_failed', id);
  }
  // A terminal without permission to read may still have permission to refund.
  if (answer.status === notFound) throw new ServiceError('NotFound', passOnReason(answer.code), id);
}

/** The request data that a restart needs. */
type ServiceReference = Pick<PendingOperation, 'header' | 'saleData' | 'type'>;

/**
 * Performs an operation. It is stored first: after a restart the terminal repeats it with the same identifier.
 *
 * @param verb - `takeBack` refunds what was captured and cancels what was not; `reverse` undoes a sale that
 *   went wrong
 * @throws ServiceError where the operation was not performed
 */
export async function runOperation(
  context: ServiceContext,
  {
    id,
    verb,
    service,
  }: {
    id: string;
    verb: 'capture' | 'refund' | 'takeBack' | 'reverse';
    service: ServiceReference;
  },
  terms: OperationAmount = {},
): Promise<FollowUpOperationResult> {
  const { store, serialNumber, now } = context;
  const powerLoss = context.power();
  const number = store.read().transactions + 1;
  const chosen = verb === 'takeBack' ? ((await undoVerb(context, id)) ?? 'cancel') : verb;
  powerLoss.throwIfAborted();
  const reasons = {
    cancel: { cancelReason: 'Functional' },
    reverse: { cancelReason: 'Technical', reversalReason: 'Timeout' },
    capture: {},
    refund: {},
  };
  const clientOperationId = `${serialNumber}-${now().toString(36)}-${number}`;
  const operation: PendingOperation = {
    ...service,
    id,
    verb: chosen === 'reverse' ? 'cancel' : chosen,
    body: { ...terms, ...reasons[chosen], clientOperationId },
  };
  store.update({ transactions: number, operation });
  return completeOperation(context, operation, { wasSent: false });
}

/**
 * Sends an operation until its outcome is known.
 *
 * @param how - `wasSentBefore`: the terminal may have sent it before a restart
 * @throws ServiceError where the operation was not performed
 */
export async function completeOperation(
  context: ServiceContext,
  pending: PendingOperation,
  { wasSent: wasSentBefore }: { readonly wasSent: boolean },
): Promise<FollowUpOperationResult> {
  const { id } = pending;
  const answer = await requestUntilKnown(context, pending, wasSentBefore);
  if (answer.outcome === 'Refused') {
    throw new ServiceError(conditions[answer.code] ?? 'NotAllowed', passOnReason(answer.code), id);
  }
  if (answer.outcome !== 'Answered') {
    throw new ServiceError('UnreachableHost', 'not_sent', id);
  }
  const { operation, ...transaction } = answer.transaction;
  const status = operation?.status ?? 'Succeeded';
  if (status === 'Declined' || status === 'Failed') {
    throw new ServiceError('Refusal', passOnReason(operation?.response?.reason ?? status), id);
  }
  // The platform completes a pending operation by itself, so it counts as done.
  return { transaction, operation };
}
