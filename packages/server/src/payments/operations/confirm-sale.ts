// Confirms a sale. A sale that is not confirmed in time is reversed (ADR 0037).
import { refuse } from '@switchyard/contract';
import type { Job } from '../../platform/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { reversalTransition } from '../reversals/create-reversal.ts';
import { confirmDeadline } from '../transaction/confirm-deadline.ts';
import { confirmRuleFor, reversibleAmount } from '../transaction/state-machine.ts';
import { authorizationContext, type TransactionRecord } from '../transaction/transaction.ts';
import { applyTransition, withChange } from '../transaction/transition.ts';
import { conflictExtensions } from './operation-decision.ts';
import { getContractTerms } from './run-operation.ts';

const maxConflictRetries = 20;

/**
 * Makes the confirmation durable. Twice is once: the second is told how the sale stands. One that
 * comes too late finds the sale being reversed, whether or not the job has been there already.
 *
 * @throws Refusal transaction_in_progress, reversal_in_progress, transaction_reversed,
 *   transaction_declined, not_authorized, authorization_expired
 */
export function confirmSale(
  deps: PaymentsDeps,
  transaction: TransactionRecord,
): Promise<{ transaction: TransactionRecord; replayed: boolean }> {
  const { organizationId, transactionId } = transaction.row;
  return deps.inFlightTransactions.inTurn(transactionId, async () => {
    let current: TransactionRecord | undefined = transaction;
    for (let attempt = 0; attempt < maxConflictRetries && current !== undefined; attempt += 1) {
      const rule = confirmRuleFor(current.row.position);
      if (rule === 'Nothing') return { transaction: current, replayed: true };
      if (rule !== 'Confirm') {
        const detail = `A sale that is ${current.row.state} cannot be confirmed.`;
        refuse(rule, detail, {
          extensions: conflictExtensions(current, await getContractTerms(deps, current)),
        });
      }
      if (isPastConfirmDeadline(deps, current)) {
        current = await reverseUnconfirmed(deps, current);
        continue;
      }
      const change = applyTransition(current.row, {
        at: deps.clock.now(),
        type: 'transaction.confirmed',
        changes: { phase: 'Approved' },
      });
      if (await deps.transactions.update(change)) {
        deps.inFlightTransactions.notifyChange(transactionId);
        return { transaction: withChange(current, change), replayed: false };
      }
      current = await deps.transactions.findById(organizationId, transactionId);
    }
    return refuse(
      'concurrent_modification',
      'Too many concurrent requests for this transaction. Retry the request.',
    );
  });
}

function isPastConfirmDeadline(deps: PaymentsDeps, transaction: TransactionRecord): boolean {
  const confirmBy = confirmDeadline(transaction);
  if (confirmBy === undefined) throw new Error('a sale awaits its confirmation without a time');
  const deadline = Date.parse(confirmBy);
  const { confirmWithinSeconds = 0 } = authorizationContext(transaction);
  return deps.dueClock.isOver(deadline, deadline - confirmWithinSeconds * 1000);
}

/** Takes back a sale that nobody has confirmed. @returns the transaction as it stands then */
async function reverseUnconfirmed(
  deps: PaymentsDeps,
  transaction: TransactionRecord,
): Promise<TransactionRecord> {
  const { organizationId, transactionId } = transaction.row;
  let current: TransactionRecord | undefined = transaction;
  for (let attempt = 0; attempt < maxConflictRetries && current !== undefined; attempt += 1) {
    const { position } = current.row;
    if (position.phase !== 'Unconfirmed') return current;
    const transition = await reversalTransition(deps, current, {
      at: deps.clock.now(),
      amount: reversibleAmount(position),
      reason: 'Unconfirmed',
      details: { reversalReason: 'Timeout' },
    });
    const change = applyTransition(current.row, transition);
    if (await deps.transactions.update(change)) {
      deps.inFlightTransactions.notifyChange(transactionId);
      deps.jobs.poke();
      return withChange(current, change);
    }
    current = await deps.transactions.findById(organizationId, transactionId);
  }
  throw new Error('the reversal of an unconfirmed sale could not be made durable');
}

/** @example jobs.handle(confirmJob, createConfirmDeadlines(deps)); */
export function createConfirmDeadlineHandler(deps: PaymentsDeps): (job: Job) => Promise<void> {
  return async ({ organizationId, payload }) => {
    const { transactionId } = payload as { transactionId: string };
    const transaction = await deps.transactions.findById(organizationId, transactionId);
    if (transaction?.row.position.phase === 'Unconfirmed')
      await reverseUnconfirmed(deps, transaction);
  };
}
