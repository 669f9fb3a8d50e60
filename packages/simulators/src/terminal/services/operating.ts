// Operations on a transaction that stands: captures, refunds, and taking back whatever way is open.
import type { OperationAnswer, Transaction } from '@switchyard/contract';
import type { OpenValue } from '@switchyard/nexo';
import type { PendingOperation } from '../memory.ts';
import type { Asked } from '../platform.ts';
import { type Inside, ServiceFault } from '../work.ts';

/** How an operation ended. */
export type Done = {
  readonly transaction: Transaction;
  readonly operation: OperationAnswer['operation'];
};
type Terms = { readonly amount?: number; readonly currency?: string };

const enquiriesMax = 10;

const conditions: Readonly<Record<string, OpenValue<'ErrorCondition'>>> = {
  transaction_not_found: 'NotFound',
  permission_denied: 'UnavailableService',
};

/** A try whose answer was lost is made again: under the same identifier it is the same operation. */
async function ask(
  { platform, sleep, times, moment }: Inside,
  id: string,
  verb: 'capture' | 'refund' | 'cancel',
  body: Readonly<Record<string, unknown>>,
): Promise<Asked> {
  let asked: Asked = { outcome: 'NotSent' };
  for (let tries = 0; tries < enquiriesMax; tries += 1) {
    asked = moment.isReachable ? await platform.operate(id, verb, body) : { outcome: 'NotSent' };
    if (asked.outcome !== 'Unknown') break;
    await sleep(times.enquiry);
  }
  return asked;
}

async function verbFor(
  { platform, moment }: Inside,
  id: string,
): Promise<'refund' | 'cancel' | undefined> {
  return moment.isReachable ? platform.takesBack(id) : undefined;
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
  const number = keeper.read().transactions + 1;
  const chosen = verb === 'takeBack' ? ((await verbFor(inside, id)) ?? 'cancel') : verb;
  const reasons = {
    cancel: { cancelReason: 'Functional' },
    reverse: { cancelReason: 'Technical', reversalReason: 'Timeout' },
    capture: {},
    refund: {},
  };
  const clientOperationId = `${serialNumber}-${now().toString(36)}-${number}`;
  const operation: PendingOperation = {
    ...{ ...of, id, verb: chosen === 'reverse' ? 'cancel' : chosen },
    body: { ...terms, ...reasons[chosen], clientOperationId },
  };
  keeper.keep({ transactions: number, operation });
  return outcomeOf(inside, operation);
}

/** @throws ServiceFault where it was not done */
export async function outcomeOf(
  inside: Inside,
  { id, verb, body }: PendingOperation,
): Promise<Done> {
  const asked = await ask(inside, id, verb, body);
  if (asked.outcome === 'Refused') {
    throw new ServiceFault(conditions[asked.code] ?? 'NotAllowed', asked.code, id);
  }
  if (asked.outcome !== 'Answered') {
    throw new ServiceFault('UnreachableHost', 'its outcome is not known', id);
  }
  const { operation, ...transaction } = asked.transaction;
  const status = operation?.status ?? 'Succeeded';
  if (status === 'Declined' || status === 'Failed') {
    throw new ServiceFault('Refusal', operation?.response?.reason ?? status, id);
  }
  // What is pending is the platform's to bring to its end: it was taken on for good.
  return { transaction, operation };
}
