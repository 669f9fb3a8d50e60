// Finds a transaction by the server's identifier or the client's, within what the caller may see.
import { refuse } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import type { LoadedTransaction } from '../transaction/transaction.ts';
import { merchantOf } from './caller-scope.ts';

/** What a server's or a client's identifier can be; other text is not found, and not looked for. */
const identifierForm = /^[A-Za-z0-9._:-]{1,64}$/;
const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether a name can be compared with the server's identifiers. */
export const isUuid = (name: string): boolean => uuidForm.test(name);

const serverForm = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/** Whether a name can be the server's identifier: no other is worth a look. */
export const maybeServerId = (name: string): boolean => serverForm.test(name);

function visible(caller: Caller, merchantId: string | undefined) {
  return ({ row }: LoadedTransaction) =>
    (merchantId === undefined || row.merchantId === merchantId) &&
    (caller.storeId === undefined || row.storeId === caller.storeId);
}

/**
 * The transaction under an identifier: the server's first, then the client's.
 *
 * @param asked the merchant that an organisation's caller names, to decide between several
 * @throws Refusal transaction_not_found, also for what belongs to somebody else;
 *   transaction_ambiguous
 */
export async function findTransaction(
  deps: Pick<PaymentsDeps, 'store'>,
  caller: Caller,
  identifier: string,
  asked?: string,
): Promise<LoadedTransaction> {
  const merchantId = merchantOf(caller, asked);
  const mayBeSeen = visible(caller, merchantId);
  if (!identifierForm.test(identifier)) return refuseUnknown();
  if (maybeServerId(identifier)) {
    const found = await deps.store.findById(caller.organizationId, identifier.toLowerCase());
    if (found !== undefined && mayBeSeen(found)) return found;
  }
  const matches = await deps.store.findByClientId(caller.organizationId, identifier, merchantId);
  const [match, another] = matches.filter(mayBeSeen);
  if (match === undefined) return refuseUnknown();
  if (another !== undefined) {
    refuse('transaction_ambiguous', 'Several merchants have used this identifier.', {
      extensions: {
        merchantIds: matches.filter(mayBeSeen).map(({ row }) => row.merchantId),
      },
    });
  }
  return match;
}

function refuseUnknown(): never {
  return refuse('transaction_not_found', 'There is no transaction with this identifier.');
}
