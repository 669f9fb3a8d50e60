// Builds the step for a provider's report on a payment, from an event or an answer. Pure.
import { defined, type QrDisplay, type QrEventType } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import { ended, openCancels, type Step } from './build-change.ts';
import { displayEventsMax } from './limits.ts';
import type { EventData, Failure, LoadedQr, OperationCause, StoredOperation } from './records.ts';
import {
  apply,
  type Changes,
  isLive,
  judgeReport,
  type Report,
  type Said,
  type Verdict,
} from './state-machine.ts';

/** A report with its additional members. */
export type Told = Report & {
  providerTransactionId?: string | undefined;
  display?: QrDisplay | undefined;
  /** Epoch ms. */
  expiresAt?: number | undefined;
  pollAfterMs?: number | undefined;
  failure?: Failure | undefined;
  payer?: { maskedId?: string } | undefined;
};

export type Context = {
  at: number;
  newId: () => string;
  /** The maximum time to pay, from the creation of the payment. */
  payWithinMs: number;
  /** Set for an event: the server stores every event. */
  provider?: NonNullable<EventData['provider']>;
  /** The first caller waits for this answer, so the server stores it. */
  answered?: true;
};

export type Reported = { step: Step; alarm?: 'amount_differs' | 'contradiction' };

const overWords: ReadonlySet<Said> = new Set<Said>([
  ...(['Completed', 'Declined', 'Cancelled', 'Expired', 'Failed'] as const),
  ...(['PartiallyRefunded', 'Refunded'] as const),
]);

/** Whether the status means that the consumer can no longer pay. */
export const isEnd = (said: Said): boolean => overWords.has(said);

