// Lets what a device encrypted be good for one sale: taken with it, and again where the issuer asks for the PIN (ADR 0071).
import type { ProcessRequest } from '@switchyard/contract';
import { type DataUse, dataUseOf, refuseReusedData, type UseOf } from './data-uses.ts';
import type { PaymentsDeps } from './deps.ts';
import { nextActionOf } from './next-action.ts';

/**
 * Whose numbers they are now, where that sale was declined for its PIN: whoever swipes once and errs in his
 * PIN is not asked for the card again, so that the terminal sends the same with another PIN.
 */
async function askedForPin(
  deps: Pick<PaymentsDeps, 'dataUses' | 'store'>,
  request: ProcessRequest,
  use: DataUse,
): Promise<string | undefined> {
  if (request.pinblock === undefined) return undefined;
  const usedBy = await deps.dataUses.userOf(use);
  const [merchantId, clientTransactionId, mark] = usedBy?.split('|') ?? [];
  const [ownMerchantId, , ownMark] = use.usedBy.split('|');
  if (clientTransactionId === undefined || merchantId !== ownMerchantId || mark !== ownMark) {
    return undefined;
  }
  const found = await deps.store.findByClientId(
    ...([use.organizationId, clientTransactionId, merchantId] as const),
  );
  const isAsked = found.some(
    (each) =>
      each.row.state === 'Declined' &&
      each.row.amount === request.amount &&
      each.row.currency === request.currency &&
      nextActionOf(each) === 'AskPin',
  );
  return isAsked ? usedBy : undefined;
}

/** @throws Refusal ksn_reused, encryption_key_unknown */
export async function useEncrypted(
  deps: Pick<PaymentsDeps, 'dataUses' | 'store'>,
  request: ProcessRequest,
  of: UseOf,
): Promise<void> {
  const use = dataUseOf(request, of);
  if (use === undefined || (await deps.dataUses.take(use))) return;
  const takesOver = await askedForPin(deps, request, use);
  if (takesOver === undefined) refuseReusedData();
  if (!(await deps.dataUses.take({ ...use, takesOver }))) refuseReusedData();
}
