/** Finds the outcome of a sale, confirms it or reverses it. */
import type { Transaction } from '@switchyard/contract';
import { type OpenValue, passOnReason } from '@switchyard/nexo';
import type { PlatformAnswer } from './payment-api.ts';
import type { ServiceContext } from './service-context.ts';
import { ServiceError } from './service-error.ts';
import type { UnsentReversal } from './terminal-storage.ts';

/** The outcome of a sale. `Unreachable`: the platform did not respond, so the sale is reversed. */
export type SaleOutcome =
  | { readonly kind: 'Told'; readonly transaction: Transaction }
  | { readonly kind: 'NotTaken'; readonly code: string }
  | { readonly kind: 'Unreachable' };

type Sent = { readonly clientTransactionId: string; readonly until: number };

const notFound = 404;
const unansweredMost = 60;
const unfinished: readonly string[] = ['Received', 'Stored'];

/** Polls the platform for the outcome, also over a long network failure. */
export async function findSaleOutcome(inside: ServiceContext, sent: Sent): Promise<SaleOutcome> {
  const { platform, pause, times, now } = inside;
  let silent = 0;
  while (silent < unansweredMost) {
    const response = await platform.find(sent.clientTransactionId);
    if (response.outcome === 'Answered' && !unfinished.includes(response.transaction.state)) {
      return { kind: 'Told', transaction: response.transaction };
    }
    const isAbsent = response.outcome === 'Refused' && response.status === notFound;
    // Until the request expires, the platform may still receive it.
    if (isAbsent && now() > sent.until) return { kind: 'NotTaken', code: response.code };
    silent += 1;
    await pause(times.enquiryMs);
  }
  return { kind: 'Unreachable' };
}

export async function resolveSaleOutcome(
  inside: ServiceContext,
  response: PlatformAnswer,
  sent: Sent,
): Promise<SaleOutcome> {
  if (response.outcome === 'NotSent') return { kind: 'NotTaken', code: 'rate_limited' };
  if (response.outcome === 'Refused') return { kind: 'NotTaken', code: response.code };
  if (response.outcome !== 'Answered') return findSaleOutcome(inside, sent);
  if (unfinished.includes(response.transaction.state)) return findSaleOutcome(inside, sent);
  return { kind: 'Told', transaction: response.transaction };
}

const cardReasons: readonly string[] = ['InvalidCardNumber', 'ExpiredCard', 'RestrictedCard'];
const pinReasons: readonly string[] = ['InvalidPin', 'PinTriesExceeded'];

/** The Nexo error condition of a sale that was not approved. */
export function errorConditionOf({
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

/** The Nexo error condition of a rejected request. */
export function refusalConditionOf(code: string): OpenValue<'ErrorCondition'> {
  const isFromOutside = ['rate_limited', 'too_late', 'transaction_not_found'].includes(code);
  return isFromOutside ? 'UnreachableHost' : 'NotAllowed';
}

/** A confirmed sale is captured, so it is refunded. */
async function refundSale(
  { platform }: ServiceContext,
  { clientTransactionId }: UnsentReversal,
): Promise<PlatformAnswer> {
  const clientOperationId = `${clientTransactionId}-refund`;
  return platform.operate(clientTransactionId, 'refund', { clientOperationId });
}

/** Whether the platform has completed the reversal. */
async function isReversed(inside: ServiceContext, owed: UnsentReversal): Promise<boolean> {
  const { clientTransactionId, reason, until } = owed;
  let response = await inside.platform.operate(clientTransactionId, 'cancel', {
    cancelReason: 'Technical',
    reversalReason: reason,
    clientOperationId: `${clientTransactionId}-reversal`,
  });
  const isCaptured = response.outcome === 'Refused' && response.code === 'already_captured';
  if (isCaptured) response = await refundSale(inside, owed);
  if (response.outcome === 'Answered') return true;
  if (response.outcome !== 'Refused') return false;
  // A sale that is not found may still arrive until it expires. If the platform rejects the
  // reversal,
  // the sale took no money, or the platform reverses the unconfirmed sale itself.
  return response.status !== notFound || inside.now() > until;
}

const confirmTriesMost = 90;

/** Confirms an approved sale. @throws ServiceError if the platform has reversed it */
export async function confirmSale(
  inside: ServiceContext,
  approved: Transaction,
): Promise<Transaction> {
  const { platform, pause, times, now } = inside;
  const { transactionId, clientTransactionId } = approved;
  for (let tries = 1; tries <= confirmTriesMost; tries += 1) {
    const response = await platform.confirm(transactionId);
    if (response.outcome === 'Answered') return response.transaction;
    if (response.outcome === 'Refused') {
      throw new ServiceError('Aborted', passOnReason(response.code), transactionId);
    }
    await pause(times.enquiryMs);
  }
  await reverseSale(inside, { clientTransactionId, reason: 'Timeout', until: now() });
  throw new ServiceError('UnreachableHost', 'not_confirmed_reversed', transactionId);
}

/** A reversal that cannot be sent stays in the storage. */
export async function sendUnsentReversals(inside: ServiceContext): Promise<void> {
  const { storage } = inside;
  for (const owed of storage.read().owed) {
    if (!(await isReversed(inside, owed))) return;
    const { clientTransactionId: done } = owed;
    const remaining = storage.read().owed.filter((each) => each.clientTransactionId !== done);
    storage.save({ owed: remaining });
  }
}

/** Stores the reversal first, so that a reload does not lose it. */
export async function reverseSale(inside: ServiceContext, owed: UnsentReversal): Promise<void> {
  const { storage } = inside;
  storage.save({ owed: [...storage.read().owed, owed] });
  await sendUnsentReversals(inside);
}
