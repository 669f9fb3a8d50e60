// Builds the step for a provider's report on a payment, from an event or an answer. Pure.
import { defined, type QrDisplay, type QrEventType } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import { openCancels, type PaymentStep, withStatus } from './build-change.ts';
import { displayEventsMax } from './limits.ts';
import type {
  Failure,
  LoadedPayment,
  OperationCause,
  QrEventData,
  StoredOperation,
} from './records.ts';
import {
  applyChanges,
  decideReport,
  isLive,
  type PositionChanges,
  type ReportDecision,
  type ReportedStatus,
  type StatusReport,
} from './state-machine.ts';

/** A report with its additional members. */
export type PaymentReport = StatusReport & {
  providerTransactionId?: string | undefined;
  display?: QrDisplay | undefined;
  /** Epoch ms. */
  expiresAt?: number | undefined;
  pollAfterMs?: number | undefined;
  failure?: Failure | undefined;
  payer?: { maskedId?: string } | undefined;
};

export type ReportContext = {
  at: number;
  newId: () => string;
  /** The maximum time to pay, from the creation of the payment. */
  payWithinMs: number;
  /** Set for an event: the server stores every event. */
  provider?: NonNullable<QrEventData['provider']>;
  /** The first caller waits for this answer, so the server stores it. */
  answered?: true;
};

export type ReportOutcome = { step: PaymentStep; alarm?: 'amount_differs' | 'contradiction' };

const finalStatuses: ReadonlySet<ReportedStatus> = new Set<ReportedStatus>([
  ...(['Completed', 'Declined', 'Cancelled', 'Expired', 'Failed'] as const),
  ...(['PartiallyRefunded', 'Refunded'] as const),
]);

/** Whether the status means that the consumer can no longer pay. */
export const isFinalStatus = (status: ReportedStatus): boolean => finalStatuses.has(status);

export function createOperation(
  { row }: LoadedPayment,
  kind: StoredOperation['kind'],
  values: {
    at: number;
    newId: () => string;
    amount: number;
    cause: OperationCause;
    number?: number;
    clientOperationId?: string | undefined;
    request?: Record<string, unknown>;
    actor?: string | undefined;
  },
): StoredOperation {
  const iso = isoTime(values.at);
  return {
    number: values.number ?? row.operationCount + 1,
    operationId: values.newId(),
    kind,
    status: 'Pending',
    amount: values.amount,
    clientOperationId: values.clientOperationId,
    details: {
      cause: values.cause,
      request: values.request ?? {},
      ...defined({ actor: values.actor }),
    },
    createdAt: iso,
    updatedAt: iso,
  };
}

/** Ends the open cancels: as declined if the payment is paid or on hold, otherwise as succeeded. */
function closeOpenCancels(
  loaded: LoadedPayment,
  changes: PositionChanges,
  at: number,
): StoredOperation[] {
  const { phase, hold } = applyChanges(loaded.row.position, changes);
  const status = phase === 'Completed' || hold !== null ? 'Declined' : 'Succeeded';
  return openCancels(loaded).map((each) => withStatus(each, status, at));
}

function eventTypeOf(loaded: LoadedPayment, decision: ReportDecision): QrEventType {
  const { position } = loaded.row;
  if (decision.kind === 'Nothing') return 'qr.noted';
  if (decision.kind === 'Hold') return 'qr.held';
  if (decision.kind === 'Retract' && !isLive(position)) return 'qr.resolved';
  if (decision.kind === 'RefundLatePayment' && !isLive(position)) return 'qr.late_completion';
  const { phase } = applyChanges(position, decision.changes);
  return `qr.${phase.toLowerCase()}` as QrEventType;
}

function eventDataOf(
  { row }: LoadedPayment,
  decision: ReportDecision,
  report: PaymentReport,
): PaymentStep['data'] {
  const { failure, payer } = report;
  const paid = Math.max(0, decision.changes.paid ?? 0);
  const isOtherCurrency =
    report.currency !== undefined && report.currency !== row.position.currency;
  const amount = decision.kind === 'Hold' ? (report.amount ?? paid) : paid;
  return {
    ...defined({ failure, payer }),
    ...(amount > 0 ? { amount } : {}),
    ...(isOtherCurrency ? { currency: report.currency } : {}),
    ...(decision.kind === 'Nothing' ? { reason: decision.cause } : {}),
    ...(decision.kind === 'Hold' ? { reason: decision.changes.hold ?? 'AmountDiffers' } : {}),
    ...(decision.kind === 'Retract' ? { reason: 'Retracted' } : {}),
  };
}

function alarmOf(decision: ReportDecision): Pick<ReportOutcome, 'alarm'> {
  if (decision.kind === 'Hold') return { alarm: 'amount_differs' };
  if (decision.kind === 'Retract') return { alarm: 'contradiction' };
  const contradicts = decision.kind === 'Nothing' && decision.cause === 'Contradicts';
  return contradicts ? { alarm: 'contradiction' } : {};
}

