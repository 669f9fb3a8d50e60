// Confirms a sale. A sale that is not confirmed in time is reversed (ADR 0037).
import type { Clock, DueClock, Job, Jobs } from '../../platform/index.ts';
import type { TransactionRepository } from '../repository/transaction-repository.ts';
import {
  commitTransition,
  refuseConcurrentModification,
  updateWithRetry,
} from '../repository/update-with-retry.ts';
import { type ReversalPorts, reversalTransition } from '../reversals/create-reversal.ts';
import type { InFlightTransactions } from '../runtime/in-flight-transactions.ts';
import { confirmDeadline } from '../transaction/confirm-deadline.ts';
import { confirmRuleFor, reversibleAmount } from '../transaction/state-machine.ts';
import { authorizationContext, type TransactionRecord } from '../transaction/transaction.ts';
import { type ContractPorts, getContractTerms } from './load-contract-terms.ts';
import { refuseState } from './operation-decision.ts';

type ReverseUnconfirmedPorts = ReversalPorts & {
  transactions: Pick<TransactionRepository, 'findById' | 'update'>;
  inFlightTransactions: Pick<InFlightTransactions, 'notifyChange'>;
  jobs: Pick<Jobs, 'poke'>;
  clock: Clock;
};
export type ConfirmPorts = ReverseUnconfirmedPorts &
  ContractPorts & {
    inFlightTransactions: Pick<InFlightTransactions, 'inTurn'>;
    dueClock: Pick<DueClock, 'isOver'>;
  };

/**
 * Stores the confirmation; a second one changes nothing. After the deadline the sale is reversed, also if
 * the deadline job has not run yet.
 *
 * @throws Refusal transaction_in_progress, reversal_in_progress, transaction_reversed,
 *   transaction_declined, not_authorized, authorization_expired
 */
export function confirmSale(
  ports: ConfirmPorts,
  transaction: TransactionRecord,
): Promise<{ transaction: TransactionRecord; replayed: boolean }> {
  const { transactionId } = transaction.row;
  return ports.inFlightTransactions.inTurn(transactionId, () =>
    updateWithRetry(
      ports.transactions,
      transaction,
      async (latest) => {
        const current = isPastConfirmDeadline(ports.dueClock, latest)
          ? await reverseUnconfirmed(ports, latest)
          : latest;
        const rule = confirmRuleFor(current.row.position);
        if (rule === 'NoOp') return { transaction: current, replayed: true };
        if (rule !== 'Confirm') {
          const detail = `A sale in the state ${current.row.state} cannot be confirmed.`;
          refuseState(rule, detail, current, await getContractTerms(ports, current));
        }
        const confirmed = await commitTransition(ports.transactions, current, {
          at: ports.clock.now(),
          type: 'transaction.confirmed',
          changes: { phase: 'Approved' },
        });
        if (confirmed === undefined) return undefined;
        ports.inFlightTransactions.notifyChange(transactionId);
        return { transaction: confirmed, replayed: false };
      },
      refuseConcurrentModification,
    ),
  );
}

function isPastConfirmDeadline(
  dueClock: Pick<DueClock, 'isOver'>,
  transaction: TransactionRecord,
): boolean {
  if (transaction.row.position.phase !== 'AwaitingConfirmation') return false;
  const confirmBy = confirmDeadline(transaction);
  if (confirmBy === undefined) throw new Error('an unconfirmed sale has no confirm deadline');
  const deadline = Date.parse(confirmBy);
  const { confirmWithinSeconds = 0 } = authorizationContext(transaction);
  return dueClock.isOver(deadline, deadline - confirmWithinSeconds * 1000);
}

/** Reverses an unconfirmed sale. @returns the current transaction */
function reverseUnconfirmed(
  ports: ReverseUnconfirmedPorts,
  transaction: TransactionRecord,
): Promise<TransactionRecord> {
  return updateWithRetry(ports.transactions, transaction, async (current) => {
    const { position, transactionId } = current.row;
    if (position.phase !== 'AwaitingConfirmation') return current;
    const transition = await reversalTransition(ports, current, {
      at: ports.clock.now(),
      amount: reversibleAmount(position),
      reason: 'Unconfirmed',
      details: { reversalReason: 'Timeout' },
    });
    const reversing = await commitTransition(ports.transactions, current, transition);
    if (reversing === undefined) return undefined;
    ports.inFlightTransactions.notifyChange(transactionId);
    ports.jobs.poke();
    return reversing;
  });
}

/** @example jobs.handle(confirmDeadlineJob, createConfirmDeadlineHandler(ports)); */
export function createConfirmDeadlineHandler(
  ports: ReverseUnconfirmedPorts,
): (job: Job) => Promise<void> {
  return async ({ organizationId, payload }) => {
    const { transactionId } = payload as { transactionId: string };
    const transaction = await ports.transactions.findById(organizationId, transactionId);
    if (transaction?.row.position.phase === 'AwaitingConfirmation')
      await reverseUnconfirmed(ports, transaction);
  };
}
