// Confirms a sale. A sale that is not confirmed in time is reversed (ADR 0005).
import type { DueClock, Job, Span } from '../../platform/index.ts';
import {
  commitTransition,
  throwConcurrentModification,
  updateWithRetry,
} from '../repository/update-with-retry.ts';
import { type StoreReversalPorts, storeReversal } from '../reversals/create-reversal.ts';
import type { InFlightTransactions } from '../runtime/in-flight-transactions.ts';
import { confirmRuleFor, reversibleAmount } from '../transaction/state-machine.ts';
import { confirmDeadline } from '../transaction/time-limits.ts';
import { authorizationContext, type TransactionRecord } from '../transaction/transaction.ts';
import { type ContractPorts, getContractTerms, throwStateProblem } from './operation-decision.ts';

export type ConfirmPorts = StoreReversalPorts &
  ContractPorts & {
    inFlightTransactions: Pick<InFlightTransactions, 'runExclusive'>;
  };

/**
 * Stores the confirmation; a second one changes nothing. After the deadline the sale is reversed, also if
 * the deadline job has not run yet.
 *
 * @throws ProblemError transaction_in_progress, reversal_in_progress, transaction_reversed,
 *   transaction_declined, not_authorized, authorization_expired
 */
export function confirmSale(
  ports: ConfirmPorts,
  transaction: TransactionRecord,
  span?: Span,
): Promise<{ transaction: TransactionRecord; replayed: boolean }> {
  const { transactionId } = transaction.row;
  return ports.inFlightTransactions.runExclusive(transactionId, () =>
    updateWithRetry(
      ports.transactions,
      transaction,
      async (latest) => {
        const current = isPastConfirmDeadline(ports.dueClock, latest)
          ? await reverseUnconfirmed(ports, latest, span)
          : latest;
        const rule = confirmRuleFor(current.row.position);
        if (rule === 'NoOp') return { transaction: current, replayed: true };
        if (rule !== 'Confirm') {
          const detail = `A sale in the state ${current.row.state} cannot be confirmed.`;
          throwStateProblem(rule, detail, current, await getContractTerms(ports, current));
        }
        const transition = {
          at: ports.clock.now(),
          type: 'transaction.confirmed',
          changes: { phase: 'Approved' },
        } as const;
        const confirmed = await commitTransition(ports.transactions, current, transition, span);
        if (confirmed === undefined) return undefined;
        ports.inFlightTransactions.notifyChange(transactionId);
        return { transaction: confirmed, replayed: false };
      },
      throwConcurrentModification,
    ),
  );
}

function isPastConfirmDeadline(dueClock: DueClock, transaction: TransactionRecord): boolean {
  const confirmBy = confirmDeadline(transaction);
  if (confirmBy === undefined) return false;
  const deadline = Date.parse(confirmBy);
  const { confirmWithinSeconds = 0 } = authorizationContext(transaction);
  return dueClock.hasPassed(deadline, deadline - confirmWithinSeconds * 1000);
}

const reverseUnconfirmed = (
  ports: StoreReversalPorts,
  transaction: TransactionRecord,
  span: Span | undefined,
) =>
  storeReversal(
    ports,
    transaction,
    'AwaitingConfirmation',
    ({ row }) => ({
      amount: reversibleAmount(row.position),
      reason: 'Unconfirmed',
      details: { reversalReason: 'Timeout' },
    }),
    span,
  );

/** @example jobs.handle(confirmDeadlineJob, createConfirmDeadlineHandler(ports)); */
export function createConfirmDeadlineHandler(
  ports: StoreReversalPorts,
): (job: Job) => Promise<void> {
  return async ({ organizationId, payload, span }) => {
    const { transactionId } = payload as { transactionId: string };
    const transaction = await ports.transactions.findById(organizationId, transactionId);
    if (transaction?.row.position.phase === 'AwaitingConfirmation')
      await reverseUnconfirmed(ports, transaction, span);
  };
}
