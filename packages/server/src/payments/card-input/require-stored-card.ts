// Refuses what would need the card of a sale so old that its card is no longer kept.
import { refuse } from '@switchyard/contract';
import type { PaymentsDeps } from '../deps.ts';
import { factsOf, type LoadedTransaction } from '../transaction/transaction.ts';

/** Only a sale of long ago is looked up: younger ones have their card. */
export async function refuseDeletedCard(
  { vault }: Pick<PaymentsDeps, 'vault'>,
  loaded: LoadedTransaction,
): Promise<void> {
  const { organizationId, createdAt } = loaded.row;
  const gone = vault.wasDeleted(organizationId, factsOf(loaded).card.token, Date.parse(createdAt));
  if (gone === false || !(await gone)) return;
  refuse('card_token_unknown', 'The card of this sale is no longer kept.');
}
