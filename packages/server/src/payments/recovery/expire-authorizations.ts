// Expires authorizations after their validity, in small batches with a version check.
import type { PaymentsDeps } from '../deps.ts';
import type { TransactionKey } from '../repository/transaction-repository.ts';
import { createPeriodicTask, type PeriodicTask } from '../runtime/periodic-task.ts';
import { hasReservation, remainingAuthorized } from '../transaction/state-machine.ts';
import type { TransactionRecord } from '../transaction/transaction.ts';
import { applyTransition, type Transition } from '../transaction/transition.ts';

const intervalMs = 2000;
/** Small batches keep the load on sales low. */
const batchSize = 50;

/**
 * What lapses: a sale of which nothing was captured has expired; else the rest is given back. None
 * where part of it awaits an answer, which decides first. Nothing is sent: the issuer lets a hold
 * go by itself.
 */
export function expirationTransition(
  { row }: TransactionRecord,
  at: number,
): Transition | undefined {
  const { position } = row;
  const remaining = remainingAuthorized(position);
  if (position.phase !== 'Approved' || remaining === 0 || hasReservation(position))
    return undefined;
  return {
    at,
    type: 'transaction.expired',
    changes: position.captured === 0 ? { phase: 'Expired' } : { cancelled: remaining },
    data: { amount: remaining },
  };
}

async function expireAuthorization(deps: PaymentsDeps, key: TransactionKey): Promise<boolean> {
  const transaction = await deps.transactions.findById(key.organizationId, key.transactionId);
  const transition =
    transaction === undefined ? undefined : expirationTransition(transaction, deps.clock.now());
  if (transaction === undefined || transition === undefined) return false;
  // A concurrent update has captured, cancelled or expired it.
  const isUpdated = await deps.transactions.update(applyTransition(transaction.row, transition));
  if (isUpdated) deps.inFlightTransactions.notifyChange(key.transactionId);
  return isUpdated;
}

/** @example const expiry = createExpiry(deps); expiry.start(); */
export function createAuthorizationExpiry(deps: PaymentsDeps): PeriodicTask {
  async function expireDue(): Promise<number> {
    let expired = 0;
    for (;;) {
      const keys = await deps.transactions.findExpiredAuthorizations(
        deps.dueClock.now(),
        batchSize,
      );
      const results = await Promise.all(keys.map((key) => expireAuthorization(deps, key)));
      const count = results.filter(Boolean).length;
      expired += count;
      // Without progress the same rows would be found again.
      if (keys.length < batchSize || count === 0 || deps.inFlightTransactions.isStopping())
        return expired;
    }
  }

  const onError = (error: unknown) =>
    deps.log.warn({ err: error }, 'expiration of authorizations failed');
  return createPeriodicTask({ intervalMs: intervalMs, run: expireDue, onError });
}
