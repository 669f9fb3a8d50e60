// Builds the problem members of a refusal: the transaction and its allowed operations. Pure.
import type { AllowedOperation } from '@switchyard/contract';
import { operationsMax } from './limits.ts';
import type { LoadedQr, QrRow } from './records.ts';
import { judgeVerb, type Verb } from './state-machine.ts';

const verbs: readonly Verb[] = ['Cancel', 'Refund'];

function allowedOf({ position, operationCount }: QrRow, operation: Verb): AllowedOperation {
  const { amount, currency } = position;
  const refused = (reason: string) => ({
    operation,
    allowed: false,
    maxAmount: 0,
    currency,
    reason,
  });
  const verdict = judgeVerb(position, operation);
  if (!verdict.allowed) return refused(verdict.reason);
  // A cancel would succeed and change nothing.
  if (verdict.mode === 'Nothing') return refused('already_cancelled');
  if (operationCount >= operationsMax) return refused('event_limit_reached');
  // A cancel is always for the full amount.
  if (verdict.mode === 'Send') return { operation, allowed: true, maxAmount: amount, currency };
  const { maxAmount } = verdict;
  if (maxAmount === 0) return refused('already_refunded');
  return { operation, allowed: true, maxAmount, currency };
}

/** The `transaction` member of a problem. */
export const transactionOf = ({ row }: LoadedQr) => ({
  transactionId: row.transactionId,
  clientTransactionId: row.clientTransactionId,
  state: row.status,
});

/** The members of a problem that the state of the payment causes. */
export const conflictOf = (loaded: LoadedQr) => ({
  transaction: transactionOf(loaded),
  allowedOperations: verbs.map((verb) => allowedOf(loaded.row, verb)),
});
