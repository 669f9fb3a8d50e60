// Tells again what an operation with the same identifier of the client was answered with.
import { duplicateWaitMs, type PaymentsDeps } from '../deps.ts';
import { OperationIdTaken } from '../repository/transaction-repository.ts';
import type { Verb } from '../transaction/state-machine.ts';
import type {
  LoadedTransaction,
  OperationKind,
  StoredOperation,
} from '../transaction/transaction.ts';
import { operationOf, refuseReuse } from '../validation/validate-sale-request.ts';
import type { OperationAnswer, OperationCall } from './run-operation.ts';

/** The members that tell one request from another. */
export function requestOf(call: OperationCall): Record<string, unknown> {
  const {
    clientOperationId: _id,
    actor: _actor,
    approval: _approval,
    chipData: _chip,
    ...members
  } = call;
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

const pollEveryMs = 250;

/** The operation that already has the client's identifier, once it is answered or time is up. */
export async function replayOperation(
  deps: PaymentsDeps,
  loaded: LoadedTransaction,
  verb: Verb,
  call: OperationCall,
): Promise<OperationAnswer | undefined> {
  const { clientOperationId } = call;
  if (clientOperationId === undefined) return undefined;
  const { organizationId, merchantId, transactionId } = loaded.row;
  const kind = operationOf[verb];
  const known = await deps.store.findOperation({
    organizationId,
    merchantId,
    kind,
    clientOperationId,
  });
  if (known === undefined) return undefined;
  if (known.transactionId !== transactionId) {
    refuseReuse({ transactionId: known.transactionId }, { transactionId }, 'clientOperationId');
  }
  const until = deps.clock.now() + deps.acquirerTimeoutMs + duplicateWaitMs;
  for (;;) {
    const standing = (await deps.store.findById(organizationId, transactionId)) ?? loaded;
    const operation = standing.operations.find((each) => each.number === known.number);
    if (operation === undefined) throw new Error('an operation has vanished');
    refuseReuse(operation.details.request, requestOf(call), 'clientOperationId');
    if (operation.status !== 'Sent' || deps.clock.now() >= until) {
      return { loaded: standing, operation, replayed: true };
    }
    await deps.running.nextChange(transactionId, pollEveryMs);
  }
}

/** By web one identifier stands for a refund or a cancel, and the other one was first. */
export class OtherKindTaken extends Error {}

/** @throws OtherKindTaken where the same identifier has done the other of the two meanwhile */
export function demandSameKind(
  { operations }: LoadedTransaction,
  verb: Verb,
  { actor, clientOperationId }: OperationCall,
): void {
  if (actor === undefined || clientOperationId === undefined) return;
  const other = verb === 'Cancel' ? 'Refund' : 'Cancel';
  const isOther = operations.some(
    (each) => each.kind === other && each.clientOperationId === clientOperationId,
  );
  if (isOther) throw new OtherKindTaken();
}

/**
 * Whoever came a moment earlier has the identifier now: what is left to do behind that is no matter of this
 * request.
 *
 * @throws OperationIdTaken where the same was done between the first look and this turn
 */
export function demandNewIdentifier(
  { operations }: LoadedTransaction,
  verb: Verb,
  { clientOperationId }: OperationCall,
): void {
  if (clientOperationId === undefined) return;
  const isTaken = operations.some(
    (each) =>
      (each.kind === operationOf[verb] || each.kind === otherCancel[verb]) &&
      each.clientOperationId === clientOperationId,
  );
  if (isTaken) throw new OperationIdTaken();
}

const otherCancel: Readonly<Partial<Record<Verb, OperationKind>>> = {
  Cancel: 'Reversal',
  Reverse: 'Cancel',
};

/** Both are asked for at one address, so one identifier cannot stand for a void and a reversal. */
export async function refuseOtherCancel(
  deps: PaymentsDeps,
  { row }: LoadedTransaction,
  verb: Verb,
  clientOperationId: string | undefined,
): Promise<void> {
  const kind = otherCancel[verb];
  if (kind === undefined || clientOperationId === undefined) return;
  const { organizationId, merchantId } = row;
  const key = { organizationId, merchantId, kind, clientOperationId };
  if ((await deps.store.findOperation(key)) === undefined) return;
  refuseReuse({ cancelReason: kind }, { cancelReason: verb }, 'clientOperationId');
}

/** Whether it was left to the jobs table or to a clearing file: whoever asked first was told to come again. */
export function wasPending(
  { events }: LoadedTransaction,
  { number }: Pick<StoredOperation, 'number'>,
): boolean {
  return events.some(({ data: { operation } }) => {
    if (operation?.number !== number) return false;
    return operation.status === 'Pending' || operation.status === 'Filed';
  });
}
