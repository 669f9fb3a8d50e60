// KSN replay check: a KSN is valid for one sale, and again after a sale that was not sent (ADR 0040).
import { type ProcessRequest, throwProblem } from '@switchyard/contract';
import type { TransactionRepository } from '../repository/transaction-repository.ts';
import type { State } from '../transaction/state-machine.ts';
import { terminalActionFor } from '../transaction/terminal-action.ts';
import { commitGraceMs } from '../transaction/time-limits.ts';
import type { TransactionRecord } from '../transaction/transaction.ts';
import {
  createKsnUse,
  type KsnStore,
  type KsnUse,
  type KsnUser,
  throwReusedKsn,
} from './ksn-sql.ts';

export type TakeKsnPorts = {
  ksnStore: Pick<KsnStore, 'take' | 'findUser'>;
  transactions: Pick<TransactionRepository, 'findByClientId'>;
  acquirerTimeoutMs: number;
};

/**
 * `sale` is undefined if it was not stored.
 *
 * @throws ProblemError ksn_reused if another merchant or card has used the KSN
 */
async function findPreviousUse({ ksnStore, transactions }: TakeKsnPorts, ksnUse: KsnUse) {
  const previousUser = await ksnStore.findUser(ksnUse);
  const [merchantId, clientTransactionId, cardFingerprint] = previousUser?.usedBy.split('|') ?? [];
  const [ownMerchantId, , ownCardFingerprint] = ksnUse.usedBy.split('|');
  if (previousUser === undefined || clientTransactionId === undefined) return throwReusedKsn();
  if (merchantId !== ownMerchantId || cardFingerprint !== ownCardFingerprint) throwReusedKsn();
  const { organizationId } = ksnUse;
  const [sale] = await transactions.findByClientId(organizationId, clientTransactionId, merchantId);
  return { ...previousUser, sale };
}

const hasSameAmount = ({ row }: TransactionRecord, request: ProcessRequest): boolean =>
  row.amount === request.amount && row.currency === request.currency;

/** The terminal repeats a sale that was not sent, or had a wrong PIN, with the same encrypted card data. */
function mayReuseKsn(sale: TransactionRecord | undefined, request: ProcessRequest): boolean {
  if (sale === undefined || !hasSameAmount(sale, request)) return false;
  if (sale.row.state === 'Failed') return true;
  if (request.pinblock === undefined || sale.row.state !== 'Declined') return false;
  return terminalActionFor(sale) === 'AskPin';
}

/** @throws ProblemError ksn_reused, encryption_key_unknown */
export async function takeKsn(
  ports: TakeKsnPorts,
  request: ProcessRequest,
  user: KsnUser,
): Promise<void> {
  const ksnUse = createKsnUse(request, user);
  if (ksnUse === undefined || (await ports.ksnStore.take(ksnUse))) return;
  const { sale, usedBy } = await findPreviousUse(ports, ksnUse);
  const isTaken =
    mayReuseKsn(sale, request) && (await ports.ksnStore.take({ ...ksnUse, takesOverFrom: usedBy }));
  if (!isTaken) throwReusedKsn();
}

const statesWithoutMoney: ReadonlySet<State> = new Set(['Failed', 'Reversing', 'Reversed']);

/**
 * After an online attempt without a charge the terminal may make the sale offline. It takes over the KSN of
 * that attempt.
 *
 * @throws ProblemError ksn_reused; concurrent_modification while the online attempt is in progress
 */
export async function takeOverKsnOffline(
  ports: TakeKsnPorts,
  ksnUse: KsnUse,
  request: ProcessRequest,
): Promise<KsnUse> {
  const { sale, usedBy, usedAt } = await findPreviousUse(ports, ksnUse);
  if (sale !== undefined && !hasSameAmount(sale, request)) return throwReusedKsn();
  // An attempt that is not stored may still be in progress until its time-out.
  const isPossiblyRunning =
    sale === undefined
      ? ksnUse.at < usedAt.getTime() + ports.acquirerTimeoutMs + commitGraceMs
      : sale.row.state === 'Received';
  if (isPossiblyRunning) {
    const detail = 'Another sale with this KSN is in progress. Retry the request.';
    return throwProblem('concurrent_modification', detail);
  }
  const isFree = sale === undefined || statesWithoutMoney.has(sale.row.state);
  return isFree ? { ...ksnUse, takesOverFrom: usedBy } : throwReusedKsn();
}
