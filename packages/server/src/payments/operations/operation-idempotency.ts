// Idempotency of operations: a repeated identifier returns the existing operation.
import { defined } from '@switchyard/contract';
import type { Clock } from '../../platform/index.ts';
import {
  DuplicateOperationId,
  type TransactionRepository,
} from '../repository/transaction-repository.ts';
import type { InFlightTransactions } from '../runtime/in-flight-transactions.ts';
import { throwNotSent } from '../runtime/throw-not-sent.ts';
import type { OperationType } from '../transaction/state-machine.ts';
import { duplicateRequestWaitMs } from '../transaction/time-limits.ts';
import {
  operationByNumber,
  type StoredOperation,
  type TransactionRecord,
} from '../transaction/transaction.ts';
import { throwIdentifierReused } from '../validation/compare-repeated-request.ts';
import type { OperationInput, OperationResult } from './operation-decision.ts';

export type IdempotencyPorts = {
  transactions: Pick<TransactionRepository, 'findById' | 'findOperation'>;
  inFlightTransactions: Pick<InFlightTransactions, 'waitForChange'>;
  dueClock: Clock;
  acquirerTimeoutMs: number;
};

/** The members that distinguish two requests. */
export function operationFingerprint(input: OperationInput): Record<string, unknown> {
  const { amount, currency, final, cancelReason, reversalReason } = input;
  return defined({ amount, currency, final, cancelReason, reversalReason });
}

const pollEveryMs = 250;

export const throwOperationIdReused = (
  first: Record<string, unknown>,
  second: Record<string, unknown>,
): void => throwIdentifierReused(first, second, 'clientOperationId');

/** Void and reversal have one route, so one identifier cannot name one of each. */
const otherCancelType: Readonly<Partial<Record<OperationType, OperationType>>> = {
  Cancel: 'Reversal',
  Reversal: 'Cancel',
};

/**
 * Finds the operation with the identifier of the request and waits for its outcome.
 *
 * @throws ProblemError client_id_reused; not_sent if the first request had this result
 */
export async function findExistingResult(
  ports: IdempotencyPorts,
  transaction: TransactionRecord,
  operationType: OperationType,
  input: OperationInput,
): Promise<OperationResult | undefined> {
  const { clientOperationId } = input;
  if (clientOperationId === undefined) return undefined;
  const { organizationId, merchantId, transactionId } = transaction.row;
  const findByType = (kind: OperationType) =>
    ports.transactions.findOperation({ organizationId, merchantId, kind, clientOperationId });
  const otherType = otherCancelType[operationType];
  if (otherType !== undefined && (await findByType(otherType)) !== undefined)
    throwOperationIdReused({ cancelReason: otherType }, { cancelReason: operationType });
  const existing = await findByType(operationType);
  if (existing === undefined) return undefined;
  throwOperationIdReused({ transactionId: existing.transactionId }, { transactionId });
  const deadlineMs = ports.dueClock.now() + ports.acquirerTimeoutMs + duplicateRequestWaitMs;
  for (;;) {
    const current =
      (await ports.transactions.findById(organizationId, transactionId)) ?? transaction;
    const operation = operationByNumber(current, existing.operationNumber);
    if (operation === undefined) throw new Error('the operation does not exist');
    throwOperationIdReused(operation.details.request, operationFingerprint(input));
    if (operation.status === 'Failed') throwNotSent('clientOperationId');
    if (operation.status !== 'Sent' || ports.dueClock.now() >= deadlineMs) {
      return { transaction: current, operation, replayed: true };
    }
    await ports.inFlightTransactions.waitForChange(transactionId, pollEveryMs);
  }
}

/** By web one identifier names a refund or a cancel, and the other one exists. */
export class OtherOperationTypeTaken extends Error {}

/**
 * A concurrent request may have used the identifier since {@link findExistingResult}.
 *
 * @throws DuplicateOperationId, OtherOperationTypeTaken
 */
export function requireNewOperationId(
  { operations }: TransactionRecord,
  operationType: OperationType,
  { actor, clientOperationId }: OperationInput,
): void {
  if (clientOperationId === undefined) return;
  const isUsedBy = (kind: OperationType | undefined) =>
    operations.some((each) => each.kind === kind && each.clientOperationId === clientOperationId);
  if (actor !== undefined && isUsedBy(operationType === 'Cancel' ? 'Refund' : 'Cancel'))
    throw new OtherOperationTypeTaken();
  if (isUsedBy(operationType) || isUsedBy(otherCancelType[operationType]))
    throw new DuplicateOperationId();
}

/** The first request was answered with 202. */
export function wasPending(
  { events }: TransactionRecord,
  { operationNumber }: Pick<StoredOperation, 'operationNumber'>,
): boolean {
  return events.some(
    ({ data: { operation } }) =>
      operation?.number === operationNumber &&
      (operation.status === 'Pending' || operation.status === 'Filed'),
  );
}
