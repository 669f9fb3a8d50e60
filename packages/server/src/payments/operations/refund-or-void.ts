// Refund or void by web: the state of the transaction decides which one applies.
import type { AllowedOperations } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import {
  type ContractTerms,
  checkAllowed,
  type OperationType,
  remainingAuthorized,
} from '../transaction/state-machine.ts';
import type { TransactionRecord } from '../transaction/transaction.ts';
import { refuseIdentifierReuse } from '../validation/request-fingerprint.ts';
import { allowedOperations } from './operation-decision.ts';
import { OtherOperationTypeTaken } from './operation-idempotency.ts';
import { getContractTerms, type OperationResult, runOperation } from './run-operation.ts';

type WebOperationType = Extract<OperationType, 'Refund' | 'Cancel'>;

/**
 * Refund where something captured is left to refund, else cancel. Where neither can be any more the reason
 * is that of the refund: whoever hears that it is captured would try to refund what is refunded already.
 */
function chooseWebOperation(
  transaction: TransactionRecord,
  terms: ContractTerms,
): WebOperationType {
  const { position } = transaction.row;
  const refund = checkAllowed(position, 'Refund', terms);
  if (refund.allowed && refund.maxAmount > 0) return 'Refund';
  return position.captured > 0 && remainingAuthorized(position) === 0 ? 'Refund' : 'Cancel';
}

/** What may be done now, of every operation, and first of refund or cancel by web. */
export async function getAllowedOperations(
  deps: PaymentsDeps,
  transaction: TransactionRecord,
): Promise<AllowedOperations> {
  const terms = await getContractTerms(deps, transaction);
  const operations = allowedOperations(transaction.row, terms);
  const operationType = chooseWebOperation(transaction, terms);
  const chosen = operations.find(({ operation }) => operation === operationType);
  if (chosen === undefined) throw new Error('an operation is missing from the table');
  const { operation: _operation, ...result } = chosen;
  return { ...result, operation: chosen.allowed ? operationType : null, operations };
}

/** @throws Refusal of the state, the amount or the configuration */
export async function refundOrVoid(
  deps: PaymentsDeps,
  caller: Caller,
  transaction: TransactionRecord,
  request: { amount?: number | undefined; clientOperationId?: string | undefined },
): Promise<OperationResult> {
  const attemptOnce = async (current: TransactionRecord): Promise<OperationResult> => {
    const operationType = await chooseReplayedOperation(deps, current, request.clientOperationId);
    return runOperation(deps, current, operationType, {
      ...request,
      actor: caller.subject,
      ...(operationType === 'Cancel' ? { cancelReason: 'Functional' as const } : {}),
    });
  };
  try {
    return await attemptOnce(transaction);
  } catch (error) {
    if (!(error instanceof OtherOperationTypeTaken)) throw error;
    // The same request came twice at once, and a capture between them: what the first did stands.
    const { organizationId, transactionId } = transaction.row;
    return attemptOnce(
      (await deps.transactions.findById(organizationId, transactionId)) ?? transaction,
    );
  }
}

const webOperationTypes: ReadonlySet<string> = new Set<WebOperationType>(['Refund', 'Cancel']);

// A replay must choose what the first call chose, whatever is left to refund by now. A capture may have
// the same identifier: each kind of operation has its own.
async function chooseReplayedOperation(
  deps: PaymentsDeps,
  transaction: TransactionRecord,
  clientOperationId: string | undefined,
): Promise<WebOperationType> {
  const firstOperation = transaction.operations.find(
    (each) =>
      clientOperationId !== undefined &&
      each.clientOperationId === clientOperationId &&
      webOperationTypes.has(each.kind),
  );
  if (firstOperation?.kind === 'Refund' || firstOperation?.kind === 'Cancel')
    return firstOperation.kind;
  const operationType = chooseWebOperation(transaction, await getContractTerms(deps, transaction));
  return clientOperationId === undefined
    ? operationType
    : chooseByIdentifierUse(deps, transaction, operationType, clientOperationId);
}

/**
 * Both are asked for at one address, so one identifier cannot stand for a refund of one transaction and a
 * cancel of another.
 */
async function chooseByIdentifierUse(
  deps: PaymentsDeps,
  { row }: TransactionRecord,
  operationType: WebOperationType,
  clientOperationId: string,
): Promise<WebOperationType> {
  const { organizationId, merchantId, transactionId } = row;
  const otherType = operationType === 'Refund' ? 'Cancel' : 'Refund';
  const key = { organizationId, merchantId, kind: otherType, clientOperationId };
  const existing = await deps.transactions.findOperation(key);
  if (existing === undefined) return operationType;
  refuseIdentifierReuse(
    { transactionId: existing.transactionId },
    { transactionId },
    'clientOperationId',
  );
  return otherType;
}
