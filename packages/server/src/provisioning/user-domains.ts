// What provisioning asks of identity: the user domains of organisations.
import { Refusal } from '@switchyard/contract';
import type { Kysely } from 'kysely';
import { refuseTaken } from './errors.ts';

/** Identity's to fill. */
export type UserDomains = {
  /** Undefined where the organisation has none. */
  of(organizationId: string): Promise<string | undefined>;
  /** Of those that have one, by organisation. */
  ofAll(organizationIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Rejects with `already_exists` where the name is somebody's, or the platform's own. */
  open(organizationId: string, userDomainId: string, trx: Kysely<unknown>): Promise<void>;
  /** Lets nobody in any more, under a name that stays taken; tells it, where there was one. */
  close(organizationId: string, trx: Kysely<unknown>): Promise<string | undefined>;
  /** Its rows were changed and committed: this process sees that at once. */
  changed(organizationId: string): Promise<void>;
};

const refuseAny = async (): Promise<void> => refuseTaken('userDomainId');
const nothing = async (): Promise<undefined> => undefined;

/** Where identity is not there: nobody has a domain, and nobody gets one. */
export const noUserDomains: UserDomains = {
  of: async () => undefined,
  ofAll: async () => new Map(),
  open: refuseAny,
  close: nothing,
  changed: nothing,
};

/** Says which member of the body the taken name stands in. */
export async function openDomain(
  userDomains: UserDomains,
  organizationId: string,
  userDomainId: string,
  trx: Kysely<unknown>,
): Promise<void> {
  try {
    await userDomains.open(organizationId, userDomainId, trx);
  } catch (error) {
    if (error instanceof Refusal && error.code === 'already_exists') refuseTaken('userDomainId');
    throw error;
  }
}
