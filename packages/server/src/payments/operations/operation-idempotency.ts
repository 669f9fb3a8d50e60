// Idempotency of operations: a repeated identifier returns the existing operation.

import type { PaymentsDeps } from '../deps.ts';
import { DuplicateOperationId } from '../repository/transaction-repository.ts';
import type { OperationType } from '../transaction/state-machine.ts';
import { duplicateRequestWaitMs } from '../transaction/timeouts.ts';
import type {
  OperationKind,
  StoredOperation,
  TransactionRecord,
} from '../transaction/transaction.ts';
import { operationKindByType, refuseIdentifierReuse } from '../validation/validate-sale-request.ts';
import type { OperationInput, OperationResult } from './run-operation.ts';

/** The members that tell one request from another. */
export function operationFingerprint(input: OperationInput): Record<string, unknown> {
  const {
    clientOperationId: _id,
    actor: _actor,
    approval: _approval,
    chipData: _chip,
    ...members
  } = input;
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

const pollEveryMs = 250;

/** The operation that already has the client's identifier, once it is answered or time is up. */
export async function replayOperation(
  deps: PaymentsDeps,
  transaction: TransactionRecord,
  operationType: OperationType,
  input: OperationInput,
): Promise<OperationResult | undefined> {
  const { clientOperationId } = input;
  if (clientOperationId === undefined) return undefined;
  const { organizationId, merchantId, transactionId } = transaction.row;
  const kind = operationKindByType[operationType];
  const existing = await deps.transactions.findOperation({
    organizationId,
    merchantId,
    kind,
    clientOperationId,
  });
  if (existing === undefined) return undefined;
  if (existing.transactionId !== transactionId) {
    refuseIdentifierReuse(
      { transactionId: existing.transactionId },
      { transactionId },
      'clientOperationId',
    );
  }
  const deadlineMs = deps.dueClock.now() + deps.acquirerTimeoutMs + duplicateRequestWaitMs;
  for (;;) {
    const current =
      (await deps.transactions.findById(organizationId, transactionId)) ?? transaction;
    const operation = current.operations.find((each) => each.number === existing.number);
    if (operation === undefined) throw new Error('the operation does not exist');
    refuseIdentifierReuse(
      operation.details.request,
      operationFingerprint(input),
      'clientOperationId',
    );
    if (operation.status !== 'Sent' || deps.dueClock.now() >= deadlineMs) {
      return { transaction: current, operation, replayed: true };
    }
    await deps.inFlightTransactions.waitForChange(transactionId, pollEveryMs);
  }
}

/** By web one identifier stands for a refund or a cancel, and the other one was first. */
export class OtherOperationTypeTaken extends Error {}

/** @throws OtherKindTaken where the same identifier has done the other of the two meanwhile */
export function requireSameOperationType(
  { operations }: TransactionRecord,
  operationType: OperationType,
  { actor, clientOperationId }: OperationInput,
): void {
  if (actor === undefined || clientOperationId === undefined) return;
  const otherType = operationType === 'Cancel' ? 'Refund' : 'Cancel';
  const isUsedByOther = operations.some(
    (each) => each.kind === otherType && each.clientOperationId === clientOperationId,
  );
  if (isUsedByOther) throw new OtherOperationTypeTaken();
}

/**
 * Whoever came a moment earlier has the identifier now: what is left to do behind that is no matter of this
 * request.
 *
 * @throws OperationIdTaken where the same was done between the first look and this turn
 */
export function requireNewOperationId(
  { operations }: TransactionRecord,
  operationType: OperationType,
  { clientOperationId }: OperationInput,
): void {
  if (clientOperationId === undefined) return;
  const isTaken = operations.some(
    (each) =>
      (each.kind === operationKindByType[operationType] ||
        each.kind === otherCancelType[operationType]) &&
      each.clientOperationId === clientOperationId,
  );
  if (isTaken) throw new DuplicateOperationId();
}

const otherCancelType: Readonly<Partial<Record<OperationType, OperationKind>>> = {
  Cancel: 'Reversal',
  Reverse: 'Cancel',
};

/** Both are asked for at one address, so one identifier cannot stand for a void and a reversal. */
export async function refuseIdOfOtherCancel(
  deps: PaymentsDeps,
  { row }: TransactionRecord,
  operationType: OperationType,
  clientOperationId: string | undefined,
): Promise<void> {
  const kind = otherCancelType[operationType];
  if (kind === undefined || clientOperationId === undefined) return;
  const { organizationId, merchantId } = row;
  const key = { organizationId, merchantId, kind, clientOperationId };
  if ((await deps.transactions.findOperation(key)) === undefined) return;
  refuseIdentifierReuse(
    { cancelReason: kind },
    { cancelReason: operationType },
    'clientOperationId',
  );
}

/** Whether it was left to the jobs table or to a clearing file: whoever asked first was told to come again. */
export function wasPending(
  { events }: TransactionRecord,
  { number }: Pick<StoredOperation, 'number'>,
): boolean {
  return events.some(({ data: { operation } }) => {
    if (operation?.number !== number) return false;
    return operation.status === 'Pending' || operation.status === 'Filed';
  });
}
