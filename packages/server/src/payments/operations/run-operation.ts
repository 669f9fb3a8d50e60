// Captures, refunds and cancels alike: reserve the amount, speak to the acquirer, settle.
import { defined, refuse } from '@switchyard/contract';
import type { AcquirerOutcome, AcquirerRequest } from '../../acquiring/index.ts';
import type { Approval, Approve } from '../approvals/check-approval-code.ts';
import { refuseDeletedCard } from '../card-input/require-stored-card.ts';
import type { PaymentsDeps } from '../deps.ts';
import { OperationIdTaken } from '../repository/transaction-repository.ts';
import { collides, notFoundFinalAt, settledStep } from '../reversals/operation-outcome.ts';
import { acquirerReason } from '../reversals/reversal-reason.ts';
import {
  alarmCollision,
  alarmContradiction,
  noteUnsent,
  renewedWhereTaken,
  unansweredStep,
} from '../reversals/schedule-retry.ts';
import { mayHaveMoved } from '../runtime/unknown-outcome.ts';
import { filedStep, isFiled } from '../transaction/clearing-entry.ts';
import { hasLapsed } from '../transaction/contract-terms.ts';
import { overCaptureOf, type Terms, type Verb } from '../transaction/state-machine.ts';
import {
  type Change,
  factsOf,
  type LoadedTransaction,
  type OperationStatus,
  outcomeOf,
  type StoredOperation,
} from '../transaction/transaction.ts';
import { after, changeOf } from '../transaction/transition.ts';
import { withdrawnStep } from '../transaction/void-before-submission.ts';
import { decide, type OperationRequest, operationOf } from '../validation/validate-sale-request.ts';
import { commitFirst } from './insert-reservation.ts';
import {
  demandNewIdentifier,
  demandSameKind,
  OtherKindTaken,
  refuseOtherCancel,
  replayOperation,
} from './operation-idempotency.ts';
import { firstStep } from './reserve-amount.ts';

export type OperationCall = OperationRequest & {
  clientOperationId?: string | undefined;
  cancelReason?: 'Technical' | 'Functional';
  reversalReason?: string | undefined;
  /** Who did it, for what is done by web. */
  actor?: string;
  /** Of a reversal: what the chip said at last, for DE55. */
  chipData?: string | undefined;
  /** Left out where no approval code applies. */
  approval?: Approval;
};

export type OperationAnswer = {
  loaded: LoadedTransaction;
  /** Undefined where nothing was to be done. */
  operation: StoredOperation | undefined;
  replayed: boolean;
};

const rivalsMax = 20;

/** What of the contract that the sale was made under bounds an operation on it. */
export async function termsFor(deps: PaymentsDeps, loaded: LoadedTransaction): Promise<Terms> {
  const { organizationId, contractId, overCapture } = loaded.row;
  const contract = await deps.provisioning.contract(organizationId, contractId);
  if (contract === undefined) throw new Error('the contract of a transaction is gone');
  const { partialCancel, multipleCapture, overCapturePercent } = contract;
  // Of what was approved, which may be less than what was asked for.
  const approved = overCaptureOf(loaded.row.position.authorized, overCapturePercent);
  const lapsed = hasLapsed(loaded, factsOf(loaded), deps.clock.now());
  return { partialCancel, multipleCapture, overCapture: Math.min(overCapture, approved), lapsed };
}

/**
 * Does one operation on a transaction.
 *
 * @throws Refusal of the state, the amount or the configuration, acquirer_unavailable and not_sent
 */
export async function operate(
  deps: PaymentsDeps,
  found: LoadedTransaction,
  verb: Verb,
  call: OperationCall,
): Promise<OperationAnswer> {
  await refuseOtherCancel(deps, found, verb, call.clientOperationId);
  const known = await replayed(deps, found, verb, call);
  if (known !== undefined) return known;
  await refuseDeletedCard(deps, found);
  const { approval, clientOperationId } = call;
  const asked = { verb, approval, kind: operationOf[verb], clientOperationId };
  const approve: Approve = (loaded, amount) => deps.approvals.approve(asked, loaded, amount);
  try {
    const reservation = await reserve(deps, found, verb, call, approve);
    if (!reservation.send) return reservation.answer;
    return await finish(deps, reservation.answer);
  } catch (error) {
    if (!(error instanceof OperationIdTaken)) throw error;
    await refuseOtherCancel(deps, found, verb, clientOperationId);
    const answer = await replayed(deps, found, verb, call);
    if (answer !== undefined) return answer;
    // By web it may be the other one of the two that has it, perhaps of another transaction.
    if (call.actor !== undefined) throw new OtherKindTaken();
    return refuse('concurrent_modification', 'Somebody was faster; try again.');
  }
}

