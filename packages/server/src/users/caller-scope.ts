// The scope of a caller of user management: its user domain, and in it one merchant or all.
import { throwProblem } from '@switchyard/contract';
import { Type } from 'typebox';
import type { Caller } from '../http/index.ts';

/** The first part of every path of user management. */
export const userDomainIdSchema = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'The user domain of the caller, or of the organisation that the caller acts for.',
});

/** The user domain of another organisation gets the same error as an unknown one. */
export function requireOwnUserDomain(
  caller: Caller,
  { userDomainId: requested }: { userDomainId: string },
) {
  if (requested === caller.realm) return;
  throwProblem('resource_not_found', 'No user domain that you may see has this identifier.');
}

/** Also for tokens of an application that belongs to a merchant. */
export function merchantIdOf(caller: Caller): string | undefined {
  return caller.entityType === 'merchant' ? caller.entityId : caller.merchantId;
}
