// Ends an operation that no acquirer will answer: somebody has looked into its books, and says what is there.
import { type OperationResolveRequest, refuse } from '@switchyard/contract';
import { holdsCardNumber } from '@switchyard/emv';
import { actorOf } from '../../audit/index.ts';
import type { Caller } from '../../http/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { endedStep } from '../reversals/operation-outcome.ts';
import {
  type LoadedTransaction,
  resolvedByHand,
  type StoredOperation,
} from '../transaction/transaction.ts';
import { after, changeOf, type Step } from '../transaction/transition.ts';
import type { OperationAnswer } from './run-operation.ts';

/** Longer than six tries last: until then it may end by itself, and nobody has been alarmed. */
const resolvableAfterMs = 600_000;
const rivalsMax = 20;

export type Asked = { readonly caller: Caller; readonly id: string };
export type Decision = OperationResolveRequest & { number: number };

/** @throws Refusal field_invalid */
function checkNote(note: string): void {
  if (!holdsCardNumber(note)) return;
  refuse('field_invalid', 'The note holds what looks like a card number.', {
    errors: [{ pointer: '/note', code: 'field_invalid', detail: 'Looks like a card number.' }],
  });
}

function refuseNotPossible(detail: string): never {
  return refuse('resolution_not_possible', detail);
}

/** What waits for the jobs, and has an alarm: for its tries, or since the host has had its numbers. */
function isStuck({ status, details, createdAt }: StoredOperation, now: number): boolean {
  if (status !== 'Pending') return false;
  return details.collided === true || now >= Date.parse(createdAt) + resolvableAfterMs;
}

const isResolved = ({ details }: StoredOperation) => details.response?.reason === resolvedByHand;

/** @throws Refusal resolution_not_possible, transaction_not_found */
export function resolvedStep(
  standing: LoadedTransaction,
  { number, outcome, note }: Decision,
  { at, actor }: { at: number; actor: string },
): Step | 'Done' {
  const operation = standing.operations.find((each) => each.number === number);
  if (operation === undefined) {
    return refuse('transaction_not_found', 'The transaction has no operation of this number.');
  }
  const status = outcome === 'Succeeded' ? 'Succeeded' : 'Declined';
  if (operation.status === status && isResolved(operation)) return 'Done';
  if (!isStuck(operation, at)) {
    refuseNotPossible('The operation has ended, or may still be answered.');
  }
  if (operation.kind === 'Reversal' && outcome === 'Failed') {
    refuseNotPossible('A reversal goes on until nothing is held: it ends as Succeeded.');
  }
  const response = { reason: resolvedByHand };
  const step = endedStep(standing, operation, { at, status, response });
  return { ...step, data: { ...step.data, actor, note } };
}

const shown = ({ kind, status, amount }: StoredOperation) => ({ kind, status, amount });

/**
 * Ends an operation as the acquirer's books say, with a record of who did so. What repeats it finds it ended.
 *
 * @throws Refusal resolution_not_possible, transaction_not_found, field_invalid, concurrent_modification
 */
export async function resolveOperation(
  deps: PaymentsDeps,
  { caller, id }: Asked,
  found: LoadedTransaction,
  decision: Decision,
): Promise<OperationAnswer> {
  checkNote(decision.note);
  const { organizationId, transactionId, merchantId } = found.row;
  const operationIn = ({ operations }: LoadedTransaction) =>
    operations.find(({ number }) => number === decision.number);
  let standing: LoadedTransaction | undefined = found;
  for (let attempt = 0; attempt < rivalsMax && standing !== undefined; attempt += 1) {
    const before = operationIn(standing);
    const of = { at: deps.clock.now(), actor: caller.subject };
    const step = resolvedStep(standing, decision, of);
    if (step === 'Done') return { loaded: standing, operation: before, replayed: true };
    const { operation } = step;
    if (before === undefined || operation === undefined) throw new Error('no operation is ended');
    const change = changeOf(standing.row, step);
    const isDone = await deps.store.commitBeside(change, (trx) =>
      deps.audit.record(trx, {
        ...actorOf(caller, id),
        organizationId,
        action: 'operation.resolved',
        entity: { type: 'transaction', id: transactionId, merchantId },
        before: shown(before),
        after: { ...shown(operation), note: decision.note },
      }),
    );
    if (isDone) {
      deps.running.changed(transactionId);
      return { loaded: after(standing, change), operation, replayed: false };
    }
    standing = await deps.store.findById(organizationId, transactionId);
  }
  return refuse('concurrent_modification', 'Too many work on this transaction; try again.');
}
