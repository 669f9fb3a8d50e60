// The outcome of a sale at the platform, and the status requests where it is unknown.
import type { Transaction } from '@switchyard/contract';
import type { OpenValue } from '@switchyard/nexo';
import type { ServiceContext } from '../context/service-context.ts';
import type { PlatformAnswer } from '../platform/payments-api.ts';
import type { PendingReversal } from '../storage/terminal-store.ts';

/** The outcome of a sale. `Unreachable`: the platform does not answer, and the terminal must reverse the sale. */
export type SaleOutcome =
  | { readonly kind: 'Found'; readonly transaction: Transaction }
  | { readonly kind: 'NotTaken'; readonly code: string }
  | { readonly kind: 'Unreachable' };

/** Only this code means that the sale is unknown; a 404 of a proxy does not. */
const notFound = 'transaction_not_found';
const enquiriesMax = 40;
const enquiriesUnanswered = 5;
const unfinished: readonly string[] = ['Received', 'Stored'];

type SentSale = Pick<PendingReversal, 'clientTransactionId' | 'until' | 'merchant'>;

/** Whether the sale is unknown to the platform. A terminal of another merchant does not see earlier sales. */
export function isUnknownToPlatform(
  answer: PlatformAnswer,
  { merchant }: Pick<SentSale, 'merchant'>,
): boolean {
  if (answer.outcome !== 'Refused' || answer.code !== notFound) return false;
  return merchant === undefined || answer.merchant === merchant;
}

/**
 * Requests the status of a sale until the platform reports it, or does not answer any more.
 *
 * @throws PowerLostError where the terminal loses its power; it continues after the restart
 */
export async function findSaleOutcome(
  context: ServiceContext,
  sale: SentSale,
): Promise<SaleOutcome> {
  const { platform, sleep, times, now, runtime, power } = context;
  const powerLoss = power();
  let unanswered = 0;
  for (
    let enquiries = 0;
    enquiries < enquiriesMax && unanswered < enquiriesUnanswered;
    enquiries += 1
  ) {
    const answer: PlatformAnswer = runtime.isReachable
      ? await platform.findTransaction(sale.clientTransactionId)
      : { outcome: 'NotSent' };
    powerLoss.throwIfAborted();
    if (answer.outcome === 'Answered' && !unfinished.includes(answer.transaction.state)) {
      return { kind: 'Found', transaction: answer.transaction };
    }
    const isNotFound = isUnknownToPlatform(answer, sale);
    // The sale may still arrive until the platform no longer accepts it.
    if (isNotFound && now() > sale.until) return { kind: 'NotTaken', code: notFound };
    unanswered = answer.outcome === 'Answered' || isNotFound ? 0 : unanswered + 1;
    await sleep(times.enquiryMs, powerLoss);
  }
  return { kind: 'Unreachable' };
}

/** The outcome of a sale that was just sent. */
export async function resolveSaleOutcome(
  context: ServiceContext,
  answer: PlatformAnswer,
  sale: SentSale,
): Promise<SaleOutcome> {
  if (answer.outcome === 'NotSent') return { kind: 'NotTaken', code: 'not_sent' };
  if (answer.outcome === 'Refused') return { kind: 'NotTaken', code: answer.code };
  if (answer.outcome !== 'Answered') return findSaleOutcome(context, sale);
  if (unfinished.includes(answer.transaction.state)) return findSaleOutcome(context, sale);
  return { kind: 'Found', transaction: answer.transaction };
}

const cardReasons: readonly string[] = ['InvalidCardNumber', 'ExpiredCard', 'RestrictedCard'];
const pinReasons: readonly string[] = ['InvalidPin', 'PinTriesExceeded'];

/** The ErrorCondition of a sale that was not approved. */
export function errorConditionOf({ response }: Transaction): OpenValue<'ErrorCondition'> {
  const reason = response?.reason ?? '';
  if (pinReasons.includes(reason)) return 'WrongPIN';
  if (cardReasons.includes(reason)) return 'InvalidCard';
  const isSilent = response?.category === 'Unknown' && response.code === undefined;
  if (response === undefined || isSilent || response.category === 'TechnicalFailure') {
    return 'UnreachableHost';
  }
  return 'Refusal';
}

/** The ErrorCondition of a sale that the platform did not accept. */
export function refusalConditionOf(code: string): OpenValue<'ErrorCondition'> {
  const isFromOutside = ['not_sent', 'too_late', notFound].includes(code);
  return isFromOutside ? 'UnreachableHost' : 'NotAllowed';
}
