// Expires authorizations after their validity, in small batches with a version check.
import { type Clock, createPoller, type Log, type Poller } from '../../platform/index.ts';
import type {
  TransactionKey,
  TransactionRepository,
} from '../repository/transaction-repository.ts';
import { commitTransition } from '../repository/update-with-retry.ts';
import type { InFlightTransactions } from '../runtime/in-flight-transactions.ts';
import { hasReservation, remainingAuthorized } from '../transaction/state-machine.ts';
import type { TransactionRecord } from '../transaction/transaction.ts';
import type { Transition } from '../transaction/transition.ts';

const intervalMs = 2000;
/** Small batches keep the load on sales low. */
const batchSize = 50;

/**
 * Expires the sale if nothing was captured; else releases the remaining amount. Undefined while a part is
 * reserved for a pending operation. No message is sent: the issuer releases the hold itself.
 */
function expirationTransition({ row }: TransactionRecord, at: number): Transition | undefined {
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

type Ports = {
  transactions: Pick<TransactionRepository, 'findById' | 'update' | 'findExpiredAuthorizations'>;
  inFlightTransactions: Pick<InFlightTransactions, 'notifyChange'>;
  clock: Clock;
  dueClock: Clock;
  log: Pick<Log, 'warn'>;
};

async function expireAuthorization(ports: Ports, key: TransactionKey): Promise<boolean> {
  const transaction = await ports.transactions.findById(key.organizationId, key.transactionId);
  const transition = transaction && expirationTransition(transaction, ports.clock.now());
  if (transaction === undefined || transition === undefined) return false;
  const expired = await commitTransition(ports.transactions, transaction, transition);
  if (expired === undefined) return false;
  ports.inFlightTransactions.notifyChange(key.transactionId);
  return true;
}

export function createAuthorizationExpiry(ports: Ports): Poller {
  async function expireDue(): Promise<boolean> {
    const now = ports.dueClock.now();
    const keys = await ports.transactions.findExpiredAuthorizations(now, batchSize);
    const results = await Promise.all(keys.map((key) => expireAuthorization(ports, key)));
    // Without progress the same rows would be found again.
    return keys.length === batchSize && results.includes(true);
  }

  const onError = (error: unknown) =>
    ports.log.warn({ err: error }, 'expiration of authorizations failed');
  return createPoller({ pollMs: intervalMs, poll: expireDue, onError });
}
