// What a caller may see and change: a merchant's own things, or all of the organisation's.
import { defined } from '@switchyard/contract';
import { type Author, actorOf } from '../audit/index.ts';
import type { Caller } from '../http/index.ts';
import { refuseMerchantCaller } from './errors.ts';

/** An organisation, or one merchant of it. */
export type Scope = {
  readonly organizationId: string;
  readonly merchantId?: string;
  /** Where the caller's token is good for one store alone. */
  readonly storeId?: string;
  /** Who makes the changes, for the audit; the platform itself where absent. */
  readonly author?: Author;
};

/** Tokens of an application that is bound to a merchant count as the merchant's. */
function merchantOf(caller: Caller): string | undefined {
  return caller.entityType === 'merchant' ? caller.entityId : caller.merchantId;
}

export function scopeOf(caller: Caller, requestId: string): Scope {
  const { organizationId, storeId } = caller;
  const merchantId = merchantOf(caller);
  const author = actorOf(caller, requestId);
  return {
    organizationId,
    author,
    ...defined({ merchantId, storeId }),
  };
}

/** Some things are the acquirer's to decide, whatever a merchant may change otherwise. */
export function requireOrganization(caller: Caller, what: string): void {
  if (merchantOf(caller) !== undefined) refuseMerchantCaller(what);
}
