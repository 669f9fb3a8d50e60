// Operations on a transaction that stands: captures, refunds, and taking back whatever way is open.
import type { OperationAnswer, Transaction } from '@switchyard/contract';
import { type OpenValue, passOnReason } from '@switchyard/nexo';
import { type Inside, ServiceFault } from '../context/service-context.ts';
import type { Asked } from '../platform/payments-api.ts';
import type { PendingOperation } from '../storage/terminal-store.ts';

/** How an operation ended. */
export type Done = {
  readonly transaction: Transaction;
  readonly operation: OperationAnswer['operation'];
};
type Terms = { readonly amount?: number; readonly currency?: string };

/** So many tries come quickly; who then still does not know asks on, slowly. */
const quickTries = 10;
const slower = 5;
/**
 * The platform has looked at the operation itself, and knows of none that it has taken on. Where it does not find
 * the original it has looked at nothing: the terminal may have come to another merchant meanwhile.
 */
const ofTheOperation: readonly number[] = [409, 422];
const notFound = 404;
const faultsFrom = 500;

const conditions: Readonly<Record<string, OpenValue<'ErrorCondition'>>> = {
  transaction_not_found: 'NotFound',
  permission_denied: 'UnavailableService',
};

/** Whether it says how the operation ended, where an earlier try may have had it done. */
function isTold(asked: Asked): boolean {
  if (asked.outcome === 'Answered') return true;
  if (asked.outcome !== 'Refused' || asked.isPassing === true) return false;
  // A fault that is a refusal says of itself that nothing was done, and that nothing will be.
  return ofTheOperation.includes(asked.status) || asked.status >= faultsFrom;
}

/**
 * A try whose answer was lost is made again: under the same identifier it is the same operation. What may
 * have been done is asked for until the platform tells: whoever heard a failure would do it once more.
 *
 * @throws PowerFault where the terminal goes off meanwhile; it asks on after its start
 */
async function ask(
  { platform, sleep, times, moment, power, tell }: Inside,
  { id, verb, body }: PendingOperation,
  wasAsked: boolean,
): Promise<Exclude<Asked, { outcome: 'Unknown' }>> {
  const off = power();
  let mayBeDone = wasAsked;
  for (let tries = 1; ; tries += 1) {
    const asked = moment.isReachable
      ? await platform.operate(id, verb, body)
      : ({ outcome: 'NotSent' } as const);
    off.throwIfAborted();
    mayBeDone ||= asked.outcome === 'Unknown';
    if (asked.outcome !== 'Unknown' && (!mayBeDone || isTold(asked))) return asked;
    if (tries === quickTries) tell({ type: 'Fault', fault: `${verb}: nobody tells how it ended` });
    await sleep(tries < quickTries ? times.enquiry : times.enquiry * slower, off);
  }
}

async function verbFor(
  { platform, moment }: Inside,
  id: string,
): Promise<'refund' | 'cancel' | undefined> {
  return moment.isReachable ? platform.takesBack(id) : undefined;
}

/**
 * Nothing is begun on what is not there: only then does `ask` know that what it does not find was there.
 *
 * @throws ServiceFault
 */
export async function demandFound({ platform, moment }: Inside, id: string): Promise<void> {
  const found = moment.isReachable ? await platform.find(id) : undefined;
  if (found?.outcome === 'Answered') return;
  if (found?.outcome !== 'Refused') {
    throw new ServiceFault('UnreachableHost', 'original_lookup_failed', id);
  }
  // Who may not look may still be allowed to give back.
  if (found.status === notFound) throw new ServiceFault('NotFound', passOnReason(found.code), id);
}

/** The request that it is done for, as far as a restart has to know it. */
type Of = Pick<PendingOperation, 'header' | 'saleData' | 'type'>;

/**
 * Does an operation. It is written down first: after a restart it is asked again, and is the same one.
 *
 * @param verb - `takeBack` refunds what was captured and cancels what was not; `reverse` undoes a sale that
 *   went wrong
 * @throws ServiceFault where it was not done
 */
export async function operate(
  inside: Inside,
  { id, verb, of }: { id: string; verb: 'capture' | 'refund' | 'takeBack' | 'reverse'; of: Of },
  terms: Terms = {},
): Promise<Done> {
  const { keeper, serialNumber, now } = inside;
  const off = inside.power();
  const number = keeper.read().transactions + 1;
  const chosen = verb === 'takeBack' ? ((await verbFor(inside, id)) ?? 'cancel') : verb;
  off.throwIfAborted();
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
  keeper.keep({ transactions: number, operation });
  return outcomeOf(inside, operation, { wasAsked: false });
}

/**
 * How an operation ended.
 *
 * @param how - `wasAsked`: an earlier start may have had it done
 * @throws ServiceFault where it was not done
 */
export async function outcomeOf(
  inside: Inside,
  pending: PendingOperation,
  { wasAsked }: { readonly wasAsked: boolean },
): Promise<Done> {
  const { id } = pending;
  const asked = await ask(inside, pending, wasAsked);
  if (asked.outcome === 'Refused') {
    throw new ServiceFault(conditions[asked.code] ?? 'NotAllowed', passOnReason(asked.code), id);
  }
  if (asked.outcome !== 'Answered') {
    throw new ServiceFault('UnreachableHost', 'not_sent', id);
  }
  const { operation, ...transaction } = asked.transaction;
  const status = operation?.status ?? 'Succeeded';
  if (status === 'Declined' || status === 'Failed') {
    throw new ServiceFault('Refusal', passOnReason(operation?.response?.reason ?? status), id);
  }
  // What is pending is the platform's to bring to its end: it was taken on for good.
  return { transaction, operation };
}
