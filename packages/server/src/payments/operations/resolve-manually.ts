// Manual resolution of an operation without a response, after a check with the acquirer.
import { type OperationResolveRequest, refuse } from '@switchyard/contract';
import { holdsCardNumber } from '@switchyard/emv';
import { actorOf } from '../../audit/index.ts';
import type { Caller } from '../../http/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { finalTransition } from '../reversals/operation-outcome.ts';
import {
  manualResolutionReason,
  type StoredOperation,
  type TransactionRecord,
} from '../transaction/transaction.ts';
import { applyTransition, type Transition, withChange } from '../transaction/transition.ts';
import type { OperationResult } from './run-operation.ts';

/** Longer than six tries last: until then it may end by itself, and nobody has been alarmed. */
const resolvableAfterMs = 600_000;
const maxConflictRetries = 20;

export type ResolveRequest = { readonly caller: Caller; readonly id: string };
export type ManualResolution = OperationResolveRequest & { number: number };

/** @throws Refusal field_invalid */
function checkNote(note: string): void {
  if (!holdsCardNumber(note)) return;
  refuse('field_invalid', 'The note contains text that looks like a card number.', {
    errors: [{ pointer: '/note', code: 'field_invalid', detail: 'Looks like a card number.' }],
  });
}

function refuseNotPossible(detail: string): never {
  return refuse('resolution_not_possible', detail);
}

/** What waits for the jobs, and has an alarm: for its tries, or since the host has had its numbers. */
function isResolvable({ status, details, createdAt }: StoredOperation, now: number): boolean {
  if (status !== 'Pending') return false;
  return details.collided === true || now >= Date.parse(createdAt) + resolvableAfterMs;
}

const isResolvedManually = ({ details }: StoredOperation) =>
  details.response?.reason === manualResolutionReason;

/** @throws Refusal resolution_not_possible, transaction_not_found */
export function resolutionTransition(
  current: TransactionRecord,
  { number, outcome, note }: ManualResolution,
  { at, actor }: { at: number; actor: string },
): Transition | 'Done' {
  const operation = current.operations.find((each) => each.number === number);
  if (operation === undefined) {
    return refuse('transaction_not_found', 'The transaction has no operation of this number.');
  }
  const status = outcome === 'Succeeded' ? 'Succeeded' : 'Declined';
  if (operation.status === status && isResolvedManually(operation)) return 'Done';
  if (!isResolvable(operation, at)) {
    refuseNotPossible('The operation is finished or may still receive a response.');
  }
  if (operation.kind === 'Reversal' && outcome === 'Failed') {
    refuseNotPossible('A reversal can be resolved as Succeeded only.');
  }
  const response = { reason: manualResolutionReason };
  const transition = finalTransition(current, operation, { at, status, response });
  return { ...transition, data: { ...transition.data, actor, note } };
}

const auditView = ({ kind, status, amount }: StoredOperation) => ({ kind, status, amount });

/**
 * Ends an operation as the acquirer's books say, with a record of who did so. What repeats it finds it ended.
 *
 * @throws Refusal resolution_not_possible, transaction_not_found, field_invalid, concurrent_modification
 */
export async function resolveManually(
  deps: PaymentsDeps,
  { caller, id }: ResolveRequest,
  transaction: TransactionRecord,
  resolution: ManualResolution,
): Promise<OperationResult> {
  checkNote(resolution.note);
  const { organizationId, transactionId, merchantId } = transaction.row;
  const findOperation = ({ operations }: TransactionRecord) =>
    operations.find(({ number }) => number === resolution.number);
  let current: TransactionRecord | undefined = transaction;
  for (let attempt = 0; attempt < maxConflictRetries && current !== undefined; attempt += 1) {
    const operationBefore = findOperation(current);
    const actorAndTime = { at: deps.clock.now(), actor: caller.subject };
    const transition = resolutionTransition(current, resolution, actorAndTime);
    if (transition === 'Done')
      return { transaction: current, operation: operationBefore, replayed: true };
    const { operation } = transition;
    if (operationBefore === undefined || operation === undefined)
      throw new Error('no operation is ended');
    const change = applyTransition(current.row, transition);
    const isDone = await deps.transactions.updateWith(change, (trx) =>
      deps.audit.record(trx, {
        ...actorOf(caller, id),
        organizationId,
        action: 'operation.resolved',
        entity: { type: 'transaction', id: transactionId, merchantId },
        before: auditView(operationBefore),
        after: { ...auditView(operation), note: resolution.note },
      }),
    );
    if (isDone) {
      deps.inFlightTransactions.notifyChange(transactionId);
      return { transaction: withChange(current, change), operation, replayed: false };
    }
    current = await deps.transactions.findById(organizationId, transactionId);
  }
  return refuse(
    'concurrent_modification',
    'Too many concurrent requests for this transaction. Retry the request.',
  );
}
