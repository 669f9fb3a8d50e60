// Sends the open requests of a payment to its provider and stores the answers.
import { type CancelReason, defined } from '@switchyard/contract';
import type {
  CancelAnswered,
  PaymentAnswer,
  ProviderPaymentRef,
  Providers,
} from '../providers/index.ts';
import { settle, settleRefund, settleReport } from '../runtime/commit-steps.ts';
import type { QrDeps } from '../runtime/qr-dependencies.ts';
import { isEnd, newOperation, type Told } from '../transaction/apply-payment-report.ts';
import {
  ended,
  isOpen,
  leaseMs,
  openCancels,
  pauseMs,
  type Step,
} from '../transaction/build-change.ts';
import { answerMs, cancelForMs, endGraceMs } from '../transaction/limits.ts';
import type { LoadedQr, StoredOperation } from '../transaction/records.ts';
import { endAlone, isLive } from '../transaction/state-machine.ts';
import { isStale, unansweredStep } from '../transaction/unanswered-refunds.ts';

/** The server raises an alarm after each series of this many polls without an answer. */
const alarmAfter = 8;

export function refOf({ row }: LoadedQr): ProviderPaymentRef {
  const { organizationId, serviceId, transactionId, providerTransactionId } = row;
  return {
    organizationId,
    serviceId,
    transactionId,
    ...defined({ providerTransactionId }),
  };
}

export function toldBy(answer: PaymentAnswer): Told {
  const { status, amount, currency, display, expiresAt, pollAfterMs, failure, payer } = answer;
  return {
    said: status,
    ...defined({ amount, currency }),
    providerTransactionId: answer.providerTransactionId,
    display,
    expiresAt: expiresAt?.getTime(),
    pollAfterMs,
    failure,
    payer,
  };
}

/** Handles a missing answer: the next poll waits longer, and a payment ends at a fixed time. */
async function unanswered(deps: QrDeps, loaded: LoadedQr): Promise<LoadedQr> {
  const now = deps.clock.now();
  const { row, operations } = loaded;
  const isEnded = deps.dueClock.hasPassed(endBy(loaded), Date.parse(row.createdAt));
  if (isLive(row.position) && row.position.ending !== null && isEnded) {
    return settle(deps, loaded, (standing) => endStep(standing, now));
  }
  const stale = openCancels(loaded).filter(
    (each) => now >= Date.parse(each.createdAt) + cancelForMs,
  );
  if (stale.length > 0 && !isLive(row.position)) return giveUp(deps, loaded, stale, now);
  const looks = row.looks + 1;
  if (looks % alarmAfter === 0 && operations.some(isOpen)) {
    const isRefund = operations.some((each) => each.kind === 'Refund' && isOpen(each));
    deps.alarms.raise(isRefund ? 'refund_unanswered' : 'cancel_unanswered', row);
  }
  const pauseEnd = now + pauseMs(row.looks);
  const dueAt = isLive(row.position) ? Math.min(pauseEnd, lastDue(loaded, now)) : pauseEnd;
  await deps.store.postpone(row, dueAt, looks);
  return loaded;
}

/** The time at which a payment with an open cancel ends, even without the provider's answer. */
function endBy({ row, operations }: LoadedQr): number {
  const begun = operations.filter((each) => each.kind === 'Cancel' && isOpen(each));
  const last = Math.max(row.expiresAt, ...begun.map((each) => Date.parse(each.createdAt)));
  return last + endGraceMs;
}

function lastDue(loaded: LoadedQr, now: number): number {
  const { ending } = loaded.row.position;
  const end = ending === null ? loaded.row.expiresAt : endBy(loaded);
  return end > now ? end : Number.POSITIVE_INFINITY;
}

