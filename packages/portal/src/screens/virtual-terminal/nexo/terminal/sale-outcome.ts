/** What became of a sale at the platform, and finding out where it is not known. */
import type { Transaction } from '@switchyard/contract';
import { type OpenValue, passOnReason } from '@switchyard/nexo';
import type { PlatformAnswer } from './payment-api.ts';
import type { Inside } from './service-context.ts';
import { ServiceFault } from './service-error.ts';
import type { Owed } from './terminal-storage.ts';

/** What is known of a sale in the end. `Unreachable`: nobody tells, and it is taken back. */
export type SaleOutcome =
  | { readonly kind: 'Told'; readonly transaction: Transaction }
  | { readonly kind: 'NotTaken'; readonly code: string }
  | { readonly kind: 'Unreachable' };

type Sent = { readonly clientTransactionId: string; readonly until: number };

const notFound = 404;
const unansweredMost = 60;
const unfinished: readonly string[] = ['Received', 'Stored'];

/** Asks until the platform tells; a page without a network waits for it a good while. */
export async function findOut(inside: Inside, sent: Sent): Promise<SaleOutcome> {
  const { platform, pause, times, now } = inside;
  let silent = 0;
  while (silent < unansweredMost) {
    const response = await platform.find(sent.clientTransactionId);
    if (response.outcome === 'Answered' && !unfinished.includes(response.transaction.state)) {
      return { kind: 'Told', transaction: response.transaction };
    }
    const isAbsent = response.outcome === 'Refused' && response.status === notFound;
    // It may still be on its way until the platform would not take it any more.
    if (isAbsent && now() > sent.until) return { kind: 'NotTaken', code: response.code };
    silent += 1;
    await pause(times.enquiryMs);
  }
  return { kind: 'Unreachable' };
}

export async function knownOf(inside: Inside, response: PlatformAnswer, sent: Sent): Promise<SaleOutcome> {
  if (response.outcome === 'NotSent') return { kind: 'NotTaken', code: 'rate_limited' };
  if (response.outcome === 'Refused') return { kind: 'NotTaken', code: response.code };
  if (response.outcome !== 'Answered') return findOut(inside, sent);
  if (unfinished.includes(response.transaction.state)) return findOut(inside, sent);
  return { kind: 'Told', transaction: response.transaction };
}

const cardReasons: readonly string[] = ['InvalidCardNumber', 'ExpiredCard', 'RestrictedCard'];
const pinReasons: readonly string[] = ['InvalidPin', 'PinTriesExceeded'];

/** Why a sale that was not approved failed. */
export function conditionOf({
  response,
}: Pick<Transaction, 'response'>): OpenValue<'ErrorCondition'> {
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
  const isFromOutside = ['rate_limited', 'too_late', 'transaction_not_found'].includes(code);
  return isFromOutside ? 'UnreachableHost' : 'NotAllowed';
}

/** One that was confirmed before is captured by then: it is given back. */
async function giveBack({ platform }: Inside, { clientTransactionId }: Owed): Promise<PlatformAnswer> {
  const clientOperationId = `${clientTransactionId}-refund`;
  return platform.operate(clientTransactionId, 'refund', { clientOperationId });
}

/** Whether the platform has dealt with it, one way or another. */
async function isTakenBack(inside: Inside, owed: Owed): Promise<boolean> {
  const { clientTransactionId, reason, until } = owed;
  let response = await inside.platform.operate(clientTransactionId, 'cancel', {
    cancelReason: 'Technical',
    reversalReason: reason,
    clientOperationId: `${clientTransactionId}-reversal`,
  });
  const isCaptured = response.outcome === 'Refused' && response.code === 'already_captured';
  if (isCaptured) response = await giveBack(inside, owed);
  if (response.outcome === 'Answered') return true;
  if (response.outcome !== 'Refused') return false;
  // What is not there may still come, for a while. What is there and was refused took nothing, or goes
  // back by itself, since nobody confirms it: who may only sell may not take back.
  return response.status !== notFound || inside.now() > until;
}

const confirmTriesMost = 90;

/**
 * Confirms a sale that was approved: from then on it counts.
 *
 * @throws ServiceFault where it went back meanwhile
 */
export async function confirmed(inside: Inside, approved: Transaction): Promise<Transaction> {
  const { platform, pause, times, now } = inside;
  const { transactionId, clientTransactionId } = approved;
  for (let tries = 1; tries <= confirmTriesMost; tries += 1) {
    const response = await platform.confirm(transactionId);
    if (response.outcome === 'Answered') return response.transaction;
    if (response.outcome === 'Refused') {
      throw new ServiceFault('Aborted', passOnReason(response.code), transactionId);
    }
    await pause(times.enquiryMs);
  }
  await takeBack(inside, { clientTransactionId, reason: 'Timeout', until: now() });
  throw new ServiceFault('UnreachableHost', 'not_confirmed_reversed', transactionId);
}

/** What is owed and could not be settled stays owed, in the memory. */
export async function settleOwed(inside: Inside): Promise<void> {
  const { keeper } = inside;
  for (const owed of keeper.read().owed) {
    if (!(await isTakenBack(inside, owed))) return;
    const { clientTransactionId: done } = owed;
    const remaining = keeper.read().owed.filter((each) => each.clientTransactionId !== done);
    keeper.save({ owed: remaining });
  }
}

/** Written down first: a reload in the middle forgets nothing. */
export async function takeBack(inside: Inside, owed: Owed): Promise<void> {
  const { keeper } = inside;
  keeper.save({ owed: [...keeper.read().owed, owed] });
  await settleOwed(inside);
}
