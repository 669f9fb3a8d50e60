// Crash recovery: reverses unfinished sales and schedules retries of unfinished operations.
import { createPoller, type Log, type Poller } from '../../platform/index.ts';
import { retryTransition } from '../operations/store-operation-outcome.ts';
import type {
  TransactionKey,
  TransactionRepository,
} from '../repository/transaction-repository.ts';
import { commitTransition } from '../repository/update-with-retry.ts';
import { reversalTransition, type StoreReversalPorts } from '../reversals/create-reversal.ts';
import type { InFlightTransactions } from '../runtime/in-flight-transactions.ts';
import { saleKey } from '../sale/sale-idempotency.ts';
import { operationByNumber } from '../transaction/transaction.ts';

const intervalMs = 1000;
const batchSize = 200;

type Ports = StoreReversalPorts & {
  transactions: Pick<
    TransactionRepository,
    'findSalesWithoutOutcome' | 'findOperationsWithoutOutcome'
  >;
  inFlightTransactions: Pick<InFlightTransactions, 'find'>;
  log: Pick<Log, 'warn'>;
};

async function reverseSale(ports: Ports, key: TransactionKey): Promise<void> {
  const transaction = await ports.transactions.findById(key.organizationId, key.transactionId);
  if (transaction === undefined || transaction.row.position.phase !== 'Received') return;
  const { organizationId, merchantId, clientTransactionId } = transaction.row;
  const { lockKey } = saleKey(organizationId, merchantId, clientTransactionId);
  // A sale that runs in this process stores its own outcome.
  if (ports.inFlightTransactions.find(lockKey) !== undefined) return;
  const input = { at: ports.clock.now(), reason: 'Unanswered' };
  const transition = await reversalTransition(ports, transaction, input);
  await commitTransition(ports.transactions, transaction, transition);
  ports.inFlightTransactions.notifyChange(key.transactionId);
}

async function scheduleRetry(
  ports: Ports,
  key: TransactionKey & { operationNumber: number },
): Promise<void> {
  const transaction = await ports.transactions.findById(key.organizationId, key.transactionId);
  const operation = transaction && operationByNumber(transaction, key.operationNumber);
  if (transaction === undefined || operation?.status !== 'Sent') return;
  const event = { at: ports.clock.now(), reason: 'Unanswered', isPossiblySent: true };
  const transition = retryTransition(ports, transaction, operation, event);
  await commitTransition(ports.transactions, transaction, transition);
  ports.inFlightTransactions.notifyChange(key.transactionId);
}

export function createCrashRecovery(ports: Ports): Poller {
  async function recoverDue(): Promise<false> {
    const sales = await ports.transactions.findSalesWithoutOutcome(batchSize);
    const operations = await ports.transactions.findOperationsWithoutOutcome(batchSize);
    if (sales.length + operations.length === 0) return false;
    ports.log.warn(
      { sales: sales.length, operations: operations.length },
      'recovering transactions without an outcome',
    );
    // The writes of one run share group commits; the batch size limits them.
    await Promise.all([
      ...sales.map((key) => reverseSale(ports, key)),
      ...operations.map((key) => scheduleRetry(ports, key)),
    ]);
    ports.jobs.wake();
    return false;
  }

  const onError = (error: unknown) => ports.log.warn({ err: error }, 'crash recovery run failed');
  return createPoller({
    pollMs: intervalMs,
    // An unknown outcome is reversed soon after a long outage of the database too.
    maxErrorPauseMs: intervalMs,
    poll: recoverDue,
    onError,
  });
}