/** Ends the payment for the terminal, while the server continues to poll the provider. */
function endStep(standing: LoadedQr, at: number): Step | undefined {
  const { position } = standing.row;
  if (!isLive(position) || position.ending === null) return undefined;
  const changes = endAlone(position);
  const { phase = 'Expired' } = changes;
  const type = `qr.${phase.toLowerCase()}` as Step['type'];
  return { at, type, changes, data: { reason: 'Unanswered' }, unanswered: true };
}

async function giveUp(
  deps: QrDeps,
  loaded: LoadedQr,
  stale: readonly StoredOperation[],
  at: number,
): Promise<LoadedQr> {
  deps.alarms.raise('cancel_unanswered', loaded.row);
  const numbers = new Set(stale.map(({ number }) => number));
  return settle(deps, loaded, (standing) => {
    const open = openCancels(standing).filter(({ number }) => numbers.has(number));
    if (open.length === 0) return undefined;
    const operations = open.map((each) => ended(each, 'Failed', at));
    return {
      at,
      type: 'qr.cancel_failed',
      changes: {},
      operations,
      data: { reason: 'Unanswered' },
    };
  });
}

/**
 * Declines the open cancels after the provider refused them; the consumer may still pay. After
 * `answerMs` this is not possible: the client already has the answer that the cancel is pending.
 */
function refuseStep(
  standing: LoadedQr,
  at: number,
  failure: Step['data'] & object,
): Step | undefined {
  const open = openCancels(standing);
  if (open.length === 0 || standing.row.position.ending !== 'Merchant') return undefined;
  const isTold = ({ details, createdAt }: StoredOperation) =>
    details.cause === 'Merchant' && at >= Date.parse(createdAt) + answerMs;
  if (open.some(isTold)) return undefined;
  const operations = open.map((each) => ended(each, 'Declined', at, failure));
  return { at, type: 'qr.cancel_failed', changes: { ending: null }, data: failure, operations };
}

/** Sends a second call after the first one, under a lease that keeps other processes away. */
async function askBehind<Answer>(
  deps: QrDeps,
  { row }: LoadedQr,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  await deps.store.postpone(row, deps.clock.now() + leaseMs, row.looks);
  return ask();
}

const statusBehind = (deps: QrDeps, loaded: LoadedQr) =>
  askBehind(deps, loaded, () => deps.providers.status(refOf(loaded)));

/** Applies the answer to a cancel and returns the payment after it. */
async function cancelled(
  deps: QrDeps,
  loaded: LoadedQr,
  { status, failure, providerTransactionId }: CancelAnswered,
): Promise<LoadedQr> {
  if (!isEnd(status)) return unanswered(deps, loaded);
  const standing = (await deps.store.find(loaded.row)) ?? loaded;
  const isPaid = status === 'Completed' || status === 'PartiallyRefunded';
  if (!isPaid || standing.row.position.paid > 0) {
    return settleReport(deps, standing, { said: status, failure, providerTransactionId });
  }
  // The answer to a cancel has no paid amount, and the server does not assume the requested amount.
  const state = await statusBehind(deps, standing);
  const isSaid = state.outcome === 'Answered' && isEnd(state.status);
  return isSaid ? settleReport(deps, standing, toldBy(state)) : unanswered(deps, standing);
}

function reasonOf(loaded: LoadedQr): CancelReason {
  const causes = openCancels(loaded).map(({ details }) => details.cause);
  if (causes.includes('Merchant')) return 'Merchant';
  return causes.includes('Unknown') ? 'Unknown' : 'Expired';
}

/** Set for the first call, while the client still waits for its answer. */
export type AskOptions = { readonly isFirst?: true };

