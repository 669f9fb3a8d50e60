// Applies the provider's report on a refund once, from an answer or an event.
import { defined } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import { ended, isOpen, type Step } from './build-change.ts';
import type { EventData, Failure, LoadedQr, StoredOperation } from './records.ts';
import { type Changes, leftOf } from './state-machine.ts';
import { isUndecided, releasedBy } from './unanswered-refunds.ts';

export type RefundSaid = {
  /** `Forgotten`: the provider no longer knows the refund, and the server requests it again. */
  said: 'Pending' | 'Completed' | 'Declined' | 'Forgotten';
  failure?: Failure | undefined;
  providerRefundId?: string | undefined;
};

export type RefundContext = {
  at: number;
  sequence?: number;
  provider?: NonNullable<EventData['provider']>;
  /** The operator that requested the status, if there was one. */
  actor?: string;
};

/** The server must refund late money: if the refund is declined, an operator must decide. */
const isOwed = ({ details }: StoredOperation): boolean => details.cause !== 'Merchant';

const noted = (
  { at, provider }: RefundContext,
  changes: Changes,
  reason: string,
): Step | undefined =>
  provider === undefined
    ? undefined
    : { at, type: 'qr.noted', changes, data: { provider, reason } };

const ends: Readonly<Record<string, StoredOperation['status']>> = {
  Completed: 'Succeeded',
  Declined: 'Declined',
};

/** Whether the provider reports another end for a refund that has ended. Pure. */
export function isContradicted(operation: StoredOperation, said: RefundSaid['said']): boolean {
  const told = ends[said];
  return !isUndecided(operation) && told !== undefined && told !== operation.status;
}

/**
 * Handles a report on an ended refund. A declined refund that the provider made after all counts,
 * unless another refund or a settlement already covers its amount.
 */
function afterEnd(
  { row: { position } }: LoadedQr,
  operation: StoredOperation,
  said: RefundSaid['said'],
  context: RefundContext,
): Step | undefined {
  const { at, sequence = 0, provider } = context;
  const numbered: Changes = sequence > position.sequence ? { sequence } : {};
  if (!isContradicted(operation, said)) return noted(context, numbered, 'Known');
  const { amount } = operation;
  const left = leftOf(position);
  const isSettled = operation.status === 'Failed';
  if (said !== 'Completed' || isSettled || amount > left) {
    return noted(context, numbered, 'Contradicts');
  }
  const isAwaited = position.hold === 'RefundDeclined' && isOwed(operation) && amount === left;
  const hold: Changes = isAwaited ? { hold: null } : {};
  const { failure: _was, ...details } = operation.details;
  return {
    at,
    type: 'qr.refunded',
    changes: { ...numbered, ...hold, refunded: amount },
    data: { ...defined({ provider }), amount, reason: 'Contradicts' },
    operations: [{ ...ended(operation, 'Succeeded', at), details }],
  };
}

type Undecided = {
  operation: StoredOperation;
  /** Members to add to the operation; `data` goes into the event. */
  details: Partial<StoredOperation['details']>;
  data: NonNullable<Step['data']>;
  numbered: Changes;
};

/** Keeps a refund undecided: the provider still processes it, or does not know it. */
function goesOn(
  standing: LoadedQr,
  { operation, details, data, numbered }: Undecided,
  said: 'Pending' | 'Forgotten',
  { at, provider }: RefundContext,
): Step | undefined {
  const { acknowledged, ...rest } = { ...operation.details, ...details };
  const isBack = said === 'Pending' && !isOpen(operation);
  const reason = said === 'Pending' ? 'RefundPending' : 'RefundForgotten';
  if (said === 'Forgotten' && !isOpen(operation) && acknowledged !== true) {
    return provider === undefined
      ? undefined
      : { at, type: 'qr.noted', changes: numbered, data: { ...data, reason } };
  }
  const status = isBack ? 'Pending' : operation.status;
  const since = isBack ? { askedSince: isoTime(at) } : {};
  const next: StoredOperation = {
    ...ended(operation, status, at),
    details: said === 'Pending' ? { ...rest, ...since, acknowledged: true, awaited: true } : rest,
  };
  const released = isBack ? releasedBy(standing, operation) : {};
  const type = released.hold === null ? 'qr.resolved' : 'qr.noted';
  return {
    at,
    type,
    changes: { ...numbered, ...released },
    operations: [next],
    data: { ...data, reason },
    unanswered: true,
  };
}

/** The step for the report, or undefined if an answer brings nothing new. Pure. */
export function refundStep(
  standing: LoadedQr,
  operationId: string,
  { said, failure, providerRefundId }: RefundSaid,
  context: RefundContext,
): Step | undefined {
  const { at, sequence = 0, provider, actor } = context;
  const { position } = standing.row;
  const numbered: Changes = sequence > position.sequence ? { sequence } : {};
  const operation = standing.operations.find(
    (each) => each.kind === 'Refund' && each.operationId === operationId,
  );
  if (operation === undefined) return noted(context, {}, 'UnknownRefund');
  if (!isUndecided(operation)) return afterEnd(standing, operation, said, context);
  const { amount } = operation;
  const data = {
    ...defined({ failure, provider, actor }),
    amount,
  };
  const details = defined({ failure, providerRefundId });
  if (said === 'Pending' || said === 'Forgotten') {
    return goesOn(standing, { operation, details, data, numbered }, said, context);
  }
  const released = releasedBy(standing, operation);
  if (said === 'Completed') {
    const changes = { ...numbered, ...released, refunded: amount, refundReserved: -amount };
    const operations = [ended(operation, 'Succeeded', at, details)];
    return { at, type: 'qr.refunded', changes, data, operations };
  }
  const hold: Changes = isOwed(operation) ? { hold: 'RefundDeclined' } : released;
  const changes = { ...numbered, ...hold, refundReserved: -amount };
  const operations = [ended(operation, 'Declined', at, details)];
  return { at, type: 'qr.refund_failed', changes, data, operations };
}
