// Builds the problem members of a refusal: the transaction and its allowed operations. Pure.
import type { AllowedOperation } from '@switchyard/contract';
import { operationsMax } from './limits.ts';
import type { LoadedPayment, QrRow } from './records.ts';
import { decideOperation, type PaymentOperation } from './state-machine.ts';

const operations: readonly PaymentOperation[] = ['Cancel', 'Refund'];

function expectedAllowedOperation(
  { position, operationCount }: QrRow,
  operation: PaymentOperation,
): AllowedOperation {
  const { amount, currency } = position;
  const rejected = (reason: string) => ({
    operation,
    allowed: false,
    maxAmount: 0,
    currency,
    reason,
  });
  const decision = decideOperation(position, operation);
  if (!decision.allowed) return rejected(decision.reason);
  // A cancel would succeed and change nothing.
  if (decision.mode === 'Nothing') return rejected('already_cancelled');
  if (operationCount >= operationsMax) return rejected('event_limit_reached');
  // A cancel is always for the full amount.
  if (decision.mode === 'Send') return { operation, allowed: true, maxAmount: amount, currency };
  const { maxAmount } = decision;
  if (maxAmount === 0) return rejected('already_refunded');
  return { operation, allowed: true, maxAmount, currency };
}

/** The `transaction` member of a problem. */
export const transactionDetails = ({ row }: LoadedPayment) => ({
  transactionId: row.transactionId,
  clientTransactionId: row.clientTransactionId,
  state: row.status,
});

/** The members of a problem that the state of the payment causes. */
export const conflictDetails = (loaded: LoadedPayment) => ({
  transaction: transactionDetails(loaded),
  allowedOperations: operations.map((verb) => expectedAllowedOperation(loaded.row, verb)),
});
