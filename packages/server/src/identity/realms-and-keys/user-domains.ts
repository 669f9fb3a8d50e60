// Creates, finds and closes the user domains of organisations.
import { ProblemError, throwProblem } from '@switchyard/contract';
import type { Queries } from '../../platform/index.ts';
import type { RealmStore } from './realm-sql.ts';
import type { Realms } from './realms.ts';

export type NewUserDomain = { readonly userDomainId: string; readonly organizationId: string };

/** Host names that no organisation may use as its user domain. */
export const reservedDomainNames: ReadonlySet<string> = new Set([
  'admin',
  'api',
  'auth',
  'demo',
  'mail',
  'master',
  'operator',
  'portal',
  'provider',
  'platform',
  'support',
  'switchyard',
  'www',
]);

type Deps = {
  readonly realms: Pick<Realms, 'create' | 'invalidate'>;
  readonly rotation: {
    scheduleRotation(domain: NewUserDomain, trx?: Queries): Promise<void>;
  };
  readonly store: Pick<
    RealmStore,
    'findDomainOfOrganization' | 'findDomainsOfOrganizations' | 'closeDomain'
  >;
};

const isTaken = (error: unknown): boolean =>
  error instanceof ProblemError && error.code === 'already_exists';

export function createUserDomains({ realms, rotation, store }: Deps) {
  /** Also schedules the rotation of its signing keys. */
  async function create(domain: NewUserDomain, trx?: Queries): Promise<void> {
    await realms.create(domain, trx);
    await rotation.scheduleRotation(domain, trx);
  }

  return {
    create,
    findByOrganization: (organizationId: string) => store.findDomainOfOrganization(organizationId),
    findByOrganizations: store.findDomainsOfOrganizations,

    /** Returns the existing user domain, or creates one under the first free name. */
    async open(organizationId: string, names: readonly string[], trx?: Queries): Promise<string> {
      const existing = await store.findDomainOfOrganization(organizationId, trx);
      const free = names.filter((name) => !reservedDomainNames.has(name));
      for (const userDomainId of existing === undefined ? free : [existing]) {
        try {
          await create({ userDomainId, organizationId }, trx);
          return userDomainId;
        } catch (error) {
          if (!isTaken(error)) throw error;
        }
      }
      return throwProblem('already_exists', 'Every proposed name for the user domain is taken.');
    },

    /**
     * Closes the user domain for all users. The name stays reserved, so that old tokens never
     * become valid again.
     */
    async close(organizationId: string, trx: Queries): Promise<string | undefined> {
      const userDomainId = await store.closeDomain(organizationId, trx);
      if (userDomainId !== undefined) realms.invalidate(userDomainId);
      return userDomainId;
    },

    async invalidate(organizationId: string): Promise<void> {
      const userDomainId = await store.findDomainOfOrganization(organizationId);
      if (userDomainId !== undefined) realms.invalidate(userDomainId);
    },
  };
}
