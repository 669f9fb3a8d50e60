// Confirms a sale whose till has heard of the approval; what is not confirmed in time is reversed (ADR 0037).
import { type ProcessRequest, refuse } from '@switchyard/contract';
import { isoTime, type Job } from '../../platform/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { reversalStep } from '../reversals/create-reversal.ts';
import { confirmRuleOf, wholeAmount } from '../transaction/state-machine.ts';
import {
  type JobRequest,
  type LoadedTransaction,
  outcomeOf,
  type SaleFacts,
} from '../transaction/transaction.ts';
import { after, changeOf } from '../transaction/transition.ts';
import { conflict } from '../validation/validate-sale-request.ts';
import { termsFor } from './run-operation.ts';

export const confirmJob = 'payments.confirm';

const rivalsMax = 20;

/** @throws Refusal field_invalid where nothing would be there to confirm */
export function checkConfirmation({ confirmWithinSeconds, purpose }: ProcessRequest): void {
  if (confirmWithinSeconds === undefined || purpose === undefined) return;
  refuse('field_invalid', 'A verification of an account holds nothing that could be reversed.', {
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
export function confirmationOf(
  deps: Pick<PaymentsDeps, 'ids'>,
  of: { transactionId: string; facts: SaleFacts; at: number },
): { confirmBy: string; job: JobRequest } | undefined {
  const { confirmWithinSeconds } = of.facts;
  if (confirmWithinSeconds === undefined) return undefined;
  const confirmBy = isoTime(of.at + confirmWithinSeconds * 1000);
  const payload = { transactionId: of.transactionId };
  const job = { jobId: deps.ids.uuid(), kind: confirmJob, payload, dueAt: confirmBy };
  return { confirmBy, job };
}

/** Until when a sale must be confirmed; nothing where it need not be, or not any more. */
export function confirmByOf(loaded: LoadedTransaction): string | undefined {
  if (loaded.row.position.phase !== 'Unconfirmed') return undefined;
  return outcomeOf(loaded)?.confirmBy;
}

/**
 * Makes the confirmation durable. Twice is once: the second is told how the sale stands. One that
 * comes too late finds the sale being reversed, whether or not the job has been there already.
 *
 * @throws Refusal transaction_in_progress, reversal_in_progress, transaction_reversed,
 *   transaction_declined, not_authorized, authorization_expired
 */
export function confirm(
  deps: PaymentsDeps,
  found: LoadedTransaction,
): Promise<{ loaded: LoadedTransaction; replayed: boolean }> {
  const { organizationId, transactionId } = found.row;
  return deps.running.inTurn(transactionId, async () => {
    let standing: LoadedTransaction | undefined = found;
    for (let attempt = 0; attempt < rivalsMax && standing !== undefined; attempt += 1) {
      const rule = confirmRuleOf(standing.row.position);
      if (rule === 'Nothing') return { loaded: standing, replayed: true };
      if (rule !== 'Confirm') {
        const detail = `A sale that is ${standing.row.state} cannot be confirmed.`;
        refuse(rule, detail, { extensions: conflict(standing, await termsFor(deps, standing)) });
      }
      if (isLate(deps, standing)) {
        standing = await reverseUnconfirmed(deps, standing);
        continue;
      }
      const change = changeOf(standing.row, {
        at: deps.clock.now(),
        type: 'transaction.confirmed',
        changes: { phase: 'Approved' },
      });
      if (await deps.store.commit(change)) {
        deps.running.changed(transactionId);
        return { loaded: after(standing, change), replayed: false };
      }
      standing = await deps.store.findById(organizationId, transactionId);
    }
    return refuse('concurrent_modification', 'Too many work on this transaction; try again.');
  });
}

function isLate(deps: PaymentsDeps, loaded: LoadedTransaction): boolean {
  const confirmBy = confirmByOf(loaded);
  if (confirmBy === undefined) throw new Error('a sale awaits its confirmation without a time');
  return deps.clock.now() > Date.parse(confirmBy);
}

/** Takes back a sale that nobody has confirmed. @returns the transaction as it stands then */
async function reverseUnconfirmed(
  deps: PaymentsDeps,
  loaded: LoadedTransaction,
): Promise<LoadedTransaction> {
  const { organizationId, transactionId } = loaded.row;
  let standing: LoadedTransaction | undefined = loaded;
  for (let attempt = 0; attempt < rivalsMax && standing !== undefined; attempt += 1) {
    const { position } = standing.row;
    if (position.phase !== 'Unconfirmed') return standing;
    const step = await reversalStep(deps, standing, {
      at: deps.clock.now(),
      amount: wholeAmount(position),
      reason: 'Unconfirmed',
      details: { reversalReason: 'Timeout' },
    });
    const change = changeOf(standing.row, step);
    if (await deps.store.commit(change)) {
      deps.running.changed(transactionId);
      deps.jobs.poke();
      return after(standing, change);
    }
    standing = await deps.store.findById(organizationId, transactionId);
  }
  throw new Error('the reversal of an unconfirmed sale could not be made durable');
}

/** @example jobs.handle(confirmJob, createConfirmDeadlines(deps)); */
export function createConfirmDeadlines(deps: PaymentsDeps): (job: Job) => Promise<void> {
  return async ({ organizationId, payload }) => {
    const { transactionId } = payload as { transactionId: string };
    const loaded = await deps.store.findById(organizationId, transactionId);
    if (loaded?.row.position.phase === 'Unconfirmed') await reverseUnconfirmed(deps, loaded);
  };
}
