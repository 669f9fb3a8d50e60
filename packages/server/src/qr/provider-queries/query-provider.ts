// Sends the open requests of a payment to its provider and stores the answers.
import { type CancelReason, defined } from '@switchyard/contract';
import type {
  CancelAnswered,
  PaymentAnswer,
  ProviderPaymentRef,
  Providers,
} from '../providers/index.ts';
import {
  commitPaymentReport,
  commitRefundReport,
  commitWithRetry,
} from '../runtime/commit-steps.ts';
import type { QrDeps } from '../runtime/qr-dependencies.ts';
import {
  createOperation,
  isFinalStatus,
  type PaymentReport,
} from '../transaction/apply-payment-report.ts';
import {
  isOpen,
  leaseMs,
  openCancels,
  type PaymentStep,
  pauseMs,
  withStatus,
} from '../transaction/build-change.ts';
import {
  cancelRetryMs,
  expiryGraceMs,
  providerTimeoutMs,
  statusPollMs,
} from '../transaction/limits.ts';
import type { LoadedPayment, StoredOperation } from '../transaction/records.ts';
import { endUnansweredPayment, isLive } from '../transaction/state-machine.ts';
import { isRetryTimeOver, unansweredRefundStep } from '../transaction/unanswered-refunds.ts';

/** The server raises an alarm after each series of this many polls without an answer. */
const pollsPerAlarm = 8;

export function providerPaymentRef({ row }: LoadedPayment): ProviderPaymentRef {
  const { organizationId, serviceId, transactionId, providerTransactionId } = row;
  return {
    organizationId,
    serviceId,
    transactionId,
    ...defined({ providerTransactionId }),
  };
}

