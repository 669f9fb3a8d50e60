// KSN replay check: a KSN is valid for one sale, and again after a sale that was not sent (ADR 0071).
import { type ProcessRequest, refuse } from '@switchyard/contract';
import type { TransactionRepository } from '../repository/transaction-repository.ts';
import type { State } from '../transaction/state-machine.ts';
import { terminalActionFor } from '../transaction/terminal-action.ts';
import { commitGraceMs } from '../transaction/time-limits.ts';
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
  acquirerTimeoutMs: number;
};
type RequestedAmount = Pick<ProcessRequest, 'amount' | 'currency'>;

/** `sale` is undefined if it was not stored. */
type PreviousKsnUse = { usedBy: string; at: number; sale: TransactionRecord | undefined };

/** Undefined if another merchant or card has used the KSN. */
async function findPreviousUse(
  ports: TakeKsnPorts,
  ksnUse: KsnUse,
): Promise<PreviousKsnUse | undefined> {
  const previousUser = await ports.ksnStore.findUser(ksnUse);
  const [merchantId, clientTransactionId, cardFingerprint] = previousUser?.usedBy.split('|') ?? [];
  const [ownMerchantId, , ownCardFingerprint] = ksnUse.usedBy.split('|');
  if (previousUser === undefined || clientTransactionId === undefined) return undefined;
  if (merchantId !== ownMerchantId || cardFingerprint !== ownCardFingerprint) return undefined;
  const [sale] = await ports.transactions.findByClientId(
    ksnUse.organizationId,
    clientTransactionId,
    merchantId,
  );
  return { ...previousUser, sale };
}

const hasSameAmount = (
  { row }: TransactionRecord,
  { amount, currency }: RequestedAmount,
): boolean => row.amount === amount && row.currency === currency;

/** The terminal repeats a sale that was not sent, or had a wrong PIN, with the same encrypted card data. */
function mayReuseKsn({ sale }: PreviousKsnUse, request: ProcessRequest): boolean {
  if (sale === undefined || !hasSameAmount(sale, request)) return false;
  if (sale.row.state === 'Failed') return true;
  if (request.pinblock === undefined || sale.row.state !== 'Declined') return false;
  return terminalActionFor(sale) === 'AskPin';
}

/** @throws Refusal ksn_reused, encryption_key_unknown */
export async function takeKsn(
  ports: TakeKsnPorts,
  request: ProcessRequest,
  input: KsnUseInput,
): Promise<void> {
  const ksnUse = createKsnUse(request, input);
  if (ksnUse === undefined || (await ports.ksnStore.take(ksnUse))) return;
  const previous = await findPreviousUse(ports, ksnUse);
  if (previous === undefined || !mayReuseKsn(previous, request)) return refuseReusedKsn();
  if (!(await ports.ksnStore.take({ ...ksnUse, takesOverFrom: previous.usedBy }))) {
    refuseReusedKsn();
  }
}

const statesWithoutMoney: ReadonlySet<State> = new Set<State>(['Failed', 'Reversing', 'Reversed']);

/**
 * After an online attempt without a charge the terminal may make the sale offline. It takes over the KSN of
 * that attempt.
 *
 * @throws Refusal ksn_reused; concurrent_modification while the online attempt is in progress
 */
export async function takeOverKsnOffline(
  ports: TakeKsnPorts,
  ksnUse: KsnUse,
  requested: RequestedAmount,
): Promise<KsnUse> {
  const previous = await findPreviousUse(ports, ksnUse);
  if (previous === undefined) return refuseReusedKsn();
  const { sale, usedBy, at } = previous;
  // An attempt that is not stored may still be in progress until its time-out.
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
  return isFree ? { ...ksnUse, takesOverFrom: usedBy } : refuseReusedKsn();
}