export function newOperation(
  { row }: LoadedQr,
  kind: StoredOperation['kind'],
  of: {
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
  const iso = isoTime(of.at);
  return {
    number: of.number ?? row.operationCount + 1,
    operationId: of.newId(),
    kind,
    status: 'Pending',
    amount: of.amount,
    clientOperationId: of.clientOperationId,
    details: {
      cause: of.cause,
      request: of.request ?? {},
      ...defined({ actor: of.actor }),
    },
    createdAt: iso,
    updatedAt: iso,
  };
}

/** Ends the open cancels: as declined if the payment is paid or on hold, otherwise as succeeded. */
function closedCancels(loaded: LoadedQr, changes: Changes, at: number): StoredOperation[] {
  const { phase, hold } = apply(loaded.row.position, changes);
  const status = phase === 'Completed' || hold !== null ? 'Declined' : 'Succeeded';
  return openCancels(loaded).map((each) => ended(each, status, at));
}

function typeOf(loaded: LoadedQr, verdict: Verdict): QrEventType {
  const { position } = loaded.row;
  if (verdict.kind === 'Nothing') return 'qr.noted';
  if (verdict.kind === 'Hold') return 'qr.held';
  if (verdict.kind === 'Retract' && !isLive(position)) return 'qr.resolved';
  if (verdict.kind === 'TakeBack' && !isLive(position)) return 'qr.late_completion';
  const { phase } = apply(position, verdict.changes);
  return `qr.${phase.toLowerCase()}` as QrEventType;
}

function dataOf({ row }: LoadedQr, verdict: Verdict, told: Told): Step['data'] {
  const { failure, payer } = told;
  const paid = Math.max(0, verdict.changes.paid ?? 0);
  const isOther = told.currency !== undefined && told.currency !== row.position.currency;
  const amount = verdict.kind === 'Hold' ? (told.amount ?? paid) : paid;
  return {
    ...defined({ failure, payer }),
    ...(amount > 0 ? { amount } : {}),
    ...(isOther ? { currency: told.currency } : {}),
    ...(verdict.kind === 'Nothing' ? { reason: verdict.why } : {}),
    ...(verdict.kind === 'Hold' ? { reason: verdict.changes.hold ?? 'AmountDiffers' } : {}),
    ...(verdict.kind === 'Retract' ? { reason: 'Retracted' } : {}),
  };
}

function alarmOf(verdict: Verdict): Pick<Reported, 'alarm'> {
  if (verdict.kind === 'Hold') return { alarm: 'amount_differs' };
  if (verdict.kind === 'Retract') return { alarm: 'contradiction' };
  const contradicts = verdict.kind === 'Nothing' && verdict.why === 'Contradicts';
  return contradicts ? { alarm: 'contradiction' } : {};
}

/** Whether the provider still offers an ended payment; then the server cancels it again. */
function isStillOffered(loaded: LoadedQr, verdict: Verdict, told: Told): boolean {
  const { position } = loaded.row;
  return (
    verdict.kind === 'Nothing' &&
    verdict.why === 'AfterEnd' &&
    position.phase !== 'Completed' &&
    // A paid payment is no longer offered: the answer is older than the completion.
    position.paid === 0 &&
    told.sequence === undefined &&
    !isEnd(told.said) &&
    openCancels(loaded).length === 0
  );
}

function operationsOf(
  loaded: LoadedQr,
  verdict: Verdict,
  told: Told,
  context: Context,
): StoredOperation[] {
  const { at, newId } = context;
  const after = apply(loaded.row.position, verdict.changes);
  const isOver = isEnd(told.said) && !(verdict.kind === 'Nothing' && verdict.why === 'Older');
  const closes = (isOver && !isLive(after)) || verdict.kind === 'Hold';
  const closed = closes ? closedCancels(loaded, verdict.changes, at) : [];
  if (verdict.kind === 'TakeBack') {
    const { amount } = verdict;
    return [
      newOperation(loaded, 'Refund', { at, newId, amount, cause: 'LateCompletion' }),
      ...closed,
    ];
  }
  if (!isStillOffered(loaded, verdict, told)) return closed;
  return [newOperation(loaded, 'Cancel', { at, newId, amount: 0, cause: 'Expiry' })];
}

/** Limits the provider's expiry: not after the requested one, and not before the creation. */
function expiryOf(
  { row }: LoadedQr,
  { expiresAt }: Told,
  { payWithinMs }: Context,
): number | undefined {
  if (expiresAt === undefined) return undefined;
  const begun = Date.parse(row.createdAt);
  return Math.min(begun + payWithinMs, Math.max(begun, expiresAt));
}

/** The new display, only while the consumer can pay and within the limit of stored displays. */
function newDisplay(loaded: LoadedQr, verdict: Verdict, told: Told): QrDisplay | undefined {
  if (verdict.kind === 'Nothing' && verdict.why !== 'Known') return undefined;
  if (loaded.row.version >= displayEventsMax) return undefined;
  return isLive(apply(loaded.row.position, verdict.changes)) ? told.display : undefined;
}

/** Replaces `qr.noted` by a more specific type if the step has a display or ends a cancel. */
function finalType(type: QrEventType, display: unknown, operations: StoredOperation[]) {
  if (type !== 'qr.noted') return type;
  if (display !== undefined) return 'qr.display';
  const isConfirmed = operations.some(({ status }) => status !== 'Pending');
  return isConfirmed ? 'qr.cancel_confirmed' : type;
}

/**
 * The step of a report. An event always gives a step, an answer only if it brings something new.
 */
export function reportStep(loaded: LoadedQr, told: Told, context: Context): Reported | undefined {
  const { position, providerTransactionId } = loaded.row;
  const { at, provider, answered } = context;
  const verdict = judgeReport(position, told);
  const display = newDisplay(loaded, verdict, told);
  const operations = operationsOf(loaded, verdict, told, context);
  const isNamed = told.providerTransactionId !== undefined && providerTransactionId === undefined;
  const isNews =
    verdict.kind !== 'Nothing' ||
    verdict.why === 'Contradicts' ||
    isNamed ||
    display !== undefined ||
    operations.length > 0;
  if (!isNews && provider === undefined && answered === undefined) return undefined;
  const live = isLive(apply(position, verdict.changes));
  const opens = operations.some(({ status }) => status === 'Pending');
  const { pollAfterMs } = told;
  const expiresAt = expiryOf(loaded, told, context);
  const step: Step = {
    at,
    type: finalType(typeOf(loaded, verdict), display, operations),
    changes: verdict.changes,
    data: {
      ...dataOf(loaded, verdict, told),
      ...defined({ display }),
      ...(live && expiresAt !== undefined ? { expiresAt: isoTime(expiresAt) } : {}),
      ...defined({ provider, answered }),
    },
    operations,
    providerTransactionId: told.providerTransactionId,
    ...(live && expiresAt !== undefined ? { expiresAt } : {}),
    ...(opens ? { askAt: at } : pollAfterMs === undefined ? {} : { askAt: at + pollAfterMs }),
  };
  return { step, ...alarmOf(verdict) };
}
