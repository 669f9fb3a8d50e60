// Sends pending operations until each has a final response: queued reversals, and operations without a response.
import type { Job } from '../../platform/index.ts';
import { type SendPorts, sendOperation } from '../operations/send-operation.ts';
import {
  type StoreOutcomePorts,
  storeOperationOutcome,
} from '../operations/store-operation-outcome.ts';
import type { RetryPayload } from '../reversals/create-reversal.ts';
import type { RetrySteps } from '../runtime/send-queued-message.ts';
import {
  isUnfinishedMessage,
  operationByNumber,
  type StoredOperation,
  type TransactionRecord,
} from '../transaction/transaction.ts';

type PendingOperation = {
  transaction: TransactionRecord;
  operation: StoredOperation;
  /** An earlier copy may have been sent. */
  isRepeat: boolean;
};

export type RetryOperationPorts = SendPorts & StoreOutcomePorts;

/** @example createRetryDriver(ports, createOperationRetry(ports)) */
export function createOperationRetry(ports: RetryOperationPorts): RetrySteps<PendingOperation> {
  return {
    async load({ organizationId, payload, attempts }: Job) {
      const { transactionId, operationNumber, isPossiblySent } = payload as RetryPayload;
      const transaction = await ports.transactions.findById(organizationId, transactionId);
      const operation = transaction && operationByNumber(transaction, operationNumber);
      if (transaction === undefined || operation?.status !== 'Pending') return 'Done';
      // The messages of one sale are sent strictly one after the other.
      const isBlocked = transaction.operations.some(
        (each) => each.operationNumber < operationNumber && isUnfinishedMessage(each),
      );
      if (isBlocked) return 'Blocked';
      return { transaction, operation, isRepeat: isPossiblySent || attempts > 0 };
    },
    send: ({ transaction, operation, isRepeat }, onPossiblySent, span) =>
      sendOperation(ports, transaction, operation, { isRepeat, span }, onPossiblySent),
    async storeOutcome({ transaction, operation, isRepeat }, outcome, span) {
      const { operationNumber } = operation;
      const context = { isRepeat, span };
      return (await storeOperationOutcome(ports, transaction, operationNumber, outcome, context))
        .retry;
    },
    noResponseAlert: ({ transaction, operation: { operationNumber, kind } }) => [
      { transactionId: transaction.row.transactionId, operationNumber, kind },
      'an operation has no response from the acquirer after many attempts',
    ],
  };
}
