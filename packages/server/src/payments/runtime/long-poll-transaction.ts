// Reads a transaction, optionally after waiting for a change (long polling).
import type { Caller } from '../../http/index.ts';
import type { Clock } from '../../platform/index.ts';
import type { State } from '../transaction/state-machine.ts';
import type { TransactionRecord } from '../transaction/transaction.ts';
import { type FindPorts, findTransaction } from './find-transaction.ts';
import type { InFlightTransactions } from './in-flight-transactions.ts';

const pollEveryMs = 500;

const unfinishedStates: ReadonlySet<State> = new Set<State>(['Received', 'Stored', 'Reversing']);

function isUnfinished({ row, operations }: TransactionRecord): boolean {
  if (unfinishedStates.has(row.state)) return true;
  return operations.some(({ status }) => status === 'Sent' || status === 'Pending');
}

export type ReadPorts = FindPorts & {
  inFlightTransactions: Pick<
    InFlightTransactions,
    'acquireWaitSlot' | 'isStopping' | 'waitForChange'
  >;
  dueClock: Clock;
};

/**
 * Waits up to `waitSeconds` for a change of an unfinished transaction, unless too many readers wait.
 *
 * @throws Refusal transaction_not_found, transaction_ambiguous
 */
export async function getTransaction(
  ports: ReadPorts,
  caller: Caller,
  query: { identifier: string; merchantId?: string | undefined; waitSeconds: number },
): Promise<TransactionRecord> {
  const readTransaction = () => findTransaction(ports, caller, query.identifier, query.merchantId);
  const deadlineMs = ports.dueClock.now() + query.waitSeconds * 1000;
  let transaction = await readTransaction();
  if (query.waitSeconds === 0 || !isUnfinished(transaction)) return transaction;
  const releaseSlot = ports.inFlightTransactions.acquireWaitSlot(
    `${caller.organizationId}|${caller.clientId}`,
  );
  if (releaseSlot === undefined) return transaction;
  try {
    const { version } = transaction.row;
    const isWaitOver = () =>
      ports.inFlightTransactions.isStopping() || ports.dueClock.now() >= deadlineMs;
    while (isUnfinished(transaction) && transaction.row.version === version && !isWaitOver()) {
      const waitMs = Math.min(pollEveryMs, deadlineMs - ports.dueClock.now());
      await ports.inFlightTransactions.waitForChange(transaction.row.transactionId, waitMs);
      transaction = await readTransaction();
    }
    return transaction;
  } finally {
    releaseSlot();
  }
}
