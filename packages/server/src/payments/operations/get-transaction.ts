// Tells how a transaction stands, at once or when it has moved on.
import type { Caller } from '../../http/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { findTransaction } from '../runtime/find-transaction.ts';
import type { State } from '../transaction/state-machine.ts';
import type { LoadedTransaction } from '../transaction/transaction.ts';

const pollEveryMs = 500;

const moving: ReadonlySet<State> = new Set<State>(['Received', 'Stored', 'Reversing']);

function isMoving({ row, operations }: LoadedTransaction): boolean {
  if (moving.has(row.state)) return true;
  return operations.some(({ status }) => status === 'Sent' || status === 'Pending');
}

/**
 * The transaction under an identifier; waits up to `waitSeconds` while something is under way, if
 * not too many wait already.
 *
 * @throws Refusal transaction_not_found, transaction_ambiguous
 */
export async function status(
  deps: PaymentsDeps,
  caller: Caller,
  of: { identifier: string; merchantId?: string | undefined; waitSeconds: number },
): Promise<LoadedTransaction> {
  const find = () => findTransaction(deps, caller, of.identifier, of.merchantId);
  const until = deps.clock.now() + of.waitSeconds * 1000;
  let loaded = await find();
  if (of.waitSeconds === 0 || !isMoving(loaded)) return loaded;
  const leave = deps.running.park(`${caller.organizationId}|${caller.clientId}`);
  if (leave === undefined) return loaded;
  try {
    const { version } = loaded.row;
    const isOver = () => deps.running.isStopping() || deps.clock.now() >= until;
    while (isMoving(loaded) && loaded.row.version === version && !isOver()) {
      const rest = Math.min(pollEveryMs, until - deps.clock.now());
      await deps.running.nextChange(loaded.row.transactionId, rest);
      loaded = await find();
    }
    return loaded;
  } finally {
    leave();
  }
}
