// Confirms a sale. A sale that is not confirmed in time is reversed (ADR 0037).
import { type ProcessRequest, refuse } from '@switchyard/contract';
import { isoTime, type Job } from '../../platform/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { reversalTransition } from '../reversals/create-reversal.ts';
import { confirmRuleFor, reversibleAmount } from '../transaction/state-machine.ts';
import {
  type AuthorizationContext,
  authorizationContext,
  type JobRequest,
  saleOutcome,
  type TransactionRecord,
} from '../transaction/transaction.ts';
import { applyTransition, withChange } from '../transaction/transition.ts';
import { conflictExtensions } from '../validation/validate-sale-request.ts';
import { getContractTerms } from './run-operation.ts';

export const confirmDeadlineJob = 'payments.confirm-deadline';

const maxConflictRetries = 20;

/** @throws Refusal field_invalid where nothing would be there to confirm */
export function validateConfirmation({ confirmWithinSeconds, purpose }: ProcessRequest): void {
  if (confirmWithinSeconds === undefined || purpose === undefined) return;
  refuse('field_invalid', 'An account verification cannot be confirmed.', {
    errors: [
      {
        pointer: '/confirmWithinSeconds',
        code: 'field_invalid',
        detail: 'Not with AccountVerification.',
      },
    ],
  });
}

/**
 * What an approval brings with it that the till has to confirm: the time, and the job that reverses
 * the sale then. Both belong into the commit of the approval, so that no crash loses the deadline.
 */
export function createConfirmDeadline(
  deps: Pick<PaymentsDeps, 'ids' | 'dueClock'>,
  sale: { transactionId: string; facts: AuthorizationContext; at: number },
): { confirmBy: string; job: JobRequest } | undefined {
  const { confirmWithinSeconds } = sale.facts;
  if (confirmWithinSeconds === undefined) return undefined;
  const deadline = sale.at + confirmWithinSeconds * 1000;
  const payload = { transactionId: sale.transactionId };
  const dueAt = isoTime(deps.dueClock.toDue(deadline));
  const job = { jobId: deps.ids.uuid(), kind: confirmDeadlineJob, payload, dueAt };
  return { confirmBy: isoTime(deadline), job };
}

/** Until when a sale must be confirmed; nothing where it need not be, or not any more. */
export function confirmDeadline(transaction: TransactionRecord): string | undefined {
  if (transaction.row.position.phase !== 'Unconfirmed') return undefined;
  return saleOutcome(transaction)?.confirmBy;
}

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
