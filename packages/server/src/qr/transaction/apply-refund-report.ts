// Applies the provider's report on a refund once, from an answer or an event.
import { defined } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import { isOpen, type PaymentStep, withStatus } from './build-change.ts';
import type { Failure, LoadedPayment, QrEventData, StoredOperation } from './records.ts';
import { type PositionChanges, refundableAmount } from './state-machine.ts';
import { changesAfterDecision, isUndecided } from './unanswered-refunds.ts';

export type RefundReport = {
  /** `Forgotten`: the provider no longer knows the refund, and the server requests it again. */
  status: 'Pending' | 'Completed' | 'Declined' | 'Forgotten';
  failure?: Failure | undefined;
  providerRefundId?: string | undefined;
};

export type RefundContext = {
  at: number;
  sequence?: number;
  provider?: NonNullable<QrEventData['provider']>;
  /** The operator that requested the status, if there was one. */
  actor?: string;
};

/** The server must refund late money: if the refund is declined, an operator must decide. */
const mustBeRefunded = ({ details }: StoredOperation): boolean => details.cause !== 'Merchant';

const notedStep = (
  { at, provider }: RefundContext,
  changes: PositionChanges,
  reason: string,
): PaymentStep | undefined =>
  provider === undefined
    ? undefined
    : { at, type: 'qr.noted', changes, data: { provider, reason } };

const finalStatuses: Readonly<Record<string, StoredOperation['status']>> = {
  Completed: 'Succeeded',
  Declined: 'Declined',
};

/** Whether the provider reports another end for a refund that has ended. Pure. */
export function contradictsStatus(
  operation: StoredOperation,
  status: RefundReport['status'],
): boolean {
  const reportedStatus = finalStatuses[status];
  return (
    !isUndecided(operation) && reportedStatus !== undefined && reportedStatus !== operation.status
  );
}

/**
 * Handles a report on an ended refund. A declined refund that the provider made after all counts,
 * unless another refund or a settlement already covers its amount.
 */
function stepAfterEnd(
  { row: { position } }: LoadedPayment,
  operation: StoredOperation,
  status: RefundReport['status'],
  context: RefundContext,
): PaymentStep | undefined {
  const { at, sequence = 0, provider } = context;
  const sequenceChange: PositionChanges = sequence > position.sequence ? { sequence } : {};
  if (!contradictsStatus(operation, status)) return notedStep(context, sequenceChange, 'Known');
  const { amount } = operation;
  const refundable = refundableAmount(position);
  const isSettled = operation.status === 'Failed';
  if (status !== 'Completed' || isSettled || amount > refundable) {
    return notedStep(context, sequenceChange, 'Contradicts');
  }
  const isAwaited =
    position.hold === 'RefundDeclined' && mustBeRefunded(operation) && amount === refundable;
  const holdChange: PositionChanges = isAwaited ? { hold: null } : {};
  const { failure: _was, ...details } = operation.details;
  return {
    at,
    type: 'qr.refunded',
    changes: { ...sequenceChange, ...holdChange, refunded: amount },
    data: { ...defined({ provider }), amount, reason: 'Contradicts' },
    operations: [{ ...withStatus(operation, 'Succeeded', at), details }],
  };
}

type Undecided = {
  operation: StoredOperation;
  /** Members to add to the operation; `data` goes into the event. */
  details: Partial<StoredOperation['details']>;
  data: NonNullable<PaymentStep['data']>;
  sequenceChange: PositionChanges;
};

/** Keeps a refund undecided: the provider still processes it, or does not know it. */
function undecidedStep(
  current: LoadedPayment,
  { operation, details, data, sequenceChange }: Undecided,
  reportedStatus: 'Pending' | 'Forgotten',
  { at, provider }: RefundContext,
): PaymentStep | undefined {
  const { acknowledged, ...rest } = { ...operation.details, ...details };
  const isPendingAgain = reportedStatus === 'Pending' && !isOpen(operation);
  const reason = reportedStatus === 'Pending' ? 'RefundPending' : 'RefundForgotten';
  if (reportedStatus === 'Forgotten' && !isOpen(operation) && acknowledged !== true) {
    return provider === undefined
      ? undefined
      : { at, type: 'qr.noted', changes: sequenceChange, data: { ...data, reason } };
  }
  const nextStatus = isPendingAgain ? 'Pending' : operation.status;
  const retryStart = isPendingAgain ? { askedSince: isoTime(at) } : {};
  const next: StoredOperation = {
    ...withStatus(operation, nextStatus, at),
    details:
      reportedStatus === 'Pending'
        ? { ...rest, ...retryStart, acknowledged: true, awaited: true }
        : rest,
  };
  const reviewChanges = isPendingAgain ? changesAfterDecision(current, operation) : {};
  const type = reviewChanges.hold === null ? 'qr.resolved' : 'qr.noted';
  return {
    at,
    type,
    changes: { ...sequenceChange, ...reviewChanges },
    operations: [next],
    data: { ...data, reason },
    unanswered: true,
  };
}

/** The step for the report, or undefined if an answer brings nothing new. Pure. */
export function refundReportStep(
  current: LoadedPayment,
  operationId: string,
  { status, failure, providerRefundId }: RefundReport,
  context: RefundContext,
): PaymentStep | undefined {
  const { at, sequence = 0, provider, actor } = context;
  const { position } = current.row;
  const sequenceChange: PositionChanges = sequence > position.sequence ? { sequence } : {};
  const operation = current.operations.find(
    (each) => each.kind === 'Refund' && each.operationId === operationId,
  );
  if (operation === undefined) return notedStep(context, {}, 'UnknownRefund');
  if (!isUndecided(operation)) return stepAfterEnd(current, operation, status, context);
  const { amount } = operation;
  const data = {
    ...defined({ failure, provider, actor }),
    amount,
  };
  const details = defined({ failure, providerRefundId });
  if (status === 'Pending' || status === 'Forgotten') {
    return undecidedStep(current, { operation, details, data, sequenceChange }, status, context);
  }
  const reviewChanges = changesAfterDecision(current, operation);
  if (status === 'Completed') {
    const changes = {
      ...sequenceChange,
      ...reviewChanges,
      refunded: amount,
      refundReserved: -amount,
    };
    const operations = [withStatus(operation, 'Succeeded', at, details)];
    return { at, type: 'qr.refunded', changes, data, operations };
  }
  const holdChange: PositionChanges = mustBeRefunded(operation)
    ? { hold: 'RefundDeclined' }
    : reviewChanges;
  const changes = { ...sequenceChange, ...holdChange, refundReserved: -amount };
  const operations = [withStatus(operation, 'Declined', at, details)];
  return { at, type: 'qr.refund_failed', changes, data, operations };
}