export function paymentReportOf(answer: PaymentAnswer): PaymentReport {
  const { status, amount, currency, display, expiresAt, pollAfterMs, failure, payer } = answer;
  return {
    status,
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
async function handleMissingAnswer(deps: QrDeps, loaded: LoadedPayment): Promise<LoadedPayment> {
  const now = deps.clock.now();
  const { row, operations } = loaded;
  const isEnded = deps.dueClock.hasPassed(forcedEndTime(loaded), Date.parse(row.createdAt));
  if (isLive(row.position) && row.position.ending !== null && isEnded) {
    return commitWithRetry(deps, loaded, (current) => forcedEndStep(current, now));
  }
  const staleCancels = openCancels(loaded).filter(
    (each) => now >= Date.parse(each.createdAt) + cancelRetryMs,
  );
  if (staleCancels.length > 0 && !isLive(row.position))
    return failStaleCancels(deps, loaded, staleCancels, now);
  const pollAttempts = row.pollAttempts + 1;
  if (pollAttempts % pollsPerAlarm === 0 && operations.some(isOpen)) {
    const isRefund = operations.some((each) => each.kind === 'Refund' && isOpen(each));
    deps.alarms.raise(isRefund ? 'refund_unanswered' : 'cancel_unanswered', row);
  }
  const pauseEnd = now + pauseMs(row.pollAttempts);
  const dueAt = isLive(row.position) ? Math.min(pauseEnd, latestDueTime(loaded, now)) : pauseEnd;
  await deps.store.postpone(row, dueAt, pollAttempts);
  return loaded;
}

/** The time at which a payment with an open cancel ends, even without the provider's answer. */
function forcedEndTime({ row, operations }: LoadedPayment): number {
  const openCancelOperations = operations.filter((each) => each.kind === 'Cancel' && isOpen(each));
  const last = Math.max(
    row.expiresAt,
    ...openCancelOperations.map((each) => Date.parse(each.createdAt)),
  );
  return last + expiryGraceMs;
}

function latestDueTime(loaded: LoadedPayment, now: number): number {
  const { ending } = loaded.row.position;
  const end = ending === null ? loaded.row.expiresAt : forcedEndTime(loaded);
  return end > now ? end : Number.POSITIVE_INFINITY;
}

/** Ends the payment for the terminal, while the server continues to poll the provider. */
function forcedEndStep(current: LoadedPayment, at: number): PaymentStep | undefined {
  const { position } = current.row;
  if (!isLive(position) || position.ending === null) return undefined;
  const changes = endUnansweredPayment(position);
  const { phase = 'Expired' } = changes;
  const type = `qr.${phase.toLowerCase()}` as PaymentStep['type'];
  return { at, type, changes, data: { reason: 'Unanswered' }, unanswered: true };
}

async function failStaleCancels(
  deps: QrDeps,
  loaded: LoadedPayment,
  staleCancels: readonly StoredOperation[],
  at: number,
): Promise<LoadedPayment> {
  deps.alarms.raise('cancel_unanswered', loaded.row);
  const numbers = new Set(staleCancels.map(({ number }) => number));
  return commitWithRetry(deps, loaded, (current) => {
    const open = openCancels(current).filter(({ number }) => numbers.has(number));
    if (open.length === 0) return undefined;
    const operations = open.map((each) => withStatus(each, 'Failed', at));
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
 * `providerTimeoutMs` this is not possible: the client already has the answer that the cancel is pending.
 */
function declinedCancelStep(
  current: LoadedPayment,
  at: number,
  failure: PaymentStep['data'] & object,
): PaymentStep | undefined {
  const open = openCancels(current);
  if (open.length === 0 || current.row.position.ending !== 'Merchant') return undefined;
  const isAlreadyAnswered = ({ details, createdAt }: StoredOperation) =>
    details.cause === 'Merchant' && at >= Date.parse(createdAt) + providerTimeoutMs;
  if (open.some(isAlreadyAnswered)) return undefined;
  const operations = open.map((each) => withStatus(each, 'Declined', at, failure));
  return { at, type: 'qr.cancel_failed', changes: { ending: null }, data: failure, operations };
}

/** Sends a second call after the first one, under a lease that keeps other processes away. */
async function callWithLease<Answer>(
  deps: QrDeps,
  { row }: LoadedPayment,
  call: () => Promise<Answer>,
): Promise<Answer> {
  await deps.store.postpone(row, deps.clock.now() + leaseMs, row.pollAttempts);
  return call();
}

const queryStatusWithLease = (deps: QrDeps, loaded: LoadedPayment) =>
  callWithLease(deps, loaded, () => deps.providers.status(providerPaymentRef(loaded)));

/** Applies the answer to a cancel and returns the payment after it. */
async function applyCancelAnswer(
  deps: QrDeps,
  loaded: LoadedPayment,
  { status, failure, providerTransactionId }: CancelAnswered,
): Promise<LoadedPayment> {
  if (!isFinalStatus(status)) return handleMissingAnswer(deps, loaded);
  const current = (await deps.store.find(loaded.row)) ?? loaded;
  const isPaid = status === 'Completed' || status === 'PartiallyRefunded';
  if (!isPaid || current.row.position.paid > 0) {
    return commitPaymentReport(deps, current, { status, failure, providerTransactionId });
  }
  // The answer to a cancel has no paid amount, and the server does not assume the requested amount.
  const state = await queryStatusWithLease(deps, current);
  const isFinalAnswer = state.outcome === 'Answered' && isFinalStatus(state.status);
  return isFinalAnswer
    ? commitPaymentReport(deps, current, paymentReportOf(state))
    : handleMissingAnswer(deps, current);
}

function cancelReason(loaded: LoadedPayment): CancelReason {
  const causes = openCancels(loaded).map(({ details }) => details.cause);
  if (causes.includes('Merchant')) return 'Merchant';
  return causes.includes('Unknown') ? 'Unknown' : 'Expired';
}

/** Set for the first call, while the client still waits for its answer. */
export type FirstQueryOptions = { readonly isFirst?: true };

/** Sends the open cancel of a payment to its provider. */
export async function sendCancel(
  deps: QrDeps,
  loaded: LoadedPayment,
  { isFirst }: FirstQueryOptions = {},
): Promise<LoadedPayment> {
  const answer = await deps.providers.cancel(providerPaymentRef(loaded), cancelReason(loaded));
  deps.failPoints.hit('after-send');
  switch (answer.outcome) {
    case 'Answered':
      return applyCancelAnswer(deps, loaded, answer);
    case 'NotFound':
      // The payment never reached the provider, and the provider remembers the cancel.
      return commitPaymentReport(deps, loaded, { status: 'Cancelled' });
    case 'Refused': {
      if (answer.reason === 'signature') return handleMissingAnswer(deps, loaded);
      const { code, text } = answer;
      const failure = defined({ code, text });
      const state = await queryStatusWithLease(deps, loaded);
      if (state.outcome === 'NotFound')
        return commitPaymentReport(deps, loaded, { status: 'Cancelled' });
      if (state.outcome !== 'Answered') return handleMissingAnswer(deps, loaded);
      if (isFinalStatus(state.status))
        return commitPaymentReport(deps, loaded, paymentReportOf(state));
      if (isFirst !== true) return handleMissingAnswer(deps, loaded);
      const at = deps.clock.now();
      const current = await commitWithRetry(deps, loaded, (each) =>
        declinedCancelStep(each, at, { failure }),
      );
      return current === loaded ? handleMissingAnswer(deps, loaded) : current;
    }
    default:
      return handleMissingAnswer(deps, loaded);
  }
}

/** Handles a refund without a decision: the server retries it, up to a time limit. */
async function handleMissingRefundAnswer(
  deps: QrDeps,
  loaded: LoadedPayment,
  operation: StoredOperation,
): Promise<LoadedPayment> {
  const now = deps.clock.now();
  if (!isRetryTimeOver(operation, now)) return handleMissingAnswer(deps, loaded);
  const current = await commitWithRetry(deps, loaded, (each) =>
    unansweredRefundStep(each, operation.operationId, now),
  );
  if (current !== loaded) deps.alarms.raise('refund_unanswered', loaded.row);
  return current;
}

type RefundAnswer = Awaited<ReturnType<Providers['refund']>>;

/** Applies the provider's answer to a refund. */
async function applyRefundAnswer(
  deps: QrDeps,
  loaded: LoadedPayment,
  operation: StoredOperation,
  answer: RefundAnswer,
): Promise<LoadedPayment> {
  const { operationId, amount, details } = operation;
  const { currency } = loaded.row.position;
  switch (answer.outcome) {
    case 'Answered': {
      const { status, failure, providerRefundId } = answer;
      const reportedAmount = answer.amount;
      if (
        reportedAmount !== undefined &&
        (reportedAmount.amount !== amount || reportedAmount.currency !== currency)
      ) {
        deps.alarms.raise('amount_differs', loaded.row);
        return handleMissingRefundAnswer(deps, loaded, operation);
      }
      const isKnown = status === 'Pending' && details.acknowledged === true;
      if (isKnown) return handleMissingRefundAnswer(deps, loaded, operation);
      return commitRefundReport(deps, loaded, operationId, {
        status,
        failure,
        providerRefundId,
      });
    }
    case 'Refused': {
      // The provider refused the status call or the signature, and not the refund.
      const isAboutStatusCall = details.acknowledged === true || answer.reason === 'signature';
      if (isAboutStatusCall) return handleMissingRefundAnswer(deps, loaded, operation);
      const failure = { code: answer.code ?? 'refused', ...(answer.text && { text: answer.text }) };
      return commitRefundReport(deps, loaded, operationId, { status: 'Declined', failure });
    }
    case 'NotFound':
      if (details.acknowledged === true) {
        const { acknowledged: _was, ...rest } = details;
        const forgotten = { ...operation, details: rest };
        // Without this limit the server would retry forever if the provider always forgets the
        // refund.
        if (isRetryTimeOver(forgotten, deps.clock.now()))
          return handleMissingRefundAnswer(deps, loaded, forgotten);
        return commitRefundReport(deps, loaded, operationId, { status: 'Forgotten' });
      }
      return commitRefundReport(deps, loaded, operationId, {
        status: 'Declined',
        failure: { code: 'payment_not_found' },
      });
    default:
      return handleMissingRefundAnswer(deps, loaded, operation);
  }
}

/** Requests one open refund, or its status if the provider has acknowledged it. */
export async function sendRefund(
  deps: QrDeps,
  loaded: LoadedPayment,
  operation: StoredOperation,
  { isFirst }: FirstQueryOptions = {},
): Promise<LoadedPayment> {
  const { operationId, amount, details } = operation;
  const { currency } = loaded.row.position;
  const isLate = details.cause === 'LateCompletion';
  const reason = isLate ? 'CompletedAfterCancel' : 'Merchant';
  const { providers } = deps;
  const call = () => providers.refundStatus(providerPaymentRef(loaded), operationId);
  const isAcknowledged = details.acknowledged === true;
  const answer = isAcknowledged
    ? await call()
    : await providers.refund(providerPaymentRef(loaded), {
        refundId: operationId,
        amount,
        currency,
        reason,
      });
  deps.failPoints.hit('after-send');
  const isRefused =
    answer.outcome === 'NotFound' ||
    (answer.outcome === 'Refused' && answer.reason !== 'signature');
  if (!isRefused || isAcknowledged || isFirst === true) {
    return applyRefundAnswer(deps, loaded, operation, answer);
  }
  // The provider may refuse a repetition because an earlier call made the refund and its answer was
  // lost.
  const state = await callWithLease(deps, loaded, call);
  if (state.outcome === 'NotFound') return applyRefundAnswer(deps, loaded, operation, answer);
  if (state.outcome === 'Answered') return applyRefundAnswer(deps, loaded, operation, state);
  return handleMissingRefundAnswer(deps, loaded, operation);
}

/** Removes a display that the terminal already shows, so that it does not count as a change. */
async function withoutKnownDisplay(
  { store }: QrDeps,
  { row }: LoadedPayment,
  answer: PaymentAnswer,
): Promise<PaymentAnswer> {
  const { display, ...rest } = answer;
  if (display === undefined) return answer;
  const lastDisplayEvent = (await store.eventsForView(row)).findLast(
    ({ data }) => data.display !== undefined,
  );
  const { type, data } = lastDisplayEvent?.data.display ?? {};
  return type === display.type && data === display.data ? rest : answer;
}

/** Asks the provider for the status of a payment. */
export async function queryStatus(deps: QrDeps, loaded: LoadedPayment): Promise<LoadedPayment> {
  const answer = await deps.providers.status(providerPaymentRef(loaded));
  if (answer.outcome === 'Answered') {
    const current = await commitPaymentReport(
      deps,
      loaded,
      paymentReportOf(await withoutKnownDisplay(deps, loaded, answer)),
    );
    return current === loaded ? scheduleNextPoll(deps, loaded, answer) : current;
  }
  if (answer.outcome === 'NotFound') {
    // The payment may still reach the provider; the provider remembers the cancel and ends it then.
    const stepOptions = { at: deps.clock.now(), newId: deps.ids.uuid, cause: 'Unknown' as const };
    const current = await commitWithRetry(deps, loaded, (each) =>
      beginCancelStep(each, stepOptions),
    );
    return openCancels(current).length > 0 ? sendCancel(deps, current) : current;
  }
  return handleMissingAnswer(deps, loaded);
}

/** Schedules the next poll of an unchanged payment, at the latest at its expiry. */
async function scheduleNextPoll(
  deps: QrDeps,
  loaded: LoadedPayment,
  { pollAfterMs = statusPollMs }: PaymentAnswer,
): Promise<LoadedPayment> {
  const now = deps.clock.now();
  const { row, operations } = loaded;
  const isPayable = row.expiresAt > now;
  const dueAt = isPayable
    ? Math.min(now + pollAfterMs, row.expiresAt)
    : now + pauseMs(row.pollAttempts);
  // The count makes pauses longer after missing answers; open operations take turns by it.
  const pollAttempts = isPayable && !operations.some(isOpen) ? 0 : row.pollAttempts + 1;
  await deps.store.postpone(row, dueAt, pollAttempts);
  return loaded;
}

const endReasons = { Expiry: 'Expired', Unknown: 'NotFound' } as const;

/** Begins a cancel because the time to pay is over or the provider does not know the payment. */
export function beginCancelStep(
  current: LoadedPayment,
  { at, newId, cause }: { at: number; newId: () => string; cause: 'Expiry' | 'Unknown' },
): PaymentStep | undefined {
  const { position } = current.row;
  if (!isLive(position) || position.ending !== null || position.hold !== null) return undefined;
  const cancel = createOperation(current, 'Cancel', { at, newId, amount: 0, cause });
  return {
    at,
    type: 'qr.cancel_pending',
    changes: { ending: cause },
    operations: [cancel],
    data: { reason: endReasons[cause] },
    pollAt: at + leaseMs,
  };
}
