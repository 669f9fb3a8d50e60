// Retries operations without a final response, with the same references.
import type { Job } from '../../platform/index.ts';
import { type SendPorts, sendOperation } from '../operations/send-operation.ts';
import { type SettlePorts, settleOperation } from '../operations/settle-operation.ts';
import type { RetrySteps } from '../runtime/retry-driver.ts';
import type { StoredOperation, TransactionRecord } from '../transaction/transaction.ts';

type PendingOperation = {
  transaction: TransactionRecord;
  operation: StoredOperation;
  /** An earlier copy may have been sent. */
  isRepeat: boolean;
};

/** The messages of one sale are sent strictly one after the other. */
const hasEarlierUnfinished = (
  { operations }: TransactionRecord,
  { number }: StoredOperation,
): boolean =>
  operations.some(
    (each) => each.number < number && (each.status === 'Pending' || each.status === 'Sent'),
  );

/** @example createRetryDriver(ports, createOperationRetry(ports)) */
export function createOperationRetry(ports: SendPorts & SettlePorts): RetrySteps<PendingOperation> {
  return {
    async load({ organizationId, payload, attempts }: Job) {
      const { transactionId, number, sent } = payload as {
        transactionId: string;
        number: number;
        sent?: boolean;
      };
      const transaction = await ports.transactions.findById(organizationId, transactionId);
      const operation = transaction?.operations.find((each) => each.number === number);
      if (transaction === undefined || operation?.status !== 'Pending') return 'Done';
      if (hasEarlierUnfinished(transaction, operation)) return 'Blocked';
      return { transaction, operation, isRepeat: sent === true || attempts > 0 };
    },
    send: ({ transaction, operation, isRepeat }, onPossiblySent) =>
      sendOperation(ports, transaction, operation, isRepeat, onPossiblySent),
    async settle({ transaction, operation: { number }, isRepeat }, outcome) {
      return (await settleOperation(ports, transaction, number, outcome, isRepeat)).retry;
    },
    noResponseAlert: ({ transaction, operation: { number, kind } }) => [
      { transactionId: transaction.row.transactionId, number, kind },
      'an operation has no response from the acquirer after many attempts',
    ],
  };
}
