// The user domain in the path of a request: only the one of the caller.
import { throwProblem } from '@switchyard/contract';
import { Type } from 'typebox';
import type { AuthenticatedRequest } from '../../http/index.ts';

/** The first part of the paths of user management and application management. */
export const userDomainIdSchema = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'The user domain of the caller, or of the organisation that the caller acts for.',
});

/** The user domain of another organisation gets the same error as an unknown one. */
export function requireOwnUserDomain({ caller, params }: AuthenticatedRequest): void {
  const { userDomainId } = params as { readonly userDomainId: string };
  if (userDomainId === caller.realm) return;
  throwProblem('resource_not_found', 'No user domain that you may see has this identifier.');
}
