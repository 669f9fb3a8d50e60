// Lets what a device encrypted be good for one sale: taken with it, and again where that sale came to nothing (ADR 0071).
import { type ProcessRequest, refuse } from '@switchyard/contract';
import { graceMs, type PaymentsDeps } from '../deps.ts';
import type { State } from '../transaction/state-machine.ts';
import { nextActionOf } from '../transaction/terminal-action.ts';
import type { LoadedTransaction } from '../transaction/transaction.ts';
import { type DataUse, dataUseOf, refuseReusedData, type UseOf } from './ksn-sql.ts';

type Deps = Pick<PaymentsDeps, 'dataUses' | 'store' | 'acquirerTimeoutMs'>;
type Asked = Pick<ProcessRequest, 'amount' | 'currency'>;

/** Who has the number, where that is a sale of the same merchant and card. */
type Before = { usedBy: string; at: number; sale: LoadedTransaction | undefined };

async function saleBefore(deps: Deps, use: DataUse): Promise<Before | undefined> {
  const user = await deps.dataUses.userOf(use);
  const [merchantId, clientTransactionId, mark] = user?.usedBy.split('|') ?? [];
  const [ownMerchantId, , ownMark] = use.usedBy.split('|');
  if (user === undefined || clientTransactionId === undefined) return undefined;
  if (merchantId !== ownMerchantId || mark !== ownMark) return undefined;
  const { organizationId } = use;
  const found = await deps.store.findByClientId(organizationId, clientTransactionId, merchantId);
  return { ...user, sale: found[0] };
}

const isAlike = ({ row }: LoadedTransaction, { amount, currency }: Asked): boolean =>
  row.amount === amount && row.currency === currency;

/**
 * Whoever swipes once and errs in his PIN is not asked for the card again: the terminal sends the same with
 * another PIN.
 */
function isAskedForPin({ sale }: Before, request: ProcessRequest): boolean {
  if (request.pinblock === undefined || sale?.row.state !== 'Declined') return false;
  return isAlike(sale, request) && nextActionOf(sale) === 'AskPin';
}

/** Nothing of it was sent: the terminal is told to sell again, and has read the card once. */
const cameToNothing = ({ sale }: Before, request: ProcessRequest): boolean =>
  sale?.row.state === 'Failed' && isAlike(sale, request);

/** @throws Refusal ksn_reused, encryption_key_unknown */
export async function useEncrypted(deps: Deps, request: ProcessRequest, of: UseOf): Promise<void> {
  const use = dataUseOf(request, of);
  if (use === undefined || (await deps.dataUses.take(use))) return;
  const before = await saleBefore(deps, use);
  if (before === undefined) return refuseReusedData();
  if (!isAskedForPin(before, request) && !cameToNothing(before, request)) refuseReusedData();
  const takesOver = before.usedBy;
  if (!(await deps.dataUses.take({ ...use, takesOver }))) refuseReusedData();
}

/** Ended, and nobody's money has moved or will stay where it went. */
const moneyless: ReadonlySet<State> = new Set<State>(['Failed', 'Reversing', 'Reversed']);

/**
 * The terminal has tried the sale at the till, heard nothing or no, and made it alone: the goods are gone,
 * so it takes over the number of a try that ended without money, or was never stored.
 *
 * @returns the use with which it is stored
 * @throws Refusal ksn_reused; concurrent_modification while that try still runs
 */
export async function takenOverOffline(deps: Deps, use: DataUse, asked: Asked): Promise<DataUse> {
  const before = await saleBefore(deps, use);
  if (before === undefined) return refuseReusedData();
  const { sale, usedBy: takesOver, at } = before;
  // One that is not stored may be about to be, or to be sent, as long as a request can take.
  const mayRun =
    sale === undefined
      ? use.at < at + deps.acquirerTimeoutMs + graceMs
      : sale.row.state === 'Received' && isAlike(sale, asked);
  if (mayRun) refuse('concurrent_modification', 'The same card is in a sale under way; try again.');
  const isFree = sale === undefined || (moneyless.has(sale.row.state) && isAlike(sale, asked));
  return isFree ? { ...use, takesOver } : refuseReusedData();
}
