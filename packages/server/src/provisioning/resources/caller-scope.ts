// Defines what a caller may see and change: one merchant's entities, or all of an organisation.
import { defined } from '@switchyard/contract';
import { type Author, actorOf } from '../../audit/index.ts';
import type { Caller } from '../../http/index.ts';
import { throwOrganizationOnly } from './provisioning-errors.ts';

/** An organisation, or one of its merchants. */
export type CallerScope = {
  readonly organizationId: string;
  readonly merchantId?: string;
  /** The store, if the caller's token is valid for only one store. */
  readonly storeId?: string;
  /** The author of changes for the audit; if absent, the platform itself. */
  readonly author?: Author;
};

/** A token of an application that is bound to a merchant has the scope of the merchant. */
function merchantIdOfCaller(caller: Caller): string | undefined {
  return caller.entityType === 'merchant' ? caller.entityId : caller.merchantId;
}

export function toCallerScope(caller: Caller, requestId: string): CallerScope {
  const { organizationId, storeId } = caller;
  const merchantId = merchantIdOfCaller(caller);
  const author = actorOf(caller, requestId);
  return {
    organizationId,
    author,
    ...defined({ merchantId, storeId }),
  };
}

/** Some operations are reserved for callers of the organisation itself, not of a merchant. */
export function requireOrganizationCaller(caller: Caller, action: string): void {
  if (merchantIdOfCaller(caller) !== undefined) throwOrganizationOnly(action);
}
