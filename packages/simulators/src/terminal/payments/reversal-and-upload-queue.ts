// The queue of reversals and offline sales that the platform has not confirmed.

import type { ServiceContext, ServiceError } from '../context/service-context.ts';
import { errorEvent } from '../context/terminal-events.ts';
import type { PlatformAnswer } from '../platform/payments-api.ts';
import type { OfflineSale, PendingReversal, TerminalStore } from '../storage/terminal-store.ts';
import { isUnknownToPlatform } from './sale-outcome.ts';

const minuteMs = 60_000;
const hourMs = 3_600_000;
/** With these codes nothing of the sale is held or captured; every other rejection leaves the customer charged. */
const nothingLeft: readonly string[] = [
  'already_cancelled',
  'already_refunded',
  'not_captured',
  'nothing_to_cancel',
  'transaction_declined',
  'transaction_failed',
  'transaction_reversed',
];

/** With these codes the sale cannot be reversed, but may be refunded. */
const refundable: readonly string[] = ['already_captured', 'authorization_expired'];

/** `NotNow`: the platform is not reachable. `Later`: it is, but the item must wait. */
type SendResult =
  | { readonly ended: 'Done' | 'NotNow' | 'Later' }
  | { readonly ended: 'Refused'; readonly code: string; readonly isSpent?: boolean };

/** A declined or unsent refund never succeeds under its identifier. */
function refundResult(
  answer: PlatformAnswer,
): PlatformAnswer | (SendResult & { ended: 'Refused' }) {
  if (answer.outcome === 'Refused' && answer.code === 'not_sent') {
    return { ended: 'Refused', code: answer.code, isSpent: true };
  }
  if (answer.outcome !== 'Answered') return answer;
  const status = answer.transaction.operation?.status;
  if (status !== 'Declined' && status !== 'Failed') return answer;
  return { ended: 'Refused', code: `refund ${status}`, isSpent: true };
}

/** Reverses a sale, or refunds it where it is already captured. */
async function undoSale(
  { platform }: ServiceContext,
  { clientTransactionId, reason, spent = 0 }: PendingReversal,
): Promise<PlatformAnswer | (SendResult & { ended: 'Refused' })> {
  const answer = await platform.operate(clientTransactionId, 'cancel', {
    cancelReason: 'Technical',
    reversalReason: reason,
    clientOperationId: `${clientTransactionId}-reversal`,
  });
  const mayBeCaptured = answer.outcome === 'Refused' && refundable.includes(answer.code);
  if (!mayBeCaptured) return answer;
  const clientOperationId = `${clientTransactionId}-refund${spent === 0 ? '' : `-${spent}`}`;
  return refundResult(await platform.operate(clientTransactionId, 'refund', { clientOperationId }));
}

/** Sends a reversal and interprets the answer. */
async function sendReversal(
  context: ServiceContext,
  reversal: PendingReversal,
): Promise<SendResult> {
  const answer = await undoSale(context, reversal);
  if ('ended' in answer) return answer;
  if (answer.outcome === 'Answered') return { ended: 'Done' };
  if (answer.outcome !== 'Refused') return { ended: 'NotNow' };
  if (answer.isRetryable === true) return { ended: 'Later' };
  // An unknown sale may still arrive for a while. An approved sale exists, though a terminal of another merchant
  // does not see it. After every other rejection the reversal is still due.
  if (reversal.reason === 'Timeout' && isUnknownToPlatform(answer, reversal)) {
    return { ended: context.now() > reversal.until ? 'Done' : 'Later' };
  }
  if (nothingLeft.includes(answer.code)) return { ended: 'Done' };
  return { ended: 'Refused', code: answer.code };
}

