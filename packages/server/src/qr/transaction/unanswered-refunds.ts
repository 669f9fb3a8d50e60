// Puts a refund without an answer on hold for a decision by an operator (ADR 0044).
import { isoTime } from '../../platform/index.ts';
import { isOpen, type PaymentStep, withStatus } from './build-change.ts';
import { acknowledgedRefundRetryMs, refundRetryMs } from './limits.ts';
import type { LoadedPayment, StoredOperation } from './records.ts';
import type { PositionChanges } from './state-machine.ts';

const isUnanswered = ({ kind, status }: StoredOperation): boolean =>
  kind === 'Refund' && status === 'Unanswered';

/** Whether the outcome is unknown; the server may or may not still retry the refund. */
export const isUndecided = (operation: StoredOperation): boolean =>
  isOpen(operation) || isUnanswered(operation);

export const unansweredRefunds = ({ operations }: Pick<LoadedPayment, 'operations'>) =>
  operations.filter(isUnanswered);

/** The sum of the unanswered refunds in minor units: a part of the reserved amount. */
export const unansweredSum = (loaded: Pick<LoadedPayment, 'operations'>): number =>
  unansweredRefunds(loaded).reduce((sum, { amount }) => sum + amount, 0);

/** Whether the retry time is over; it is longer for a refund that the provider acknowledged. */
export function isRetryTimeOver({ createdAt, details }: StoredOperation, now: number): boolean {
  const since = Date.parse(details.askedSince ?? createdAt);
  return now >= since + (details.acknowledged === true ? acknowledgedRefundRetryMs : refundRetryMs);
}

/**
 * The amount stays reserved, because the provider may have refunded it. Returns undefined if the
 * refund has ended. Pure.
 */
export function unansweredRefundStep(
  current: LoadedPayment,
  operationId: string,
  at: number,
): PaymentStep | undefined {
  const operation = current.operations.find((each) => each.operationId === operationId);
  if (operation === undefined || !isOpen(operation)) return undefined;
  const { hold } = current.row.position;
  return {
    at,
    type: 'qr.refund_unanswered',
    changes: hold === null ? { hold: 'RefundUnanswered' } : {},
    operations: [withStatus(operation, 'Unanswered', at)],
    data: { reason: 'Unanswered', amount: operation.amount },
  };
}

/** Ends the hold when the last unanswered refund is decided. Pure. */
export function changesAfterDecision(
  { row, operations }: LoadedPayment,
  decided: StoredOperation,
): PositionChanges {
  if (row.position.hold !== 'RefundUnanswered') return {};
  const others = operations.filter((each) => isUnanswered(each) && each.number !== decided.number);
  return others.length === 0 ? { hold: null } : {};
}

/** Retries each refund under its identifier, because the provider may know it. Pure. */
export const retryUnansweredRefunds = (loaded: LoadedPayment, at: number): StoredOperation[] =>
  unansweredRefunds(loaded).map((each) =>
    withStatus(each, 'Pending', at, { askedSince: isoTime(at) }),
  );

/** Records a settlement outside the platform; the server no longer retries the refunds. Pure. */
export function settleOutsidePlatform(
  loaded: LoadedPayment,
  at: number,
): { changes: PositionChanges; operations: StoredOperation[] } {
  const sum = unansweredSum(loaded);
  return {
    changes: { hold: null, refundReserved: -sum, settled: sum },
    operations: unansweredRefunds(loaded).map((each) => withStatus(each, 'Failed', at)),
  };
}
