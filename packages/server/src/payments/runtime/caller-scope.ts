// Scope of a caller: its merchant, its store or its whole organisation.
import { refuse } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';

function resolveScope(
  kind: 'merchant' | 'store',
  callerId: string | undefined,
  requestedId: string | undefined,
): string | undefined {
  const normalizedId = requestedId?.toLowerCase();
  if (callerId === undefined || normalizedId === undefined) return callerId ?? normalizedId;
  if (normalizedId !== callerId)
    refuse('entity_out_of_scope', `The token belongs to another ${kind}.`);
  return callerId;
}

/** @throws Refusal entity_out_of_scope if the token belongs to another merchant */
export const resolveMerchantScope = (caller: Caller, requestedMerchantId: string | undefined) =>
  resolveScope('merchant', caller.merchantId, requestedMerchantId);

/** @throws Refusal entity_out_of_scope if the token belongs to another store */
export const resolveStoreScope = (caller: Caller, requestedStoreId: string | undefined) =>
  resolveScope('store', caller.storeId, requestedStoreId);
