// What a caller of user management may see: its user domain, and of that one merchant or all.
import { refuse } from '@switchyard/contract';
import { Type } from 'typebox';
import type { Caller } from '../http/index.ts';

/** The first part of every path of user management. */
export const userDomainId = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'The user domain of the caller, or of the organisation that is acted in.',
});

/** A domain of somebody else is as unknown as one that does not exist. */
export function demandDomain(caller: Caller, { userDomainId: named }: { userDomainId: string }) {
  if (named === caller.realm) return;
  refuse('resource_not_found', 'No user domain in your scope has this name.');
}

/** Tokens of an application that is bound to a merchant count as the merchant's. */
export function merchantOf(caller: Caller): string | undefined {
  return caller.entityType === 'merchant' ? caller.entityId : caller.merchantId;
}
