// Cancels and refunds a payment: reserves by one guarded statement, then calls the provider.
import { defined, throwProblem } from '@switchyard/contract';
import { withUnknownOutcome } from '../../platform/index.ts';
import { askCancel, askRefund } from '../provider-queries/query-provider.ts';
import { OperationIdTaken } from '../repository/qr-store.ts';
import { commit, settle } from '../runtime/commit-steps.ts';
import type { QrDeps } from '../runtime/qr-dependencies.ts';
import { nextChange } from '../runtime/running-payments.ts';
import { newOperation } from '../transaction/apply-payment-report.ts';
import { isOpen, leaseMs, openCancels, pauseMs, type Step } from '../transaction/build-change.ts';
import { conflictOf } from '../transaction/conflict-details.ts';
import { answerMs, duplicateWaitMs, operationsMax, rivalsMax } from '../transaction/limits.ts';
import type { LoadedQr, StoredOperation } from '../transaction/records.ts';
import { refuseReuse } from '../transaction/request-rules.ts';
import { judgeVerb, type Verb } from '../transaction/state-machine.ts';
import { isUndecided } from '../transaction/unanswered-refunds.ts';

export type OperationCall = {
  amount?: number | undefined;
  currency?: string | undefined;
  clientOperationId?: string | undefined;
};

export type OperationDone = {
  loaded: LoadedQr;
  operation?: StoredOperation | undefined;
  replayed: boolean;
};

const requestOf = ({ amount, currency }: OperationCall): Record<string, unknown> =>
  defined({ amount, currency });

const withNumber = ({ operations }: LoadedQr, number: number | undefined) =>
  operations.find((each) => each.number === number);

/** Waits for an operation that another call began, until its answer or the time limit. */
async function begunBefore(
  deps: QrDeps,
  row: LoadedQr['row'],
  number: number,
): Promise<{ loaded: LoadedQr; operation: StoredOperation }> {
  const until = deps.dueClock.now() + answerMs + duplicateWaitMs;
  for (;;) {
    const loaded = await deps.store.find(row);
    const operation = loaded && withNumber(loaded, number);
    if (loaded === undefined || operation === undefined) {
      throw new Error('the operation does not exist');
    }
    const isAsked = isOpen(operation) && operation.details.awaited !== true;
    const createdAt = Date.parse(operation.createdAt);
    const isYoung = !deps.dueClock.hasPassed(createdAt + answerMs, createdAt);
    if (!isAsked || !isYoung || deps.dueClock.now() >= until) return { loaded, operation };
    await nextChange(deps.live, loaded.row, loaded.row.version, 250);
  }
}

/** Returns the operation with the client's identifier, after its answer or the time limit. */
async function replay(
  deps: QrDeps,
  { row }: LoadedQr,
  verb: Verb,
  call: OperationCall,
): Promise<OperationDone | undefined> {
  const { clientOperationId } = call;
  if (clientOperationId === undefined) return undefined;
  const { organizationId, merchantId, transactionId } = row;
  const key = { organizationId, merchantId, kind: verb, clientOperationId };
  const known = await deps.store.findOperation(key);
  if (known === undefined) return undefined;
  if (known.transactionId !== transactionId) {
    refuseReuse({ transactionId: known.transactionId }, { transactionId }, 'clientOperationId');
  }
  const begun = await deps.store.find(row);
  const operation = begun && withNumber(begun, known.number);
  if (operation === undefined) throw new Error('the operation does not exist');
  refuseReuse(operation.details.request, requestOf(call), 'clientOperationId');
  const { loaded, operation: found } = await begunBefore(deps, row, known.number);
  if (!isUndecided(found)) return { loaded, operation: found, replayed: true };
  // After a crash during the first call, this is the first answer to the client.
  const standing = await toldToWait(deps, loaded, known.number);
  return { loaded: standing, operation: withNumber(standing, known.number), replayed: true };
}

/**
 * Limits the operations of a payment, because declined ones have no other limit.
 *
 * @throws Refusal event_limit_reached
 */
function refuseTooMany(loaded: LoadedQr): void {
  if (loaded.row.operationCount < operationsMax) return;
  const detail = `More than ${operationsMax} operations are not taken.`;
  throwProblem('event_limit_reached', detail, { extensions: conflictOf(loaded) });
}

/** The amount of a refund. @throws Refusal of the amount */
function amountOf(loaded: LoadedQr, { amount, currency }: OperationCall, maxAmount: number) {
  const { position } = loaded.row;
  const extensions = conflictOf(loaded);
  if (currency !== undefined && currency !== position.currency) {
    const detail = 'A refund is in the currency of the payment.';
    const error = { pointer: '/currency', code: 'currency_mismatch', detail };
    throwProblem('currency_mismatch', detail, { extensions, errors: [error] });
  }
  const wanted = amount ?? maxAmount;
  if (wanted === 0) {
    throwProblem('already_refunded', 'All of it is refunded, or about to be.', { extensions });
  }
  if (wanted > maxAmount) {
    const detail = `${maxAmount} ${position.currency} minor units are left to refund.`;
    throwProblem('refund_amount_exceeded', detail, {
      extensions: { ...extensions, maxAmount },
      errors: [{ pointer: '/amount', code: 'too_large', detail }],
    });
  }
  return wanted;
}

