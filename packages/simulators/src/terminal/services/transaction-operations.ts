// Operations on a transaction that stands: captures, refunds, and taking back whatever way is open.
import type { OperationAnswer, Transaction } from '@switchyard/contract';
import { type OpenValue, passOnReason } from '@switchyard/nexo';
import { type ServiceContext, ServiceError } from '../context/service-context.ts';
import type { PlatformAnswer } from '../platform/payments-api.ts';
import type { PendingOperation } from '../storage/terminal-store.ts';

/** How an operation ended. */
export type OperationResult = {
  readonly transaction: Transaction;
  readonly operation: OperationAnswer['operation'];
};
type OperationAmount = { readonly amount?: number; readonly currency?: string };

/** So many tries come quickly; who then still does not know asks on, slowly. */
const quickTries = 10;
const slowFactor = 5;
/**
 * The platform has looked at the operation itself, and knows of none that it has taken on. Where it does not find
 * the original it has looked at nothing: the terminal may have come to another merchant meanwhile.
 */
const conclusiveStatuses: readonly number[] = [409, 422];
const notFound = 404;
const faultsFrom = 500;

const conditions: Readonly<Record<string, OpenValue<'ErrorCondition'>>> = {
  transaction_not_found: 'NotFound',
  permission_denied: 'UnavailableService',
};

/** Whether it says how the operation ended, where an earlier try may have had it done. */
function isConclusive(answer: PlatformAnswer): boolean {
  if (answer.outcome === 'Answered') return true;
  if (answer.outcome !== 'Refused' || answer.isRetryable === true) return false;
  // A fault that is a refusal says of itself that nothing was done, and that nothing will be.
  return conclusiveStatuses.includes(answer.status) || answer.status >= faultsFrom;
}

/**
 * A try whose answer was lost is made again: under the same identifier it is the same operation. What may
 * have been done is asked for until the platform tells: whoever heard a failure would do it once more.
 *
 * @throws PowerFault where the terminal goes off meanwhile; it asks on after its start
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
    if (tries === quickTries) emit({ type: 'Fault', fault: `${verb}: nobody tells how it ended` });
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
 * Nothing is begun on what is not there: only then does `ask` know that what it does not find was there.
 *
 * @throws ServiceFault
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
  // Who may not look may still be allowed to give back.
  if (answer.status === notFound) throw new ServiceError('NotFound', passOnReason(answer.code), id);
}

/** The request that it is done for, as far as a restart has to know it. */
type ServiceReference = Pick<PendingOperation, 'header' | 'saleData' | 'type'>;

/**
 * Does an operation. It is written down first: after a restart it is asked again, and is the same one.
 *
 * @param verb - `takeBack` refunds what was captured and cancels what was not; `reverse` undoes a sale that
 *   went wrong
 * @throws ServiceFault where it was not done
 */
export async function runOperation(
  context: ServiceContext,
  {
    id,
    verb,
    of,
  }: { id: string; verb: 'capture' | 'refund' | 'takeBack' | 'reverse'; of: ServiceReference },
  terms: OperationAmount = {},
): Promise<OperationResult> {
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
    ...of,
    id,
    verb: chosen === 'reverse' ? 'cancel' : chosen,
    body: { ...terms, ...reasons[chosen], clientOperationId },
  };
  store.update({ transactions: number, operation });
  return completeOperation(context, operation, { wasAsked: false });
}

/**
 * How an operation ended.
 *
 * @param how - `wasAsked`: an earlier start may have had it done
 * @throws ServiceFault where it was not done
 */
export async function completeOperation(
  context: ServiceContext,
  pending: PendingOperation,
  { wasAsked: wasSentBefore }: { readonly wasAsked: boolean },
): Promise<OperationResult> {
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
  // What is pending is the platform's to bring to its end: it was taken on for good.
  return { transaction, operation };
}
