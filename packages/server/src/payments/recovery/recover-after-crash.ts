// Ends what a crashed process left running: sales are reversed, operations go to the jobs table.
import type { PaymentsDeps } from '../deps.ts';
import { reversalStep } from '../reversals/create-reversal.ts';
import { pendingStep } from '../reversals/schedule-retry.ts';
import { createSweep, type Sweep } from '../runtime/periodic-task.ts';
import { saleKey } from '../sale/sale-idempotency.ts';
import { changeOf } from '../transaction/transition.ts';

const sweepEveryMs = 1000;
const sweepMax = 200;

async function reverseSale(
  deps: PaymentsDeps,
  key: { organizationId: string; transactionId: string },
): Promise<void> {
  const loaded = await deps.store.findById(key.organizationId, key.transactionId);
  if (loaded === undefined || loaded.row.position.phase !== 'Received') return;
  // A sale that runs here ends by itself.
  const { organizationId, merchantId } = loaded.row;
  if (deps.running.find(saleKey(organizationId, merchantId, loaded.row).text) !== undefined) return;
  const step = await reversalStep(deps, loaded, { at: deps.clock.now(), reason: 'Unanswered' });
  await deps.store.commit(changeOf(loaded.row, step));
  deps.running.changed(key.transactionId);
}

async function queueOperation(
  deps: PaymentsDeps,
  key: { organizationId: string; transactionId: string; number: number },
): Promise<void> {
  const loaded = await deps.store.findById(key.organizationId, key.transactionId);
  const operation = loaded?.operations.find((each) => each.number === key.number);
  if (loaded === undefined || operation?.status !== 'Sent') return;
  await deps.store.commit(changeOf(loaded.row, pendingStep(deps, loaded, operation)));
  deps.running.changed(key.transactionId);
}

/** @example const recovery = createRecovery(deps); recovery.start(); */
export function createRecovery(deps: PaymentsDeps): Sweep {
  async function look(): Promise<number> {
    const sales = await deps.store.unansweredSales(sweepMax);
    const operations = await deps.store.unansweredOperations(sweepMax);
    if (sales.length + operations.length === 0) return 0;
    deps.log.warn(
      { sales: sales.length, operations: operations.length },
      'ending what was left without an outcome',
    );
    // The writes of a sweep travel together in group commits; the sweep's limit bounds them.
    await Promise.all([
      ...sales.map((key) => reverseSale(deps, key)),
      ...operations.map((key) => queueOperation(deps, key)),
    ]);
    deps.jobs.poke();
    return sales.length + operations.length;
  }

  const onFault = (error: unknown) => deps.log.warn({ err: error }, 'a sweep failed');
  return createSweep({ everyMs: sweepEveryMs, look, onFault });
}
