// Defines the decisions for a payment on hold and their effect on its amounts. Pure.
import {
  isLive,
  type PaymentPosition,
  type PositionChanges,
  type ReviewReason,
  refundableAmount,
} from './state-machine.ts';

/**
 * `Accept` keeps the paid amount, `Refund` refunds it, `Settle` records a settlement outside the
 * platform. For an unanswered refund, `Ask` requests its status and `Retry` requests it again.
 */
export type Resolution = 'Accept' | 'Refund' | 'Settle' | 'Ask' | 'Retry';

const refundResolutions: readonly Resolution[] = ['Ask', 'Retry', 'Settle'];

/**
 * The allowed decisions. `Accept` needs a terminal that still waits, because no sale follows an
 * ended payment. An amount in another currency cannot be accepted.
 */
export const resolutionTable: Readonly<
  Record<ReviewReason, Readonly<Record<'Live' | 'Ended', readonly Resolution[]>>>
> = {
  AmountDiffers: { Live: ['Accept', 'Refund', 'Settle'], Ended: ['Refund', 'Settle'] },
  CurrencyDiffers: { Live: ['Refund', 'Settle'], Ended: ['Refund', 'Settle'] },
  RefundDeclined: { Live: ['Refund', 'Settle'], Ended: ['Refund', 'Settle'] },
  RefundUnanswered: { Live: refundResolutions, Ended: refundResolutions },
};

/** @returns an empty list if the payment is not on hold */
export function allowedResolutions(position: PaymentPosition): readonly Resolution[] {
  if (position.hold === null) return [];
  return resolutionTable[position.hold][isLive(position) ? 'Live' : 'Ended'];
}

/**
 * The changes of a decision. A payment that is not accepted becomes Cancelled, or keeps its final
 * status. The server refunds the whole paid amount, or records it as settled.
 */
export function changesOfResolution(
  position: PaymentPosition,
  resolution: Exclude<Resolution, 'Ask' | 'Retry'>,
): { changes: PositionChanges; refund: number } {
  const wasLive = isLive(position);
  if (resolution === 'Accept') return { changes: { phase: 'Completed', hold: null }, refund: 0 };
  const refundable = refundableAmount(position);
  const changes: PositionChanges = { ...(wasLive ? { phase: 'Cancelled' } : {}), hold: null };
  return resolution === 'Settle'
    ? { changes: { ...changes, settled: refundable }, refund: 0 }
    : { changes: { ...changes, refundReserved: refundable }, refund: refundable };
}
