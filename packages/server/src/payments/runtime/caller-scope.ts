// Whose transactions a caller may touch: its own merchant's or store's, or all of its organisation's.
import { refuse } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';

/**
 * The merchant that a request is about: the token's, or for an organisation the one it names.
 *
 * @throws Refusal entity_out_of_scope where the token is good for another merchant
 */
export function merchantOf(caller: Caller, asked: string | undefined): string | undefined {
  if (caller.merchantId === undefined) return asked?.toLowerCase();
  if (asked !== undefined && asked.toLowerCase() !== caller.merchantId) {
    refuse('entity_out_of_scope', 'The token is good for another merchant.');
  }
  return caller.merchantId;
}

/**
 * The store that a request is about: the token's, or the one it names.
 *
 * @throws Refusal entity_out_of_scope where the token is good for another store
 */
export function storeOf(caller: Caller, asked: string | undefined): string | undefined {
  const named = asked?.toLowerCase();
  if (caller.storeId === undefined) return named;
  if (named !== undefined && named !== caller.storeId) {
    refuse('entity_out_of_scope', 'The token is good for another store.');
  }
  return caller.storeId;
}