/** Sends the open cancel of a payment to its provider. */
export async function askCancel(
  deps: QrDeps,
  loaded: LoadedQr,
  { isFirst }: AskOptions = {},
): Promise<LoadedQr> {
  const answer = await deps.providers.cancel(refOf(loaded), reasonOf(loaded));
  deps.failPoints.hit('after-send');
  switch (answer.outcome) {
    case 'Answered':
      return cancelled(deps, loaded, answer);
    case 'NotFound':
      // The payment never reached the provider, and the provider remembers the cancel.
      return settleReport(deps, loaded, { said: 'Cancelled' });
    case 'Refused': {
      if (answer.reason === 'signature') return unanswered(deps, loaded);
      const { code, text } = answer;
      const failure = defined({ code, text });
      const state = await statusBehind(deps, loaded);
      if (state.outcome === 'NotFound') return settleReport(deps, loaded, { said: 'Cancelled' });
      if (state.outcome !== 'Answered') return unanswered(deps, loaded);
      if (isEnd(state.status)) return settleReport(deps, loaded, toldBy(state));
      if (isFirst !== true) return unanswered(deps, loaded);
      const at = deps.clock.now();
      const standing = await settle(deps, loaded, (each) => refuseStep(each, at, { failure }));
      return standing === loaded ? unanswered(deps, loaded) : standing;
    }
    default:
      return unanswered(deps, loaded);
  }
}

/** Handles a refund without a decision: the server retries it, up to a time limit. */
async function refundUnanswered(
  deps: QrDeps,
  loaded: LoadedQr,
  operation: StoredOperation,
): Promise<LoadedQr> {
  const now = deps.clock.now();
  if (!isStale(operation, now)) return unanswered(deps, loaded);
  const standing = await settle(deps, loaded, (each) =>
    unansweredStep(each, operation.operationId, now),
  );
  if (standing !== loaded) deps.alarms.raise('refund_unanswered', loaded.row);
  return standing;
}

type RefundAnswer = Awaited<ReturnType<Providers['refund']>>;

/** Applies the provider's answer to a refund. */
async function refundAnswered(
  deps: QrDeps,
  loaded: LoadedQr,
  operation: StoredOperation,
  answer: RefundAnswer,
): Promise<LoadedQr> {
  const { operationId, amount, details } = operation;
  const { currency } = loaded.row.position;
  switch (answer.outcome) {
    case 'Answered': {
      const { status, failure, providerRefundId } = answer;
      const told = answer.amount;
      if (told !== undefined && (told.amount !== amount || told.currency !== currency)) {
        deps.alarms.raise('amount_differs', loaded.row);
        return refundUnanswered(deps, loaded, operation);
      }
      const isKnown = status === 'Pending' && details.acknowledged === true;
      if (isKnown) return refundUnanswered(deps, loaded, operation);
      return settleRefund(deps, loaded, operationId, { said: status, failure, providerRefundId });
    }
    case 'Refused': {
      // The provider refused the status call or the signature, and not the refund.
      const isOfQuestion = details.acknowledged === true || answer.reason === 'signature';
      if (isOfQuestion) return refundUnanswered(deps, loaded, operation);
      const failure = { code: answer.code ?? 'refused', ...(answer.text && { text: answer.text }) };
      return settleRefund(deps, loaded, operationId, { said: 'Declined', failure });
    }
    case 'NotFound':
      if (details.acknowledged === true) {
        const { acknowledged: _was, ...rest } = details;
        const forgotten = { ...operation, details: rest };
        // Without this limit the server would retry forever if the provider always forgets the
        // refund.
        if (isStale(forgotten, deps.clock.now())) return refundUnanswered(deps, loaded, forgotten);
        return settleRefund(deps, loaded, operationId, { said: 'Forgotten' });
      }
      return settleRefund(deps, loaded, operationId, {
        said: 'Declined',
        failure: { code: 'payment_not_found' },
      });
    default:
      return refundUnanswered(deps, loaded, operation);
  }
}

