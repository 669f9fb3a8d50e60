// Refuses an operation when the stored card of the sale was deleted.
import { refuse } from '@switchyard/contract';
import type { Vault } from '../../vault/index.ts';
import { authorizationContext, type TransactionRecord } from '../transaction/transaction.ts';

/** Only a sale of long ago is looked up: younger ones have their card. */
export async function requireStoredCard(
  { vault }: { vault: Pick<Vault, 'wasDeleted'> },
  transaction: TransactionRecord,
): Promise<void> {
  const { organizationId, createdAt } = transaction.row;
  const isDeleted = vault.wasDeleted(
    organizationId,
    authorizationContext(transaction).card.token,
    Date.parse(createdAt),
  );
  if (isDeleted === false || !(await isDeleted)) return;
  refuse(
    'card_token_unknown',
    'The stored card of this sale was deleted after its retention period.',
  );
}
