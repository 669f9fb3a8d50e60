// The scope of a caller, and the author that the audit records for its changes.
import { defined } from '@switchyard/contract';
import { type Author, actorOf } from '../../audit/index.ts';
import { type AuthenticatedRequest, type Caller, merchantOf } from '../../http/index.ts';

/** The organisation of a caller, and the merchant and device that the caller is bound to. */
export type CallerScope = {
  readonly organizationId: string;
  readonly merchantId?: string;
  readonly deviceId?: string;
};

/** A scope with the author that the audit records for changes. */
export type AuthoredScope = CallerScope & { readonly author: Author };

export function readCallerScope(caller: Caller): CallerScope {
  const { organizationId, deviceId } = caller;
  return { organizationId, ...defined({ merchantId: merchantOf(caller), deviceId }) };
}

export const readScopeAndAuthor = (request: AuthenticatedRequest): AuthoredScope => ({
  ...readCallerScope(request.caller),
  author: actorOf(request.caller, String(request.id)),
});
