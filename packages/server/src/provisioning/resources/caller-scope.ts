// Defines what a caller may see and change: one merchant's entities, or all of an organisation.
import { defined } from '@switchyard/contract';
import { type Author, actorOf } from '../../audit/index.ts';
import { type Caller, merchantOf } from '../../http/index.ts';
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

export function toCallerScope(caller: Caller, requestId: string): CallerScope {
  const { organizationId, storeId } = caller;
  const merchantId = merchantOf(caller);
  const author = actorOf(caller, requestId);
  return {
    organizationId,
    author,
    ...defined({ merchantId, storeId }),
  };
}

/** Some operations are reserved for callers of the organisation itself, not of a merchant. */
export function requireOrganizationCaller(caller: Caller, action: string): void {
  if (merchantOf(caller) !== undefined) throwOrganizationOnly(action);
}