function firstStep(
  deps: QrDeps,
  loaded: LoadedQr,
  verb: Verb,
  call: OperationCall,
  amount: number,
): Step {
  const at = deps.clock.now();
  const operation = newOperation(loaded, verb, {
    at,
    newId: deps.ids.uuid,
    amount,
    cause: 'Merchant',
    request: requestOf(call),
    clientOperationId: call.clientOperationId,
  });
  const shared = { at, operations: [operation], askAt: at + leaseMs };
  return verb === 'Cancel'
    ? { ...shared, type: 'qr.cancel_pending', changes: { ending: 'Merchant' } }
    : { ...shared, type: 'qr.refund_pending', changes: { refundReserved: amount } };
}

/**
 * Checks the identifier again in the exclusive section. If a concurrent request has used it, this
 * request becomes a replay.
 *
 * @throws OperationIdTaken if the operation was added after the first check
 */
function demandNewIdentifier({ operations }: LoadedQr, verb: Verb, call: OperationCall): void {
  const { clientOperationId } = call;
  if (clientOperationId === undefined) return;
  const isSame = (each: StoredOperation) =>
    each.kind === verb && each.clientOperationId === clientOperationId;
  if (operations.some(isSame)) throw new OperationIdTaken();
}

type Reserved = { done: OperationDone; send: boolean };

/** Runs in sequence in this process; the version guards against other processes. */
function reserve(
  deps: QrDeps,
  found: LoadedQr,
  verb: Verb,
  call: OperationCall,
): Promise<Reserved> {
  return deps.running.inTurn(found.row, async () => {
    for (let attempt = 0; attempt < rivalsMax; attempt += 1) {
      const loaded = await deps.store.find(found.row);
      if (loaded === undefined) throw new Error('a QR payment has vanished');
      demandNewIdentifier(loaded, verb, call);
      const verdict = judgeVerb(loaded.row.position, verb);
      if (!verdict.allowed) {
        return throwProblem(verdict.reason, 'The payment does not allow it stands.', {
          extensions: conflictOf(loaded),
        });
      }
      if (verdict.mode === 'Nothing') return { done: { loaded, replayed: false }, send: false };
      const open = openCancels(loaded).find(({ details }) => details.cause === 'Merchant');
      if (verb === 'Cancel' && open !== undefined) {
        return { done: { loaded, operation: open, replayed: true }, send: false };
      }
      refuseTooMany(loaded);
      const amount = verb === 'Refund' ? amountOf(loaded, call, verdict.maxAmount) : 0;
      const step = firstStep(deps, loaded, verb, call, amount);
      const standing = await commit(deps, loaded, step);
      if (standing === undefined) continue;
      const operation = withNumber(standing, step.operations?.[0]?.number);
      return { done: { loaded: standing, operation, replayed: false }, send: true };
    }
    return throwProblem('concurrent_modification', 'Too many work on this payment; try again.');
  });
}

/**
 * Stores that the operation is pending before the server answers 202, so that a replay also gets
 * 202.
 */
function toldToWait(deps: QrDeps, loaded: LoadedQr, number: number): Promise<LoadedQr> {
  return settle(deps, loaded, (standing) => {
    const operation = withNumber(standing, number);
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
      askAt: at + pauseMs(standing.row.looks),
    };
  });
}

/** Calls the provider for the reserved operation and stores the answer for the client. */
async function finish(
  deps: QrDeps,
  loaded: LoadedQr,
  operation: StoredOperation,
): Promise<OperationDone> {
  deps.failPoints.hit('after-intent');
  const answered =
    operation.kind === 'Cancel'
      ? await askCancel(deps, loaded, { isFirst: true })
      : await askRefund(deps, loaded, operation, { isFirst: true });
  const standing = await toldToWait(deps, answered, operation.number);
  return {
    loaded: standing,
    replayed: false,
    operation: withNumber(standing, operation.number),
  };
}

/**
 * Cancels or refunds a payment.
 *
 * @throws Refusal of the state or the amount
 */
export async function operate(
  deps: QrDeps,
  found: LoadedQr,
  verb: Verb,
  call: OperationCall,
): Promise<OperationDone> {
  const known = await replay(deps, found, verb, call);
  if (known !== undefined) return known;
  try {
    const { done, send } = await reserve(deps, found, verb, call);
    const { loaded, operation } = done;
    if (operation === undefined) return done;
    // A second cancel gets the result of the first one, which the provider may still refuse.
    if (!send)
      return { ...(await begunBefore(deps, loaded.row, operation.number)), replayed: true };
    return await withUnknownOutcome(() => finish(deps, loaded, operation));
  } catch (error) {
    if (!(error instanceof OperationIdTaken)) throw error;
    const answer = await replay(deps, found, verb, call);
    return (
      answer ??
      throwProblem(
        'concurrent_modification',
        'Another request changed this transaction at the same time. Retry the request.',
      )
    );
  }
}
