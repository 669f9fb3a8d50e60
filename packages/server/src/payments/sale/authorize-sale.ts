// Sends a stored sale to the acquirer and stores the outcome.
import type { Log } from '../../platform/index.ts';
import type { RecentTransactions } from '../repository/transaction-repository.ts';
import {
  commitTransition,
  retryWhileUnavailable,
  updateWithRetry,
} from '../repository/update-with-retry.ts';
import { reversalTransition } from '../reversals/create-reversal.ts';
import { type LateResponsePorts, recordSupersededOutcome } from '../reversals/late-response.ts';
import { logNotSent } from '../runtime/message-reference-and-unknown-outcome.ts';
import type { ConfirmDeadlinePorts } from '../transaction/time-limits.ts';
import type { TransactionRecord } from '../transaction/transaction.ts';
import { type FailoverPorts, sendWithFailover } from './acquirer-failover.ts';
import type { SaleIntent } from './create-sale-intent.ts';
import { decideSaleOutcome } from './sale-outcome.ts';

export type AuthorizePorts = FailoverPorts &
  ConfirmDeadlinePorts &
  LateResponsePorts & {
    log: Pick<Log, 'debug'>;
    /** Absent when this process publishes no transaction events. */
    recentTransactions?: Pick<RecentTransactions, 'add'> | undefined;
  };

/** @returns the transaction with its outcome */
export async function authorizeSale(
  ports: AuthorizePorts,
  initialIntent: SaleIntent,
): Promise<TransactionRecord> {
  ports.failPoints.hit('after-intent');
  const { intent, outcome } = await sendWithFailover(ports, initialIntent);
  const { transactionId, deadline } = intent.transaction.row;
  logNotSent(ports, outcome, { transactionId });
  return updateWithRetry(ports.transactions, intent.transaction, async (current) => {
    if (current.row.position.phase !== 'Received') {
      return recordSupersededOutcome(ports, current, outcome);
    }
    const at = ports.clock.now();
    const decision = decideSaleOutcome(ports, intent, outcome, at);
    const transition =
      'type' in decision ? decision : await reversalTransition(ports, current, decision);
    // Retries until the deadline, so that a database restart does not lose an approval.
    const transaction = await retryWhileUnavailable(ports, deadline, () =>
      commitTransition(ports.transactions, current, transition),
    );
    if (transaction === undefined) return undefined;
    ports.inFlightTransactions.notifyChange(transactionId);
    ports.recentTransactions?.add(transaction);
    return transaction;
  });
}
