// The interface to identity for the user domains of organisations.
import { ProblemError } from '@switchyard/contract';
import type { Queries } from '../../platform/index.ts';
import { throwAlreadyExists } from '../resources/provisioning-errors.ts';

/** Identity implements this interface. */
export type UserDomains = {
  /** Undefined if the organisation has no domain. */
  findByOrganization(organizationId: string): Promise<string | undefined>;
  /** Maps the organisations that have a domain to that domain. */
  findByOrganizations(organizationIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Rejects with `already_exists` if the name is in use, or belongs to the platform. */
  open(organizationId: string, userDomainId: string, trx: Queries): Promise<void>;
  /** Blocks all sign-ins; the name stays reserved. Returns the name if there was a domain. */
  close(organizationId: string, trx: Queries): Promise<string | undefined>;
  /** Call this after the commit, so that this process sees the change at once. */
  invalidate(organizationId: string): Promise<void>;
};

const throwDomainTaken = async (): Promise<void> => throwAlreadyExists('userDomainId');
const resolveUndefined = async (): Promise<undefined> => undefined;

/** For a platform without identity: no organisation has a domain or can get one. */
export const noUserDomains: UserDomains = {
  findByOrganization: async () => undefined,
  findByOrganizations: async () => new Map(),
  open: throwDomainTaken,
  close: resolveUndefined,
  invalidate: resolveUndefined,
};

/** Reports a name in use as a fault of the member `userDomainId`. */
export async function openUserDomain(
  userDomains: UserDomains,
  organizationId: string,
  userDomainId: string,
  trx: Queries,
): Promise<void> {
  try {
    await userDomains.open(organizationId, userDomainId, trx);
  } catch (error) {
    if (error instanceof ProblemError && error.code === 'already_exists')
      throwAlreadyExists('userDomainId');
    throw error;
  }
}