/**
 * Whether the server cancels an ended payment again: the provider still offers it, or an event with a
 * lower sequence reports money that the server does not know. The answer to the cancel decides.
 */
function needsAnotherCancel(
  loaded: LoadedPayment,
  decision: ReportDecision,
  report: PaymentReport,
): boolean {
  const { position } = loaded.row;
  // A paid payment is no longer offered: the answer is older than the completion.
  const isEndedUnpaid = !isLive(position) && position.paid === 0;
  if (!isEndedUnpaid || decision.kind !== 'Nothing' || openCancels(loaded).length > 0) return false;
  if (decision.cause === 'Older') {
    return report.status === 'Completed' || report.status === 'PartiallyRefunded';
  }
  return (
    decision.cause === 'AfterEnd' && report.sequence === undefined && !isFinalStatus(report.status)
  );
}

function changedOperations(
  loaded: LoadedPayment,
  decision: ReportDecision,
  report: PaymentReport,
  context: ReportContext,
): StoredOperation[] {
  const { at, newId } = context;
  const after = applyChanges(loaded.row.position, decision.changes);
  const isFinal =
    isFinalStatus(report.status) && !(decision.kind === 'Nothing' && decision.cause === 'Older');
  const closes = (isFinal && !isLive(after)) || decision.kind === 'Hold';
  const closedCancels = closes ? closeOpenCancels(loaded, decision.changes, at) : [];
  if (decision.kind === 'RefundLatePayment') {
    const { amount } = decision;
    return [
      createOperation(loaded, 'Refund', { at, newId, amount, cause: 'LateCompletion' }),
      ...closedCancels,
    ];
  }
  if (!needsAnotherCancel(loaded, decision, report)) return closedCancels;
  return [createOperation(loaded, 'Cancel', { at, newId, amount: 0, cause: 'Expiry' })];
}

/** Limits the provider's expiry: not after the requested one, and not before the creation. */
function limitedExpiry(
  { row }: LoadedPayment,
  { expiresAt }: PaymentReport,
  { payWithinMs }: ReportContext,
): number | undefined {
  if (expiresAt === undefined) return undefined;
  const createdAt = Date.parse(row.createdAt);
  return Math.min(createdAt + payWithinMs, Math.max(createdAt, expiresAt));
}

/** The new display, only while the consumer can pay and within the limit of stored displays. */
function newDisplay(
  loaded: LoadedPayment,
  decision: ReportDecision,
  report: PaymentReport,
): QrDisplay | undefined {
  if (decision.kind === 'Nothing' && decision.cause !== 'Known') return undefined;
  if (loaded.row.version >= displayEventsMax) return undefined;
  return isLive(applyChanges(loaded.row.position, decision.changes)) ? report.display : undefined;
}

/** Replaces `qr.noted` by a more specific type if the step has a display or ends a cancel. */
function eventTypeWithDetails(type: QrEventType, display: unknown, operations: StoredOperation[]) {
  if (type !== 'qr.noted') return type;
  if (display !== undefined) return 'qr.display';
  const isConfirmed = operations.some(({ status }) => status !== 'Pending');
  return isConfirmed ? 'qr.cancel_confirmed' : type;
}

/**
 * The step of a report. An event always gives a step, an answer only if it brings something new.
 */
export function paymentReportStep(
  loaded: LoadedPayment,
  report: PaymentReport,
  context: ReportContext,
): ReportOutcome | undefined {
  const { position, providerTransactionId } = loaded.row;
  const { at, provider, answered } = context;
  const decision = decideReport(position, report);
  const display = newDisplay(loaded, decision, report);
  const operations = changedOperations(loaded, decision, report, context);
  const bringsIdentifier =
    report.providerTransactionId !== undefined && providerTransactionId === undefined;
  const hasNews =
    decision.kind !== 'Nothing' ||
    decision.cause === 'Contradicts' ||
    bringsIdentifier ||
    display !== undefined ||
    operations.length > 0;
  if (!hasNews && provider === undefined && answered === undefined) return undefined;
  const isLiveAfter = isLive(applyChanges(position, decision.changes));
  const hasOpenOperation = operations.some(({ status }) => status === 'Pending');
  const { pollAfterMs } = report;
  const expiresAt = limitedExpiry(loaded, report, context);
  const step: PaymentStep = {
    at,
    type: eventTypeWithDetails(eventTypeOf(loaded, decision), display, operations),
    changes: decision.changes,
    data: {
      ...eventDataOf(loaded, decision, report),
      ...defined({ display }),
      ...(isLiveAfter && expiresAt !== undefined ? { expiresAt: isoTime(expiresAt) } : {}),
      ...defined({ provider, answered }),
    },
    operations,
    providerTransactionId: report.providerTransactionId,
    ...(isLiveAfter && expiresAt !== undefined ? { expiresAt } : {}),
    ...(hasOpenOperation
      ? { pollAt: at }
      : pollAfterMs === undefined
        ? {}
        : { pollAt: at + pollAfterMs }),
  };
  return { step, ...alarmOf(decision) };
}
