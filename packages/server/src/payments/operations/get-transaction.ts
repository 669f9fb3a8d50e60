// Reads a transaction, optionally after waiting for a change (long polling).
import type { Caller } from '../../http/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { findTransaction } from '../runtime/find-transaction.ts';
import type { State } from '../transaction/state-machine.ts';
import type { TransactionRecord } from '../transaction/transaction.ts';

const pollEveryMs = 500;

const unfinishedStates: ReadonlySet<State> = new Set<State>(['Received', 'Stored', 'Reversing']);

function isUnfinished({ row, operations }: TransactionRecord): boolean {
  if (unfinishedStates.has(row.state)) return true;
  return operations.some(({ status }) => status === 'Sent' || status === 'Pending');
}

/**
 * The transaction under an identifier; waits up to `waitSeconds` while something is under way, if
 * not too many wait already.
 *
 * @throws Refusal transaction_not_found, transaction_ambiguous
 */
export async function getTransaction(
  deps: PaymentsDeps,
  caller: Caller,
  query: { identifier: string; merchantId?: string | undefined; waitSeconds: number },
): Promise<TransactionRecord> {
  const readTransaction = () => findTransaction(deps, caller, query.identifier, query.merchantId);
  const deadlineMs = deps.dueClock.now() + query.waitSeconds * 1000;
  let transaction = await readTransaction();
  if (query.waitSeconds === 0 || !isUnfinished(transaction)) return transaction;
  const releaseSlot = deps.inFlightTransactions.acquireWaitSlot(
    `${caller.organizationId}|${caller.clientId}`,
  );
  if (releaseSlot === undefined) return transaction;
  try {
    const { version } = transaction.row;
    const isWaitOver = () =>
      deps.inFlightTransactions.isStopping() || deps.dueClock.now() >= deadlineMs;
    while (isUnfinished(transaction) && transaction.row.version === version && !isWaitOver()) {
      const waitMs = Math.min(pollEveryMs, deadlineMs - deps.dueClock.now());
      await deps.inFlightTransactions.waitForChange(transaction.row.transactionId, waitMs);
      transaction = await readTransaction();
    }
    return transaction;
  } finally {
    releaseSlot();
  }
}
