// Crash recovery: reverses unfinished sales and schedules retries of unfinished operations.
import type { PaymentsDeps } from '../deps.ts';
import { reversalTransition } from '../reversals/create-reversal.ts';
import { retryTransition } from '../reversals/schedule-retry.ts';
import { createPeriodicTask, type PeriodicTask } from '../runtime/periodic-task.ts';
import { saleKey } from '../sale/sale-idempotency.ts';
import { applyTransition } from '../transaction/transition.ts';

const intervalMs = 1000;
const batchSize = 200;

async function reverseSale(
  deps: PaymentsDeps,
  key: { organizationId: string; transactionId: string },
): Promise<void> {
  const transaction = await deps.transactions.findById(key.organizationId, key.transactionId);
  if (transaction === undefined || transaction.row.position.phase !== 'Received') return;
  // A sale that runs here ends by itself.
  const { organizationId, merchantId, clientTransactionId } = transaction.row;
  const { lockKey } = saleKey(organizationId, merchantId, clientTransactionId);
  if (deps.inFlightTransactions.find(lockKey) !== undefined) return;
  const transition = await reversalTransition(deps, transaction, {
    at: deps.clock.now(),
    reason: 'Unanswered',
  });
  await deps.transactions.update(applyTransition(transaction.row, transition));
  deps.inFlightTransactions.notifyChange(key.transactionId);
}

async function scheduleRetry(
  deps: PaymentsDeps,
  key: { organizationId: string; transactionId: string; number: number },
): Promise<void> {
  const transaction = await deps.transactions.findById(key.organizationId, key.transactionId);
  const operation = transaction?.operations.find((each) => each.number === key.number);
  if (transaction === undefined || operation?.status !== 'Sent') return;
  await deps.transactions.update(
    applyTransition(transaction.row, retryTransition(deps, transaction, operation)),
  );
  deps.inFlightTransactions.notifyChange(key.transactionId);
}

/** @example const recovery = createRecovery(deps); recovery.start(); */
export function createCrashRecovery(deps: PaymentsDeps): PeriodicTask {
  async function recoverDue(): Promise<number> {
    const sales = await deps.transactions.findSalesWithoutOutcome(batchSize);
    const operations = await deps.transactions.findOperationsWithoutOutcome(batchSize);
    if (sales.length + operations.length === 0) return 0;
    deps.log.warn(
      { sales: sales.length, operations: operations.length },
      'recovering transactions without an outcome',
    );
    // The writes of a sweep travel together in group commits; the sweep's limit bounds them.
    await Promise.all([
      ...sales.map((key) => reverseSale(deps, key)),
      ...operations.map((key) => scheduleRetry(deps, key)),
    ]);
    deps.jobs.poke();
    return sales.length + operations.length;
  }

  const onError = (error: unknown) => deps.log.warn({ err: error }, 'crash recovery run failed');
  return createPeriodicTask({ intervalMs: intervalMs, run: recoverDue, onError });
}
