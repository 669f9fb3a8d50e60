// Finds a transaction within the scope of the caller, optionally after waiting for a change (long polling).
import { throwProblem } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import { type Clock, isUuidV7 } from '../../platform/index.ts';
import type { TransactionRepository } from '../repository/transaction-repository.ts';
import type { State } from '../transaction/state-machine.ts';
import {
  isUnfinishedMessage,
  type TransactionRecord,
  transactionSummary,
} from '../transaction/transaction.ts';
import type { InFlightTransactions } from './in-flight-transactions.ts';

const createScopeResolver =
  (kind: 'merchant' | 'store') =>
  (caller: Caller, requestedId: string | undefined): string | undefined => {
    const callerId = kind === 'merchant' ? caller.merchantId : caller.storeId;
    const normalizedId = requestedId?.toLowerCase();
    if (callerId !== undefined && normalizedId !== undefined && normalizedId !== callerId)
      throwProblem('entity_out_of_scope', `The token belongs to another ${kind}.`);
    return callerId ?? normalizedId;
  };

/** @throws ProblemError entity_out_of_scope if the token belongs to another merchant */
export const resolveMerchantScope = createScopeResolver('merchant');

/** @throws ProblemError entity_out_of_scope if the token belongs to another store */
export const resolveStoreScope = createScopeResolver('store');

/** Valid form of an identifier. Other text is not looked up. */
const identifierPattern = /^[A-Za-z0-9._:-]{1,64}$/;

export type FindPorts = {
  transactions: Pick<TransactionRepository, 'findById' | 'findByClientId' | 'requireComplete'>;
};

/**
 * Tries the server's identifier first, then the client's.
 *
 * @throws ProblemError transaction_not_found, also for transactions of another tenant; recovery_required;
 *   transaction_ambiguous; offline_sale_already_uploaded
 */
export async function findTransaction(
  { transactions }: FindPorts,
  caller: Caller,
  identifier: string,
  requestedMerchantId?: string,
): Promise<TransactionRecord> {
  const { organizationId, storeId } = caller;
  const merchantId = resolveMerchantScope(caller, requestedMerchantId);
  const isVisible = ({ row }: TransactionRecord) =>
    (merchantId === undefined || row.merchantId === merchantId) &&
    (storeId === undefined || row.storeId === storeId);
  if (!identifierPattern.test(identifier)) return throwTransactionNotFound();
  if (isUuidV7(identifier)) {
    const transaction = await transactions.findById(organizationId, identifier.toLowerCase());
    if (transaction !== undefined && isVisible(transaction)) return transaction;
  }
  const records = await transactions.findByClientId(organizationId, identifier, merchantId);
  const matches = records.filter(isVisible);
  const [transaction] = matches;
  if (transaction === undefined) {
    transactions.requireComplete();
    return throwTransactionNotFound();
  }
  requireOwnIdentifier(transaction, identifier);
  if (matches.length === 1) return transaction;
  return throwProblem(
    'transaction_ambiguous',
    'Several merchants use this identifier. Send merchantId to select one.',
    { extensions: { merchantIds: matches.map(({ row }) => row.merchantId) } },
  );
}

/** @throws ProblemError offline_sale_already_uploaded if the sale was found by the identifier of another upload */
export function requireOwnIdentifier(transaction: TransactionRecord, identifier: string): void {
  const { clientTransactionId } = transaction.row;
  if (identifier === clientTransactionId) return;
  throwProblem(
    'offline_sale_already_uploaded',
    `This offline sale was uploaded under the clientTransactionId ${clientTransactionId}. Use that identifier.`,
    { extensions: { transaction: transactionSummary(transaction) } },
  );
}

function throwTransactionNotFound(): never {
  return throwProblem(
    'transaction_not_found',
    'No transaction that you may see has this identifier.',
  );
}

const pollEveryMs = 500;

const unfinishedStates: ReadonlySet<State> = new Set<State>(['Received', 'Stored', 'Reversing']);

const isUnfinished = ({ row, operations }: TransactionRecord): boolean =>
  unfinishedStates.has(row.state) || operations.some(isUnfinishedMessage);

export type ReadPorts = FindPorts & {
  inFlightTransactions: InFlightTransactions;
  dueClock: Clock;
};

/**
 * Waits up to `waitSeconds` for a change of an unfinished transaction, unless too many readers wait.
 *
 * @throws ProblemError transaction_not_found, transaction_ambiguous
 */
export async function getTransaction(
  ports: ReadPorts,
  caller: Caller,
  query: { identifier: string; merchantId?: string | undefined; waitSeconds: number },
): Promise<TransactionRecord> {
  const { inFlightTransactions, dueClock } = ports;
  const { identifier, merchantId, waitSeconds } = query;
  const readTransaction = () => findTransaction(ports, caller, identifier, merchantId);
  const deadlineMs = dueClock.now() + waitSeconds * 1000;
  let transaction = await readTransaction();
  if (waitSeconds === 0 || !isUnfinished(transaction)) return transaction;
  const clientKey = `${caller.organizationId}|${caller.clientId}`;
  const releaseSlot = inFlightTransactions.acquireWaitSlot(clientKey);
  if (releaseSlot === undefined) return transaction;
  try {
    const { transactionId, version } = transaction.row;
    while (isUnfinished(transaction) && transaction.row.version === version) {
      const remainingMs = deadlineMs - dueClock.now();
      if (remainingMs <= 0 || inFlightTransactions.isStopping()) break;
      await inFlightTransactions.waitForChange(transactionId, Math.min(pollEveryMs, remainingMs));
      transaction = await readTransaction();
    }
    return transaction;
  } finally {
    releaseSlot();
  }
}
