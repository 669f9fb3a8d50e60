// Ends a hold: which decisions a position allows, and what becomes of the money by each of them. Pure.
import { type Changes, type HoldReason, isLive, leftOf, type Position } from './state.ts';

/**
 * `Accept` takes what was paid as it is, `Refund` gives it back, `Settle` says that the matter was
 * ended outside of the platform. Of a refund without an answer: `Ask` has the provider asked how it
 * stands, and `Retry` asks for it again.
 */
export type Resolution = 'Accept' | 'Refund' | 'Settle' | 'Ask' | 'Retry';

const ofRefund: readonly Resolution[] = ['Ask', 'Retry', 'Settle'];

/**
 * What may be decided. Only a payment whose terminal still waits is accepted: behind its end nobody
 * expects a sale, and money in another currency is no amount of ours.
 */
export const resolutionTable: Readonly<
  Record<HoldReason, Readonly<Record<'Live' | 'Ended', readonly Resolution[]>>>
> = {
  AmountDiffers: { Live: ['Accept', 'Refund', 'Settle'], Ended: ['Refund', 'Settle'] },
  CurrencyDiffers: { Live: ['Refund', 'Settle'], Ended: ['Refund', 'Settle'] },
  RefundDeclined: { Live: ['Refund', 'Settle'], Ended: ['Refund', 'Settle'] },
  RefundUnanswered: { Live: ofRefund, Ended: ofRefund },
};

/** @returns nothing where nothing waits for a decision */
export function resolutionsOf(position: Position): readonly Resolution[] {
  if (position.hold === null) return [];
  return resolutionTable[position.hold][isLive(position) ? 'Live' : 'Ended'];
}

/**
 * What a decision changes. A payment that is not accepted ends as Cancelled, or keeps its end; all
 * that was paid is then refunded, about to be, or settled: nothing is kept without a word for it.
 */
export function resolved(
  position: Position,
  resolution: Exclude<Resolution, 'Ask' | 'Retry'>,
): { changes: Changes; refund: number } {
  const live = isLive(position);
  if (resolution === 'Accept') return { changes: { phase: 'Completed', hold: null }, refund: 0 };
  const left = leftOf(position);
  const changes: Changes = { ...(live ? { phase: 'Cancelled' } : {}), hold: null };
  return resolution === 'Settle'
    ? { changes: { ...changes, settled: left }, refund: 0 }
    : { changes: { ...changes, refundReserved: left }, refund: left };
}
