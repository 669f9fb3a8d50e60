// Cancels and refunds a payment: reserves by one guarded statement, then calls the provider.
import { defined, throwProblem } from '@switchyard/contract';
import { withUnknownOutcome } from '../../platform/index.ts';
import { sendCancel, sendRefund } from '../provider-queries/query-provider.ts';
import { OperationIdTakenError } from '../repository/qr-store.ts';
import { commitStep, commitWithRetry } from '../runtime/commit-steps.ts';
import type { QrDeps } from '../runtime/qr-dependencies.ts';
import { waitForChange } from '../runtime/running-payments.ts';
import { createOperation } from '../transaction/apply-payment-report.ts';
import {
  isOpen,
  leaseMs,
  openCancels,
  type PaymentStep,
  pauseMs,
} from '../transaction/build-change.ts';
import { conflictDetails } from '../transaction/conflict-details.ts';
import {
  concurrentChangesMax,
  duplicateWaitMs,
  operationsMax,
  providerTimeoutMs,
} from '../transaction/limits.ts';
import { requireSameRequest } from '../transaction/payment-request-rules.ts';
import type { LoadedPayment, StoredOperation } from '../transaction/records.ts';
import { decideOperation, type PaymentOperation } from '../transaction/state-machine.ts';
import { isUndecided } from '../transaction/unanswered-refunds.ts';

export type OperationRequest = {
  amount?: number | undefined;
  currency?: string | undefined;
  clientOperationId?: string | undefined;
};

export type OperationResult = {
  loaded: LoadedPayment;
  operation?: StoredOperation | undefined;
  replayed: boolean;
};

const requestOf = ({ amount, currency }: OperationRequest): Record<string, unknown> =>
  defined({ amount, currency });

const withNumber = ({ operations }: LoadedPayment, number: number | undefined) =>
  operations.find((each) => each.number === number);

/** Waits for an operation that another call began, until its answer or the time limit. */
async function waitForOperation(
  deps: QrDeps,
  row: LoadedPayment['row'],
  number: number,
): Promise<{ loaded: LoadedPayment; operation: StoredOperation }> {
  const until = deps.dueClock.now() + providerTimeoutMs + duplicateWaitMs;
  for (;;) {
    const loaded = await deps.store.find(row);
    const operation = loaded && withNumber(loaded, number);
    if (loaded === undefined || operation === undefined) {
      throw new Error('the operation does not exist');
    }
    const isFirstCallPending = isOpen(operation) && operation.details.awaited !== true;
    const createdAt = Date.parse(operation.createdAt);
    const isWithinTimeLimit = !deps.dueClock.hasPassed(createdAt + providerTimeoutMs, createdAt);
    if (!isFirstCallPending || !isWithinTimeLimit || deps.dueClock.now() >= until)
      return { loaded, operation };
    await waitForChange(deps.live, loaded.row, loaded.row.version, 250);
  }
}

/** Returns the operation with the client's identifier, after its answer or the time limit. */
async function findReplay(
  deps: QrDeps,
  { row }: LoadedPayment,
  kind: PaymentOperation,
  request: OperationRequest,
): Promise<OperationResult | undefined> {
  const { clientOperationId } = request;
  if (clientOperationId === undefined) return undefined;
  const { organizationId, merchantId, transactionId } = row;
  const key = { organizationId, merchantId, kind, clientOperationId };
  const earlier = await deps.store.findOperation(key);
  if (earlier === undefined) return undefined;
  if (earlier.transactionId !== transactionId) {
    requireSameRequest(
      { transactionId: earlier.transactionId },
      { transactionId },
      'clientOperationId',
    );
  }
  const payment = await deps.store.find(row);
  const operation = payment && withNumber(payment, earlier.number);
  if (operation === undefined) throw new Error('the operation does not exist');
  requireSameRequest(operation.details.request, requestOf(request), 'clientOperationId');
  const { loaded, operation: currentOperation } = await waitForOperation(deps, row, earlier.number);
  if (!isUndecided(currentOperation))
    return { loaded, operation: currentOperation, replayed: true };
  // After a crash during the first call, this is the first answer to the client.
  const current = await storePendingAnswer(deps, loaded, earlier.number);
  return { loaded: current, operation: withNumber(current, earlier.number), replayed: true };
}

/**
 * Limits the operations of a payment, because declined ones have no other limit.
 *
 * @throws ProblemError event_limit_reached
 */
function requireBelowOperationLimit(loaded: LoadedPayment): void {
  if (loaded.row.operationCount < operationsMax) return;
  const detail = `A payment can have at most ${operationsMax} operations.`;
  throwProblem('event_limit_reached', detail, { extensions: conflictDetails(loaded) });
}

/** The amount of a refund. @throws ProblemError of the amount */
function requireRefundAmount(
  loaded: LoadedPayment,
  { amount, currency }: OperationRequest,
  maxAmount: number,
) {
  const { position } = loaded.row;
  const extensions = conflictDetails(loaded);
  if (currency !== undefined && currency !== position.currency) {
    const detail = 'A refund is in the currency of the payment.';
    const error = { pointer: '/currency', code: 'currency_mismatch', detail };
    throwProblem('currency_mismatch', detail, { extensions, errors: [error] });
  }
  const refundAmount = amount ?? maxAmount;
  if (refundAmount === 0) {
    throwProblem(
      'already_refunded',
      'The whole amount is already refunded, or its refund is pending.',
      { extensions },
    );
  }
  if (refundAmount > maxAmount) {
    const detail = `The amount ${refundAmount} exceeds the refundable amount ${maxAmount} (minor units of ${position.currency}).`;
    throwProblem('refund_amount_exceeded', detail, {
      extensions: { ...extensions, maxAmount },
      errors: [{ pointer: '/amount', code: 'too_large', detail }],
    });
  }
  return refundAmount;
}

