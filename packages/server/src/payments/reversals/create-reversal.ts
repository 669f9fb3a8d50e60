// Creates reversals. A sale with unknown outcome is not approved and is reversed.
import { defined } from '@switchyard/contract';
import { type Clock, type DueClock, type Ids, isoTime, type Jobs } from '../../platform/index.ts';
import type { TransactionRepository } from '../repository/transaction-repository.ts';
import {
  commitTransition,
  updateWithRetry,
  withDatabaseRetry,
} from '../repository/update-with-retry.ts';
import { allocateMessageReference, type ReferencePorts } from '../runtime/acquirer-messages.ts';
import type { InFlightTransactions } from '../runtime/in-flight-transactions.ts';
import type { Phase } from '../transaction/state-machine.ts';
import { commitGraceMs, databaseRetryMs } from '../transaction/time-limits.ts';
import {
  authorizationContext,
  type EventData,
  type JobRequest,
  type OperationDetails,
  type StoredOperation,
  type TransactionRecord,
} from '../transaction/transaction.ts';
import type { Transition } from '../transaction/transition.ts';

export const retryOperationJob = 'payments.retry-operation';

export type ReversalInput = {
  /** Epoch ms. */
  at: number;
  reason: string;
  /** Minor units; the full sale if absent. */
  amount?: number;
  response?: { code: string };
  issuer?: Pick<EventData, 'issuerData' | 'avsResultCode'>;
  authorizationCode?: string | undefined;
  /** Epoch ms before which the reversal is not sent; `at` if absent. */
  notBefore?: number;
  clientOperationId?: string | undefined;
  details?: Partial<OperationDetails>;
};

export type ReversalPorts = ReferencePorts & {
  ids: Pick<Ids, 'uuid'>;
  dueClock: Pick<DueClock, 'toDue'>;
  acquirerTimeoutMs: number;
};

export function createRetryJob(
  { ids, dueClock }: Pick<ReversalPorts, 'ids' | 'dueClock'>,
  transaction: TransactionRecord,
  operationNumber: number,
  { dueAt, isPossiblySent }: { dueAt: number; isPossiblySent: boolean },
): JobRequest {
  return {
    jobId: ids.uuid(),
    kind: retryOperationJob,
    payload: {
      transactionId: transaction.row.transactionId,
      operationNumber,
      // The first message of the job is then already a repeat.
      ...(isPossiblySent ? { isPossiblySent } : {}),
    },
    dueAt: isoTime(dueClock.toDue(dueAt)),
    lane: authorizationContext(transaction).linkId,
  };
}

/** Puts the reversal into the same commit as the decision that the sale is not approved. */
export async function reversalTransition(
  ports: ReversalPorts,
  transaction: TransactionRecord,
  input: ReversalInput,
): Promise<Transition> {
  const { row } = transaction;
  const operationNumber = row.operationCount + 1;
  const at = isoTime(input.at);
  const reference = await allocateMessageReference(ports, transaction, 'Reversal');
  const operation: StoredOperation = {
    operationNumber,
    operationId: ports.ids.uuid(),
    kind: 'Reversal',
    status: 'Pending',
    amount: input.amount ?? row.amount,
    clientOperationId: input.clientOperationId,
    details: {
      request: {},
      cancelReason: 'Technical',
      systemReversalReason: input.reason,
      ...input.details,
      reference,
    },
    deadline: input.at + ports.acquirerTimeoutMs + commitGraceMs,
    createdAt: at,
    updatedAt: at,
  };
  const dueAt = input.notBefore ?? input.at;
  return {
    at: input.at,
    type: 'transaction.reversal_queued',
    changes: { phase: 'Reversing' },
    data: {
      reason: input.reason,
      ...defined({ response: input.response }),
      ...input.issuer,
      ...defined({ authorizationCode: input.authorizationCode }),
    },
    operation,
    job: createRetryJob(ports, transaction, operationNumber, { dueAt, isPossiblySent: false }),
  };
}

export type StoreReversalPorts = ReversalPorts & {
  transactions: Pick<TransactionRepository, 'findById' | 'update'>;
  clock: Clock;
  inFlightTransactions: Pick<InFlightTransactions, 'notifyChange'>;
  jobs: Pick<Jobs, 'poke'>;
};

/** Stores a reversal if the transaction is in the phase. @returns the current transaction */
export function storeReversal(
  ports: StoreReversalPorts,
  transaction: TransactionRecord,
  phase: Phase,
  inputFor: (current: TransactionRecord) => Omit<ReversalInput, 'at'>,
): Promise<TransactionRecord> {
  const { transactions, clock, inFlightTransactions, jobs } = ports;
  return updateWithRetry(transactions, transaction, async (current) => {
    if (current.row.position.phase !== phase) return current;
    const input = { ...inputFor(current), at: clock.now() };
    const transition = await reversalTransition(ports, current, input);
    const reversing = await commitTransition(transactions, current, transition);
    if (reversing === undefined) return undefined;
    inFlightTransactions.notifyChange(current.row.transactionId);
    jobs.poke();
    return reversing;
  });
}

export type ReverseAgainPorts = StoreReversalPorts & { dueClock: DueClock };

/** Reverses a reversed sale once more, because the host may hold it. @returns the current transaction */
export function reverseOnceMore(
  ports: ReverseAgainPorts,
  transaction: TransactionRecord,
  reason: string,
  { approvedAtHost }: { approvedAtHost: boolean },
): Promise<TransactionRecord> {
  const transactions = withDatabaseRetry(ports, databaseRetryMs);
  const details = approvedAtHost ? { approvedAtHost } : {};
  const reversalPorts = { ...ports, transactions };
  return storeReversal(reversalPorts, transaction, 'Reversed', () => ({ reason, details }));
}