async function uploadOfflineSale(
  { platform }: ServiceContext,
  { body, merchant }: OfflineSale,
): Promise<SendResult> {
  if (merchant !== undefined) {
    // The platform books a sale for the merchant that has the terminal at the upload.
    const holder = await platform.merchant();
    if (holder === undefined) return { ended: 'NotNow' };
    if (holder !== merchant) return { ended: 'Refused', code: 'made for another merchant' };
  }
  const answer = await platform.processSale(body);
  if (answer.outcome === 'Answered') return { ended: 'Done' };
  if (answer.outcome !== 'Refused') return { ended: 'NotNow' };
  return answer.isRetryable === true ? { ended: 'Later' } : { ended: 'Refused', code: answer.code };
}

/** Schedules the next attempt: each pause is twice as long, up to an hour. */
function postpone<Of extends PendingReversal | OfflineSale>(
  { now, emit }: ServiceContext,
  item: Of,
  kind: string,
  code: string,
): Of {
  if (item.refused !== code) emit({ type: 'Fault', fault: `${kind}: ${code}` });
  const refusals = (item.refusals ?? 0) + 1;
  const againAt = now() + Math.min(minuteMs * 2 ** (refusals - 1), hourMs);
  return { ...item, refused: code, refusals, againAt };
}

/** One run at a time for each terminal, and at most one further run, which covers all later requests. */
const queueRuns = new WeakMap<TerminalStore, 'Running' | 'OnceMore'>();

/** Starts to send the due items, oldest first. The caller does not wait: this may take minutes. */
export function processQueue(context: ServiceContext): void {
  const { store } = context;
  if (queueRuns.has(store)) queueRuns.set(store, 'OnceMore');
  else void runQueue(context);
}

async function runQueue(context: ServiceContext): Promise<void> {
  const { store, emit } = context;
  try {
    do {
      queueRuns.set(store, 'Running');
      await processDueItems(context);
    } while (queueRuns.get(store) === 'OnceMore');
  } catch (error) {
    emit(errorEvent(error));
  } finally {
    queueRuns.delete(store);
  }
}

async function processDueItems(context: ServiceContext): Promise<void> {
  const { store, runtime, now } = context;
  if (!runtime.isReachable) return;
  const isDue = ({ againAt = 0 }: PendingReversal | OfflineSale) => againAt <= now();
  for (const reversal of store.read().reversals.filter(isDue)) {
    const result = await sendReversal(context, reversal);
    if (result.ended === 'NotNow') break;
    if (result.ended === 'Later') continue;
    const replacement =
      result.ended === 'Refused' ? [postponeReversal(context, reversal, result)] : [];
    const { clientTransactionId: id } = reversal;
    const reversals = store
      .read()
      .reversals.flatMap((each) => (each.clientTransactionId === id ? replacement : [each]));
    store.update({ reversals });
  }
  for (const sale of store.read().uploads.filter(isDue)) {
    const result = await uploadOfflineSale(context, sale);
    if (result.ended === 'NotNow') return;
    if (result.ended === 'Later') continue;
    const replacement =
      result.ended === 'Refused' ? [postpone(context, sale, 'offline sale', result.code)] : [];
    const uploads = store.read().uploads.flatMap((each) => (each === sale ? replacement : [each]));
    store.update({ uploads });
  }
}

function postponeReversal(
  context: ServiceContext,
  reversal: PendingReversal,
  { code, isSpent }: SendResult & { ended: 'Refused' },
): PendingReversal {
  const spent = (reversal.spent ?? 0) + (isSpent === true ? 1 : 0);
  return postpone(context, { ...reversal, spent }, 'reversal', code);
}

/**
 * Queues the reversal of a sale. The same line stores the failure for the till, so that the terminal does not request
 * the status again after a restart.
 */
export function queueReversal(
  context: ServiceContext,
  reversal: PendingReversal,
  { condition, additional }: ServiceError,
): void {
  const { store } = context;
  const { pending, reversals } = store.read();
  const isPending = pending?.clientTransactionId === reversal.clientTransactionId;
  store.update({
    reversals: [...reversals, reversal],
    ...(isPending
      ? { pending: { ...pending, givenBack: { condition, why: additional ?? '' } } }
      : {}),
  });
  processQueue(context);
}
