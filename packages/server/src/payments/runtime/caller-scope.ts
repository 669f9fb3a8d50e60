// Scope of a caller: its merchant, its store or its whole organisation.
import { refuse } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';

/**
 * The merchant that a request is about: the token's, or for an organisation the one it names.
 *
 * @throws Refusal entity_out_of_scope where the token is good for another merchant
 */
export function resolveMerchantScope(
  caller: Caller,
  requestedMerchantId: string | undefined,
): string | undefined {
  if (caller.merchantId === undefined) return requestedMerchantId?.toLowerCase();
  if (
    requestedMerchantId !== undefined &&
    requestedMerchantId.toLowerCase() !== caller.merchantId
  ) {
    refuse('entity_out_of_scope', 'The token belongs to another merchant.');
  }
  return caller.merchantId;
}

/**
 * The store that a request is about: the token's, or the one it names.
 *
 * @throws Refusal entity_out_of_scope where the token is good for another store
 */
export function resolveStoreScope(
  caller: Caller,
  requestedStoreId: string | undefined,
): string | undefined {
  const normalizedStoreId = requestedStoreId?.toLowerCase();
  if (caller.storeId === undefined) return normalizedStoreId;
  if (normalizedStoreId !== undefined && normalizedStoreId !== caller.storeId) {
    refuse('entity_out_of_scope', 'The token belongs to another store.');
  }
  return caller.storeId;
}
