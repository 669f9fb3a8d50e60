// What became of a sale at the platform, in the words of the till; and finding out where it is not known.
import type { Transaction } from '@switchyard/contract';
import type { OpenValue } from '@switchyard/nexo';
import type { Inside } from '../context/service-context.ts';
import type { Asked } from '../platform/payments-api.ts';
import type { Reversal } from '../storage/terminal-store.ts';

/** What is known of a sale in the end. `Unreachable`: nobody tells, and it has to be reversed. */
export type Known =
  | { readonly kind: 'Told'; readonly transaction: Transaction }
  | { readonly kind: 'NotTaken'; readonly code: string }
  | { readonly kind: 'Unreachable' };

/** The platform's own word: a proxy's 404 says nothing of a sale. */
const notFound = 'transaction_not_found';
const enquiriesMax = 40;
const enquiriesUnanswered = 5;
const unfinished: readonly string[] = ['Received', 'Stored'];

type Sold = Pick<Reversal, 'clientTransactionId' | 'until' | 'merchant'>;

/** Whether the platform knows of no such sale. To another merchant's terminal it tells of none that was made before. */
export function isAbsent(asked: Asked, { merchant }: Pick<Sold, 'merchant'>): boolean {
  if (asked.outcome !== 'Refused' || asked.code !== notFound) return false;
  return merchant === undefined || asked.merchant === merchant;
}

/**
 * Asks what became of a sale until the platform tells, or does not answer any more.
 *
 * @throws PowerFault where the terminal goes off meanwhile; it asks on after its start
 */
export async function findOut(inside: Inside, of: Sold): Promise<Known> {
  const { platform, sleep, times, now, moment, power } = inside;
  const off = power();
  let silent = 0;
  for (let asked = 0; asked < enquiriesMax && silent < enquiriesUnanswered; asked += 1) {
    const answer: Asked = moment.isReachable
      ? await platform.find(of.clientTransactionId)
      : { outcome: 'NotSent' };
    off.throwIfAborted();
    if (answer.outcome === 'Answered' && !unfinished.includes(answer.transaction.state)) {
      return { kind: 'Told', transaction: answer.transaction };
    }
    const isNowhere = isAbsent(answer, of);
    // It may still be on its way until the platform would not take it any more.
    if (isNowhere && now() > of.until) return { kind: 'NotTaken', code: notFound };
    silent = answer.outcome === 'Answered' || isNowhere ? 0 : silent + 1;
    await sleep(times.enquiry, off);
  }
  return { kind: 'Unreachable' };
}

/** The outcome of what was just sent. */
export async function outcomeOf(inside: Inside, asked: Asked, of: Sold): Promise<Known> {
  if (asked.outcome === 'NotSent') return { kind: 'NotTaken', code: 'not_sent' };
  if (asked.outcome === 'Refused') return { kind: 'NotTaken', code: asked.code };
  if (asked.outcome !== 'Answered') return findOut(inside, of);
  if (unfinished.includes(asked.transaction.state)) return findOut(inside, of);
  return { kind: 'Told', transaction: asked.transaction };
}

const cardReasons: readonly string[] = ['InvalidCardNumber', 'ExpiredCard', 'RestrictedCard'];
const pinReasons: readonly string[] = ['InvalidPin', 'PinTriesExceeded'];

/** Why a sale that was not approved failed. */
export function conditionOf({ response }: Transaction): OpenValue<'ErrorCondition'> {
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
export function refusalOf(code: string): OpenValue<'ErrorCondition'> {
  const isFromOutside = ['not_sent', 'too_late', notFound].includes(code);
  return isFromOutside ? 'UnreachableHost' : 'NotAllowed';
}