/** Requests one open refund, or its status if the provider has acknowledged it. */
export async function askRefund(
  deps: QrDeps,
  loaded: LoadedQr,
  operation: StoredOperation,
  { isFirst }: AskOptions = {},
): Promise<LoadedQr> {
  const { operationId, amount, details } = operation;
  const { currency } = loaded.row.position;
  const isLate = details.cause === 'LateCompletion';
  const reason = isLate ? 'CompletedAfterCancel' : 'Merchant';
  const { providers } = deps;
  const ask = () => providers.refundStatus(refOf(loaded), operationId);
  const isAcknowledged = details.acknowledged === true;
  const answer = isAcknowledged
    ? await ask()
    : await providers.refund(refOf(loaded), { refundId: operationId, amount, currency, reason });
  deps.failPoints.hit('after-send');
  const isRefused = answer.outcome === 'Refused' && answer.reason !== 'signature';
  if (!isRefused || isAcknowledged || isFirst === true) {
    return refundAnswered(deps, loaded, operation, answer);
  }
  // The provider may refuse a repetition because an earlier call made the refund and its answer was
  // lost.
  const state = await askBehind(deps, loaded, ask);
  if (state.outcome === 'NotFound') return refundAnswered(deps, loaded, operation, answer);
  if (state.outcome === 'Answered') return refundAnswered(deps, loaded, operation, state);
  return refundUnanswered(deps, loaded, operation);
}

/** Removes a display that the terminal already shows, so that it does not count as a change. */
async function withNews(
  { store }: QrDeps,
  { row }: LoadedQr,
  answer: PaymentAnswer,
): Promise<PaymentAnswer> {
  const { display, ...rest } = answer;
  if (display === undefined) return answer;
  const shown = (await store.shownEvents(row)).findLast(({ data }) => data.display !== undefined);
  const { type, data } = shown?.data.display ?? {};
  return type === display.type && data === display.data ? rest : answer;
}

/** Asks the provider for the status of a payment. */
export async function askStatus(deps: QrDeps, loaded: LoadedQr): Promise<LoadedQr> {
  const answer = await deps.providers.status(refOf(loaded));
  if (answer.outcome === 'Answered') {
    const standing = await settleReport(deps, loaded, toldBy(await withNews(deps, loaded, answer)));
    return standing === loaded ? unchanged(deps, loaded, answer) : standing;
  }
  if (answer.outcome === 'NotFound') {
    // The payment may still reach the provider; the provider remembers the cancel and ends it then.
    const how = { at: deps.clock.now(), newId: deps.ids.uuid, cause: 'Unknown' as const };
    const standing = await settle(deps, loaded, (each) => endingStep(each, how));
    return openCancels(standing).length > 0 ? askCancel(deps, standing) : standing;
  }
  return unanswered(deps, loaded);
}

/** Schedules the next poll of an unchanged payment, at the latest at its expiry. */
async function unchanged(
  deps: QrDeps,
  loaded: LoadedQr,
  { pollAfterMs }: PaymentAnswer,
): Promise<LoadedQr> {
  const now = deps.clock.now();
  const { row } = loaded;
  const next = pollAfterMs === undefined ? now + pauseMs(row.looks) : now + pollAfterMs;
  const dueAt = row.expiresAt > now ? Math.min(next, row.expiresAt) : next;
  await deps.store.postpone(row, dueAt, row.looks + 1);
  return loaded;
}

const endReasons = { Expiry: 'Expired', Unknown: 'NotFound' } as const;

/** Begins a cancel because the time to pay is over or the provider does not know the payment. */
export function endingStep(
  standing: LoadedQr,
  { at, newId, cause }: { at: number; newId: () => string; cause: 'Expiry' | 'Unknown' },
): Step | undefined {
  const { position } = standing.row;
  if (!isLive(position) || position.ending !== null || position.hold !== null) return undefined;
  const cancel = newOperation(standing, 'Cancel', { at, newId, amount: 0, cause });
  return {
    at,
    type: 'qr.cancel_pending',
    changes: { ending: cause },
    operations: [cancel],
    data: { reason: endReasons[cause] },
    askAt: at + leaseMs,
  };
}
