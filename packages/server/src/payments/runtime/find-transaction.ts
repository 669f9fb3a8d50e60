// Finds a transaction by the server's identifier or the client's, within what the caller may see.
import { refuse } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import type { TransactionRepository } from '../repository/transaction-repository.ts';
import { type TransactionRecord, transactionSummary } from '../transaction/transaction.ts';
import { resolveMerchantScope } from './caller-scope.ts';

/** Valid form of an identifier. Other text is not looked up. */
const identifierPattern = /^[A-Za-z0-9._:-]{1,64}$/;
const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** True for the text form of a UUID. */
export const isUuid = (name: string): boolean => uuidPattern.test(name);

const serverIdPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/** True for the text form of a UUID version 7; only such text is looked up as a server id. */
export const hasServerIdFormat = (name: string): boolean => serverIdPattern.test(name);

function createVisibilityFilter(caller: Caller, merchantId: string | undefined) {
  return ({ row }: TransactionRecord) =>
    (merchantId === undefined || row.merchantId === merchantId) &&
    (caller.storeId === undefined || row.storeId === caller.storeId);
}

export type FindPorts = {
  transactions: Pick<TransactionRepository, 'findById' | 'findByClientId'>;
};

/**
 * The transaction under an identifier: the server's first, then the client's.
 *
 * @param requestedMerchantId the merchant that an organisation's caller names, to decide between several
 * @throws Refusal transaction_not_found, also for transactions of another tenant;
 *   transaction_ambiguous
 */
export async function findTransaction(
  ports: FindPorts,
  caller: Caller,
  identifier: string,
  requestedMerchantId?: string,
): Promise<TransactionRecord> {
  const merchantId = resolveMerchantScope(caller, requestedMerchantId);
  const isVisible = createVisibilityFilter(caller, merchantId);
  if (!identifierPattern.test(identifier)) return refuseNotFound();
  if (hasServerIdFormat(identifier)) {
    const transactionById = await ports.transactions.findById(
      caller.organizationId,
      identifier.toLowerCase(),
    );
    if (transactionById !== undefined && isVisible(transactionById)) return transactionById;
  }
  const matches = await ports.transactions.findByClientId(
    caller.organizationId,
    identifier,
    merchantId,
  );
  const [transaction, secondMatch] = matches.filter(isVisible);
  if (transaction === undefined) return refuseNotFound();
  requireOwnIdentifier(transaction, identifier);
  if (secondMatch !== undefined) {
    refuse(
      'transaction_ambiguous',
      'Several merchants use this identifier. Send merchantId to select one.',
      {
        extensions: {
          merchantIds: matches.filter(isVisible).map(({ row }) => row.merchantId),
        },
      },
    );
  }
  return transaction;
}

/** @throws Refusal offline_sale_already_uploaded when the sale was found by the identifier of another upload */
export function requireOwnIdentifier(transaction: TransactionRecord, identifier: string): void {
  const { clientTransactionId } = transaction.row;
  if (identifier === clientTransactionId) return;
  refuse(
    'offline_sale_already_uploaded',
    `This offline sale was uploaded under the clientTransactionId ${clientTransactionId}. Use that identifier.`,
    { extensions: { transaction: transactionSummary(transaction) } },
  );
}

function refuseNotFound(): never {
  return refuse(
    'transaction_not_found',
    'No transaction with this identifier exists in the scope of the token.',
  );
}
