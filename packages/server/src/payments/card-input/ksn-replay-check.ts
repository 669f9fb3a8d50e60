// KSN replay check: a KSN is valid for one sale, and again after a sale that was not sent (ADR 0071).

import { type ProcessRequest, refuse } from '@switchyard/contract';
import type { TransactionRepository } from '../repository/transaction-repository.ts';
import type { State } from '../transaction/state-machine.ts';
import { terminalActionFor } from '../transaction/terminal-action.ts';
import { commitGraceMs } from '../transaction/timeouts.ts';
import type { TransactionRecord } from '../transaction/transaction.ts';
import {
  createKsnUse,
  type KsnStore,
  type KsnUse,
  type KsnUseInput,
  refuseReusedKsn,
} from './ksn-sql.ts';

export type TakeKsnPorts = {
  ksnStore: Pick<KsnStore, 'take' | 'findUser'>;
  transactions: Pick<TransactionRepository, 'findByClientId'>;
  /** How long an acquirer may take, ms. */
  acquirerTimeoutMs: number;
};
type RequestedAmount = Pick<ProcessRequest, 'amount' | 'currency'>;

/** Who has the number, where that is a sale of the same merchant and card. */
type PreviousKsnUse = { usedBy: string; at: number; sale: TransactionRecord | undefined };

async function findPreviousUse(
  ports: TakeKsnPorts,
  ksnUse: KsnUse,
): Promise<PreviousKsnUse | undefined> {
  const previousUser = await ports.ksnStore.findUser(ksnUse);
  const [merchantId, clientTransactionId, cardFingerprint] = previousUser?.usedBy.split('|') ?? [];
  const [ownMerchantId, , ownCardFingerprint] = ksnUse.usedBy.split('|');
  if (previousUser === undefined || clientTransactionId === undefined) return undefined;
  if (merchantId !== ownMerchantId || cardFingerprint !== ownCardFingerprint) return undefined;
  const { organizationId } = ksnUse;
  const matches = await ports.transactions.findByClientId(
    organizationId,
    clientTransactionId,
    merchantId,
  );
  return { ...previousUser, sale: matches[0] };
}

const hasSameAmount = (
  { row }: TransactionRecord,
  { amount, currency }: RequestedAmount,
): boolean => row.amount === amount && row.currency === currency;

/**
 * Whoever swipes once and errs in his PIN is not asked for the card again: the terminal sends the same with
 * another PIN.
 */
function isPinRetry({ sale }: PreviousKsnUse, request: ProcessRequest): boolean {
  if (request.pinblock === undefined || sale?.row.state !== 'Declined') return false;
  return hasSameAmount(sale, request) && terminalActionFor(sale) === 'AskPin';
}

/** Nothing of it was sent: the terminal is told to sell again, and has read the card once. */
const wasNotSent = ({ sale }: PreviousKsnUse, request: ProcessRequest): boolean =>
  sale?.row.state === 'Failed' && hasSameAmount(sale, request);

/** @throws Refusal ksn_reused, encryption_key_unknown */
export async function takeKsn(
  ports: TakeKsnPorts,
  request: ProcessRequest,
  input: KsnUseInput,
): Promise<void> {
  const ksnUse = createKsnUse(request, input);
  if (ksnUse === undefined || (await ports.ksnStore.take(ksnUse))) return;
  const previous = await findPreviousUse(ports, ksnUse);
  if (previous === undefined) return refuseReusedKsn();
  if (!isPinRetry(previous, request) && !wasNotSent(previous, request)) refuseReusedKsn();
  const takesOver = previous.usedBy;
  if (!(await ports.ksnStore.take({ ...ksnUse, takesOverFrom: takesOver }))) refuseReusedKsn();
}

/** Final states without a charge. */
const statesWithoutMoney: ReadonlySet<State> = new Set<State>(['Failed', 'Reversing', 'Reversed']);

/**
 * The terminal has tried the sale at the till, heard nothing or no, and made it alone: the goods are gone,
 * so it takes over the number of a try that ended without money, or was never stored.
 *
 * @returns the use with which it is stored
 * @throws Refusal ksn_reused; concurrent_modification while that try still runs
 */
export async function takeOverKsnOffline(
  ports: TakeKsnPorts,
  ksnUse: KsnUse,
  requested: RequestedAmount,
): Promise<KsnUse> {
  const previous = await findPreviousUse(ports, ksnUse);
  if (previous === undefined) return refuseReusedKsn();
  const { sale, usedBy: takesOver, at } = previous;
  // One that is not stored may be about to be, or to be sent, as long as a request can take.
  const isPossiblyRunning =
    sale === undefined
      ? ksnUse.at < at + ports.acquirerTimeoutMs + commitGraceMs
      : sale.row.state === 'Received' && hasSameAmount(sale, requested);
  if (isPossiblyRunning)
    refuse(
      'concurrent_modification',
      'Another sale with this KSN is in progress. Retry the request.',
    );
  const isFree =
    sale === undefined ||
    (statesWithoutMoney.has(sale.row.state) && hasSameAmount(sale, requested));
  return isFree ? { ...ksnUse, takesOverFrom: takesOver } : refuseReusedKsn();
}