/** @throws Refusal not_sent, which the first request was told too */
async function replayed(
  deps: PaymentsDeps,
  found: LoadedTransaction,
  verb: Verb,
  call: OperationCall,
): Promise<OperationAnswer | undefined> {
  const known = await replayOperation(deps, found, verb, call);
  if (known?.operation?.status === 'Failed') refuseNotSent();
  return known;
}

/**
 * The same for the platform's own captures: of a transaction that was read a moment ago, under an
 * identifier that no client can give. What has it already is told as it stands.
 */
export async function operateOwn(
  deps: PaymentsDeps,
  found: LoadedTransaction,
  verb: Verb,
  call: OperationCall & { clientOperationId: string },
): Promise<OperationAnswer> {
  const known = found.operations.find((each) => each.clientOperationId === call.clientOperationId);
  if (known !== undefined) return { loaded: found, operation: known, replayed: true };
  if (!isFiled(found, verb)) await refuseDeletedCard(deps, found);
  const { send, answer } = await reserve(deps, found, verb, call, noApproval, found);
  return send ? finish(deps, answer) : answer;
}

const noApproval: Approve = async () => undefined;

function refuseNotSent(): never {
  return refuse('not_sent', 'Nothing was sent: try again under a new clientOperationId.');
}

type Reservation = { send: boolean; answer: OperationAnswer };

function reserve(
  deps: PaymentsDeps,
  found: LoadedTransaction,
  verb: Verb,
  call: OperationCall,
  approve: Approve,
  fresh?: LoadedTransaction,
): Promise<Reservation> {
  const { organizationId, transactionId } = found.row;
  return deps.running.inTurn(transactionId, async () => {
    for (let attempt = 0; attempt < rivalsMax; attempt += 1) {
      // What is stale does not pass the guard of the commit, and is read then.
      const seen = attempt === 0 ? fresh : undefined;
      const loaded = seen ?? (await deps.store.findById(organizationId, transactionId));
      if (loaded === undefined) throw new Error('a transaction has vanished');
      demandSameKind(loaded, verb, call);
      demandNewIdentifier(loaded, verb, call);
      const terms = await termsFor(deps, loaded);
      const decision = decide(loaded, verb, call, terms);
      if (typeof decision === 'string') return idle(loaded, decision);
      const { withdrawn = false } = decision;
      const filed = isFiled(loaded, verb);
      const needsLink = !withdrawn && !filed;
      const reachable = !needsLink || deps.acquiring.available(factsOf(loaded).linkId);
      // A till that gave up must not be told to come again: its reversal waits for the link.
      if (!reachable && verb !== 'Reverse') {
        refuse('acquirer_unavailable', 'The acquirer cannot be reached; nothing was sent.');
      }
      const approved = await approve(loaded, decision.amount);
      const waits = decision.queued || !needsLink || !reachable;
      const how = { ...decision, waits, approvalCodeId: approved?.approvalCodeId };
      let step = await firstStep(deps, loaded, verb, call, how);
      if (withdrawn) step = withdrawnStep(step);
      if (filed) step = filedStep(loaded, step);
      const change = changeOf(loaded.row, step);
      if (!(await commitFirst(deps, change, approved))) continue;
      deps.running.changed(transactionId);
      const answer = { loaded: after(loaded, change), operation: step.operation, replayed: false };
      return { send: !waits, answer };
    }
    return refuse('concurrent_modification', 'Too many work on this transaction; try again.');
  });
}

function idle(loaded: LoadedTransaction, decision: 'Nothing' | 'Replay'): Reservation {
  const last = loaded.operations.findLast((each) => each.kind === 'Reversal');
  const operation = decision === 'Replay' ? last : undefined;
  return { send: false, answer: { loaded, operation, replayed: decision === 'Replay' } };
}

/** Sends a reserved operation and settles it; without a final answer it is left to the jobs. */
async function finish(deps: PaymentsDeps, reserved: OperationAnswer): Promise<OperationAnswer> {
  const { loaded, operation } = reserved;
  if (operation === undefined) return reserved;
  deps.failPoints.hit('after-intent');
  const outcome = isTooLate(deps, operation)
    ? ({ outcome: 'NotSent', reason: 'too late to send' } as const)
    : await mayHaveMoved(sendOperation(deps, loaded, operation, false));
  noteUnsent(deps, outcome, { transactionId: loaded.row.transactionId, number: operation.number });
  const standing = await mayHaveMoved(settleOperation(deps, loaded, operation.number, outcome));
  const done = standing.operations.find((each) => each.number === operation.number);
  if (outcome.outcome === 'NotSent' && done?.status === 'Failed') refuseNotSent();
  return { loaded: standing, operation: done, replayed: false };
}

