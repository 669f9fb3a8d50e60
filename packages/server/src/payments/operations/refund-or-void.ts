// Refund or void by web: the state of the transaction decides which one applies.
import type { AllowedOperations } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import {
  type ContractTerms,
  checkAllowed,
  type OperationType,
  remainingAuthorized,
} from '../transaction/state-machine.ts';
import type { TransactionRecord } from '../transaction/transaction.ts';
import {
  allowedOperations,
  type ContractPorts,
  getContractTerms,
  type OperationInput,
  type OperationResult,
} from './operation-decision.ts';
import { OtherOperationTypeTaken, throwOperationIdReused } from './operation-idempotency.ts';
import { type OperationPorts, runOperation } from './run-operation.ts';

type WebOperationType = Extract<OperationType, 'Refund' | 'Cancel'>;

/**
 * Refund if a captured amount can be refunded, else cancel. If neither is possible after a full capture, the
 * refund gives the reason of the refusal.
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

/** The allowed operations, and the operation that refund by web would choose. */
export async function getAllowedOperations(
  ports: ContractPorts,
  transaction: TransactionRecord,
): Promise<AllowedOperations> {
  const terms = await getContractTerms(ports, transaction);
  const operations = allowedOperations(transaction.row, terms);
  const operationType = chooseWebOperation(transaction, terms);
  const chosen = operations.find(({ operation }) => operation === operationType);
  if (chosen === undefined) throw new Error('an operation is missing from the table');
  const { operation: _operation, ...result } = chosen;
  return { ...result, operation: chosen.allowed ? operationType : null, operations };
}

/** @throws ProblemError of the state, the amount or the configuration */
export async function refundOrVoid(
  ports: OperationPorts,
  caller: Caller,
  transaction: TransactionRecord,
  request: Pick<OperationInput, 'amount' | 'clientOperationId' | 'span'>,
): Promise<OperationResult> {
  const attemptOnce = async (current: TransactionRecord): Promise<OperationResult> => {
    const operationType = await chooseReplayedOperation(ports, current, request.clientOperationId);
    return runOperation(ports, current, operationType, {
      ...request,
      actor: caller.subject,
      ...(operationType === 'Cancel' ? { cancelReason: 'Functional' as const } : {}),
    });
  };
  try {
    return await attemptOnce(transaction);
  } catch (error) {
    if (!(error instanceof OtherOperationTypeTaken)) throw error;
    // A concurrent copy of this request chose the other operation before a capture.
    const { organizationId, transactionId } = transaction.row;
    const current = await ports.transactions.findById(organizationId, transactionId);
    return attemptOnce(current ?? transaction);
  }
}

/**
 * A replay chooses the operation of the first call. One identifier cannot name a refund of one transaction and
 * a cancel of another; a capture may have the same identifier.
 */
async function chooseReplayedOperation(
  ports: OperationPorts,
  transaction: TransactionRecord,
  clientOperationId: string | undefined,
): Promise<WebOperationType> {
  if (clientOperationId !== undefined) {
    for (const { kind, clientOperationId: usedId } of transaction.operations) {
      if (usedId === clientOperationId && (kind === 'Refund' || kind === 'Cancel')) return kind;
    }
  }
  const operationType = chooseWebOperation(transaction, await getContractTerms(ports, transaction));
  if (clientOperationId === undefined) return operationType;
  const { organizationId, merchantId, transactionId } = transaction.row;
  const kind = operationType === 'Refund' ? 'Cancel' : 'Refund';
  const key = { organizationId, merchantId, kind, clientOperationId } as const;
  const existing = await ports.transactions.findOperation(key);
  if (existing === undefined) return operationType;
  throwOperationIdReused({ transactionId: existing.transactionId }, { transactionId });
  return kind;
}