function beginStep(
  deps: QrDeps,
  loaded: LoadedPayment,
  kind: PaymentOperation,
  request: OperationRequest,
  amount: number,
): PaymentStep {
  const at = deps.clock.now();
  const operation = createOperation(loaded, kind, {
    at,
    newId: deps.ids.uuid,
    amount,
    cause: 'Merchant',
    request: requestOf(request),
    clientOperationId: request.clientOperationId,
  });
  const shared = { at, operations: [operation], pollAt: at + leaseMs };
  return kind === 'Cancel'
    ? { ...shared, type: 'qr.cancel_pending', changes: { ending: 'Merchant' } }
    : { ...shared, type: 'qr.refund_pending', changes: { refundReserved: amount } };
}

/**
 * Checks the identifier again in the exclusive section. If a concurrent request has used it, this
 * request becomes a replay.
 *
 * @throws OperationIdTakenError if the operation was added after the first check
 */
function requireNewIdentifier(
  { operations }: LoadedPayment,
  kind: PaymentOperation,
  request: OperationRequest,
): void {
  const { clientOperationId } = request;
  if (clientOperationId === undefined) return;
  const isSame = (each: StoredOperation) =>
    each.kind === kind && each.clientOperationId === clientOperationId;
  if (operations.some(isSame)) throw new OperationIdTakenError();
}

type Reserved = { done: OperationResult; send: boolean };

/** Runs in sequence in this process; the version guards against other processes. */
function reserve(
  deps: QrDeps,
  payment: LoadedPayment,
  kind: PaymentOperation,
  request: OperationRequest,
): Promise<Reserved> {
  return deps.runningPayments.runExclusive(payment.row, async () => {
    for (let attempt = 0; attempt < concurrentChangesMax; attempt += 1) {
      const loaded = await deps.store.find(payment.row);
      if (loaded === undefined) throw new Error('a stored QR payment was not found');
      requireNewIdentifier(loaded, kind, request);
      const decision = decideOperation(loaded.row.position, kind);
      if (!decision.allowed) {
        return throwProblem(
          decision.reason,
          'The payment does not allow this operation in its current state.',
          {
            extensions: conflictDetails(loaded),
          },
        );
      }
      if (decision.mode === 'Nothing') return { done: { loaded, replayed: false }, send: false };
      const open = openCancels(loaded).find(({ details }) => details.cause === 'Merchant');
      if (kind === 'Cancel' && open !== undefined) {
        return { done: { loaded, operation: open, replayed: true }, send: false };
      }
      requireBelowOperationLimit(loaded);
      const amount =
        kind === 'Refund' ? requireRefundAmount(loaded, request, decision.maxAmount) : 0;
      const step = beginStep(deps, loaded, kind, request, amount);
      const current = await commitStep(deps, loaded, step);
      if (current === undefined) continue;
      const operation = withNumber(current, step.operations?.[0]?.number);
      return { done: { loaded: current, operation, replayed: false }, send: true };
    }
    return throwProblem(
      'concurrent_modification',
      'Too many requests changed this payment at the same time. Retry the request.',
    );
  });
}

/**
 * Stores that the operation is pending before the server answers 202, so that a replay also gets
 * 202.
 */
function storePendingAnswer(
  deps: QrDeps,
  loaded: LoadedPayment,
  number: number,
): Promise<LoadedPayment> {
  return commitWithRetry(deps, loaded, (current) => {
    const operation = withNumber(current, number);
    if (operation === undefined || !isUndecided(operation)) return undefined;
    if (operation.details.awaited === true) return undefined;
    const at = deps.clock.now();
    const details = { ...operation.details, awaited: true as const };
    return {
      at,
      type: 'qr.noted',
      changes: {},
      data: { reason: 'Unanswered' },
      unanswered: true,
      operations: [{ ...operation, details }],
      pollAt: at + pauseMs(current.row.pollAttempts),
    };
  });
}

/** Calls the provider for the reserved operation and stores the answer for the client. */
async function sendToProvider(
  deps: QrDeps,
  loaded: LoadedPayment,
  operation: StoredOperation,
): Promise<OperationResult> {
  deps.failPoints.hit('after-intent');
  const afterCall =
    operation.kind === 'Cancel'
      ? await sendCancel(deps, loaded, { isFirst: true })
      : await sendRefund(deps, loaded, operation, { isFirst: true });
  const current = await storePendingAnswer(deps, afterCall, operation.number);
  return {
    loaded: current,
    replayed: false,
    operation: withNumber(current, operation.number),
  };
}

/**
 * Cancels or refunds a payment.
 *
 * @throws ProblemError of the state or the amount
 */
export async function cancelOrRefund(
  deps: QrDeps,
  payment: LoadedPayment,
  kind: PaymentOperation,
  request: OperationRequest,
): Promise<OperationResult> {
  const earlier = await findReplay(deps, payment, kind, request);
  if (earlier !== undefined) return earlier;
  try {
    const { done, send } = await reserve(deps, payment, kind, request);
    const { loaded, operation } = done;
    if (operation === undefined) return done;
    // A second cancel gets the result of the first one, which the provider may still refuse.
    if (!send)
      return { ...(await waitForOperation(deps, loaded.row, operation.number)), replayed: true };
    return await withUnknownOutcome(() => sendToProvider(deps, loaded, operation));
  } catch (error) {
    if (!(error instanceof OperationIdTakenError)) throw error;
    const answer = await findReplay(deps, payment, kind, request);
    return (
      answer ??
      throwProblem(
        'concurrent_modification',
        'Another request changed this transaction at the same time. Retry the request.',
      )
    );
  }
}