/** Whether the sweep may have taken an operation over from a process that was stopped meanwhile. */
function isTooLate(deps: PaymentsDeps, { deadline }: { deadline: number }): boolean {
  return deps.clock.now() > deadline - deps.acquirerTimeoutMs;
}

const acquirerKinds = {
  Capture: 'Capture',
  Refund: 'Refund',
  Cancel: 'Reversal',
  Reversal: 'Reversal',
} as const;

/** Sends an operation to the acquirer; `repeat` where it may have been sent before. */
export async function sendOperation(
  deps: PaymentsDeps,
  loaded: LoadedTransaction,
  operation: StoredOperation,
  repeat: boolean,
  onSent?: () => void,
): Promise<AcquirerOutcome> {
  const { row } = loaded;
  const facts = factsOf(loaded);
  const card = await deps.vault.reveal(row.organizationId, facts.card.token, {
    purpose: operation.kind,
    actor: operation.details.actor ?? `merchant ${row.merchantId}`,
    subjectId: row.transactionId,
  });
  if (card === undefined) throw new Error('the vault does not know the card of a sale');
  const authorizationCode = outcomeOf(loaded)?.authorizationCode;
  const request: AcquirerRequest = {
    kind: acquirerKinds[operation.kind],
    repeat,
    organizationId: row.organizationId,
    transactionId: row.transactionId,
    linkId: facts.linkId,
    reference: operation.details.reference,
    merchantNumber: facts.merchantNumber,
    mcc: facts.mcc,
    amount: operation.amount,
    currency: row.currency,
    entryMode: facts.entryMode,
    card,
    original: facts.reference,
    ...defined({
      amounts: facts.amounts?.cashback === undefined ? undefined : facts.amounts,
      authorizationCode,
      isRemoteOrder: facts.request['orderChannel'] === undefined ? undefined : true,
      chipData: operation.details.chipData,
    }),
    ...(operation.details.final === true ? { final: true } : {}),
    ...defined({ remainingAmount: operation.details.remainingAmount }),
  };
  if (request.kind === 'Reversal') request.reversalReason = acquirerReason(operation);
  return deps.acquiring.send(request, () => {
    onSent?.();
    deps.failPoints.hit('after-send');
  });
}

const openStatuses: ReadonlySet<OperationStatus> = new Set(['Sent', 'Pending', 'Filed']);

/** What has failed was not sent: the code that approved it approves the next try, from the same commit on. */
function commitEnd({ store, approvals }: PaymentsDeps, change: Change): Promise<boolean> {
  const { status, details } = change.operation ?? {};
  const code = status === 'Failed' ? details?.approvalCodeId : undefined;
  if (code === undefined) return store.commit(change);
  return store.commitBeside(change, (trx) =>
    approvals.giveBack(trx, change.after.organizationId, code),
  );
}

/** Makes an operation's outcome durable, whatever else has happened to the transaction meanwhile. */
export async function settleOperation(
  deps: PaymentsDeps,
  loaded: LoadedTransaction,
  number: number,
  outcome: AcquirerOutcome,
  { queued = false, repeated = false } = {},
): Promise<LoadedTransaction> {
  const { organizationId, transactionId } = loaded.row;
  let standing: LoadedTransaction | undefined = loaded;
  for (let attempt = 0; attempt < rivalsMax * 5 && standing !== undefined; attempt += 1) {
    const operation = standing.operations.find((each) => each.number === number);
    if (operation === undefined) throw new Error('an operation has vanished');
    if (!openStatuses.has(operation.status)) {
      alarmContradiction(deps, operation, { outcome, repeated }, transactionId);
      return standing;
    }
    const step = settledStep(standing, operation, outcome, {
      at: deps.clock.now(),
      repeated,
      notFoundFinalAt: notFoundFinalAt(deps, standing, operation),
      asSent: loaded,
    });
    if (step === 'Unanswered') {
      const collided = !repeated && collides(operation, outcome);
      const renewed = await renewedWhereTaken(deps, standing, operation, {
        outcome,
        repeated,
        asSent: loaded,
      });
      const isNews = collided || renewed !== operation;
      // Already Pending and the jobs table has it: nothing new to tell.
      if (!isNews && (queued || operation.status === 'Pending')) return standing;
      const pending = unansweredStep(deps, standing, renewed, collided);
      const change = changeOf(standing.row, pending);
      if (await deps.store.commit(change)) {
        if (collided) alarmCollision(deps, { transactionId, number });
        return after(standing, change);
      }
    } else {
      const change = changeOf(standing.row, step);
      if (await commitEnd(deps, change)) {
        deps.running.changed(transactionId);
        return after(standing, change);
      }
    }
    standing = await deps.store.findById(organizationId, transactionId);
  }
  throw new Error('an outcome could not be made durable');
}
