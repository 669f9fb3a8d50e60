// What became of a sale at the platform, in the words of the till; and finding out where it is not known.
import type { Transaction } from '@switchyard/contract';
import type { OpenValue } from '@switchyard/nexo';
import type { ServiceContext } from '../context/service-context.ts';
import type { PlatformAnswer } from '../platform/payments-api.ts';
import type { PendingReversal } from '../storage/terminal-store.ts';

/** What is known of a sale in the end. `Unreachable`: nobody tells, and it has to be reversed. */
export type SaleOutcome =
  | { readonly kind: 'Found'; readonly transaction: Transaction }
  | { readonly kind: 'NotTaken'; readonly code: string }
  | { readonly kind: 'Unreachable' };

/** The platform's own word: a proxy's 404 says nothing of a sale. */
const notFound = 'transaction_not_found';
const enquiriesMax = 40;
const enquiriesUnanswered = 5;
const unfinished: readonly string[] = ['Received', 'Stored'];

type SentSale = Pick<PendingReversal, 'clientTransactionId' | 'until' | 'merchant'>;

/** Whether the platform knows of no such sale. To another merchant's terminal it tells of none that was made before. */
export function isUnknownToPlatform(
  answer: PlatformAnswer,
  { merchant }: Pick<SentSale, 'merchant'>,
): boolean {
  if (answer.outcome !== 'Refused' || answer.code !== notFound) return false;
  return merchant === undefined || answer.merchant === merchant;
}

/**
 * Asks what became of a sale until the platform tells, or does not answer any more.
 *
 * @throws PowerFault where the terminal goes off meanwhile; it asks on after its start
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
    // It may still be on its way until the platform would not take it any more.
    if (isNotFound && now() > sale.until) return { kind: 'NotTaken', code: notFound };
    unanswered = answer.outcome === 'Answered' || isNotFound ? 0 : unanswered + 1;
    await sleep(times.enquiryMs, powerLoss);
  }
  return { kind: 'Unreachable' };
}

/** The outcome of what was just sent. */
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

/** Why a sale that was not approved failed. */
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

/** Why a sale was not taken. */
export function refusalConditionOf(code: string): OpenValue<'ErrorCondition'> {
  const isFromOutside = ['not_sent', 'too_late', notFound].includes(code);
  return isFromOutside ? 'UnreachableHost' : 'NotAllowed';
}
