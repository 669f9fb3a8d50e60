// Creates reversals. A sale with unknown outcome is not approved and is reversed.
import { defined } from '@switchyard/contract';
import type { Acquiring } from '../../acquiring/index.ts';
import {
  bucketOf,
  type Clock,
  type DueClock,
  type Ids,
  isoTime,
  type Jobs,
  type Span,
} from '../../platform/index.ts';
import type { TransactionRepository } from '../repository/transaction-repository.ts';
import {
  commitTransition,
  updateWithRetry,
  withDatabaseRetry,
} from '../repository/update-with-retry.ts';
import type { InFlightTransactions } from '../runtime/in-flight-transactions.ts';
import { allocateMessageReference } from '../runtime/message-reference-and-unknown-outcome.ts';
import type { OperationType, Phase } from '../transaction/state-machine.ts';
import { commitGraceMs, databaseRetryMs } from '../transaction/time-limits.ts';
import {
  authorizationContext,
  type EventData,
  type JobRequest,
  type OperationDetails,
  type StoredOperation,
  type TransactionRecord,
  traceOfSale,
} from '../transaction/transaction.ts';
import type { OperationTransition } from '../transaction/transition.ts';

export const retryOperationJob = 'payments.retry-operation';

export type ReversalInput = {
  /** Epoch ms. */
  at: number;
  reason: string;
  /** Minor units; the full sale if absent. */
  amount?: number;
  response?: { code: string };
  issuer?: Pick<EventData, 'issuerData' | 'avsResultCode' | 'acquirerData' | 'retrievalReference'>;
  authorizationCode?: string | undefined;
  /** Epoch ms before which the reversal is not sent; `at` if absent. */
  notBefore?: number;
  clientOperationId?: string | undefined;
  details?: Partial<OperationDetails>;
};

export type ReversalPorts = {
  acquiring: Pick<Acquiring, 'allocateReference'>;
  ids: Pick<Ids, 'uuid'>;
  dueClock: DueClock;
  acquirerTimeoutMs: number;
};

export type RetryPayload = {
  transactionId: string;
  operationNumber: number;
  /** For the metrics of the queue. */
  kind: OperationType;
  /** The first message of the job is already a repeat. */
  isPossiblySent: boolean;
  /** The cause, until a nearer one replaces it. */
  traceparent?: string;
};

export function createRetryJob(
  { ids, dueClock }: ReversalPorts,
  transaction: TransactionRecord,
  { operationNumber, kind }: Pick<StoredOperation, 'operationNumber' | 'kind'>,
  dueAt: number,
  isPossiblySent: boolean,
): JobRequest {
  const { transactionId } = transaction.row;
  const payload: RetryPayload = {
    transactionId,
    operationNumber,
    kind,
    isPossiblySent,
    ...traceOfSale(transaction),
  };
  return {
    jobId: ids.uuid(bucketOf(transactionId)),
    kind: retryOperationJob,
    payload,
    dueAt: isoTime(dueClock.toDue(dueAt)),
    queueId: authorizationContext(transaction).linkId,
  };
}

type NewOperation = Pick<StoredOperation, 'kind' | 'status' | 'amount' | 'clientOperationId'> & {
  details: Omit<OperationDetails, 'reference'>;
};

/** The next operation of the transaction, with its own references. */
export async function createOperation(
  ports: ReversalPorts,
  transaction: TransactionRecord,
  at: number,
  operation: NewOperation,
): Promise<StoredOperation> {
  const reference = await allocateMessageReference(ports, transaction, operation.kind);
  return {
    ...operation,
    operationNumber: transaction.row.operationCount + 1,
    operationId: ports.ids.uuid(),
    details: { ...operation.details, reference },
    deadline: at + ports.acquirerTimeoutMs + commitGraceMs,
    createdAt: isoTime(at),
    updatedAt: isoTime(at),
  };
}

/** Puts the reversal into the same commit as the decision that the sale is not approved. */
export async function reversalTransition(
  ports: ReversalPorts,
  transaction: TransactionRecord,
  input: ReversalInput,
): Promise<OperationTransition> {
  const { at, reason, amount = transaction.row.amount, clientOperationId } = input;
  const operation = await createOperation(ports, transaction, at, {
    kind: 'Reversal',
    status: 'Pending',
    amount,
    clientOperationId,
    details: {
      request: {},
      cancelReason: 'Technical',
      systemReversalReason: reason,
      ...input.details,
    },
  });
  const { response, authorizationCode, notBefore = at } = input;
  return {
    at,
    type: 'transaction.reversal_queued',
    changes: { phase: 'Reversing' },
    data: { reason, ...input.issuer, ...defined({ response, authorizationCode }) },
    operation,
    job: createRetryJob(ports, transaction, operation, notBefore, false),
  };
}

export type StoreReversalPorts = ReversalPorts & {
  transactions: Pick<TransactionRepository, 'findById' | 'update'>;
  clock: Clock;
  inFlightTransactions: Pick<InFlightTransactions, 'notifyChange'>;
  jobs: Pick<Jobs, 'wake'>;
};

/** Stores a reversal if the transaction is in the phase. @returns the current transaction */
export function storeReversal(
  ports: StoreReversalPorts,
  transaction: TransactionRecord,
  phase: Phase,
  inputFor: (current: TransactionRecord) => Omit<ReversalInput, 'at'>,
  span?: Span,
): Promise<TransactionRecord> {
  const { transactions, clock, inFlightTransactions, jobs } = ports;
  return updateWithRetry(transactions, transaction, async (current) => {
    if (current.row.position.phase !== phase) return current;
    const input = { ...inputFor(current), at: clock.now() };
    const transition = await reversalTransition(ports, current, input);
    const reversing = await commitTransition(transactions, current, transition, span);
    if (reversing === undefined) return undefined;
    inFlightTransactions.notifyChange(current.row.transactionId);
    jobs.wake();
    return reversing;
  });
}

/** Reverses a reversed sale once more, because the host may hold it. @returns the current transaction */
export function reverseOnceMore(
  ports: StoreReversalPorts,
  transaction: TransactionRecord,
  input: Pick<ReversalInput, 'reason' | 'details'>,
): Promise<TransactionRecord> {
  const transactions = withDatabaseRetry(ports, databaseRetryMs);
  return storeReversal({ ...ports, transactions }, transaction, 'Reversed', () => input);
}
