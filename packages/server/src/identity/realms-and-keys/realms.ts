// Finds realms: a user domain with its keys and revocations, from a bounded cache.
import { throwProblem } from '@switchyard/contract';
import type { Clock, Queries } from '../../platform/index.ts';
import { createCachedLookup } from '../infrastructure/cached-lookup.ts';
import type { ChangeCounter } from '../infrastructure/change-counter.ts';
import type { RealmStore } from './realm-sql.ts';
import type { Realm, RealmKey, RevocationList, UserDomain } from './realm-types.ts';
import { type KeyRing, selectSigningKey } from './signing-keys.ts';

/** About 12 KB each: keys and revocation list. */
const maxCachedRealms = 4_000;
/** Other processes see rotated keys, revoked tokens and disabled domains within this time. */
export const realmCacheTtlMs = 20_000;

const userDomainPattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export type Realms = ReturnType<typeof createRealms>;

type Deps = {
  store: RealmStore;
  revocations: {
    list(domain: UserDomain): Promise<RevocationList>;
    add(organizationId: string, tokenId: string, expiresAt: number): Promise<void>;
  };
  keyRing: KeyRing;
  clock: Clock;
  changeCounter: ChangeCounter;
  authUrl: string;
};

export function createRealms(deps: Deps) {
  const { store, revocations, keyRing, clock, changeCounter, authUrl } = deps;
  const issuerPrefix = `${authUrl}/auth/realms/`;

  async function openKeys(organizationId: string, cached: Realm | undefined): Promise<RealmKey[]> {
    const sealed = await store.listKeys(organizationId, clock.now());
    return sealed.map((key) => cached?.keys.get(key.keyId) ?? keyRing.openKey(organizationId, key));
  }

  async function load(userDomainId: string, cached: Realm | undefined): Promise<Realm | undefined> {
    const domain = await store.findDomain(userDomainId);
    if (domain?.status !== 'Enabled') return undefined;
    const keys = await openKeys(domain.organizationId, cached);
    const ES256 = selectSigningKey(keys, 'ES256', clock.now());
    const RS256 = selectSigningKey(keys, 'RS256', clock.now());
    if (ES256 === undefined || RS256 === undefined) {
      throw new Error(`the user domain ${userDomainId} has no signing keys`);
    }
    const revoked = await revocations.list(domain);
    return {
      ...domain,
      issuer: issuerPrefix + userDomainId,
      keys: new Map(keys.map((key) => [key.keyId, key])),
      signing: { ES256, RS256 },
      refreshKey: cached?.refreshKey ?? keyRing.deriveRefreshKey(domain.organizationId),
      revoked,
    };
  }

  const lookup = createCachedLookup<string, Realm>({
    max: maxCachedRealms,
    ttlMs: realmCacheTtlMs,
    clock,
    keyOf: (userDomainId) => userDomainId,
    load,
  });
  const find = async (userDomainId: string): Promise<Realm | undefined> =>
    userDomainPattern.test(userDomainId) ? lookup.find(userDomainId) : undefined;
  const invalidate = (userDomainId: string) => {
    lookup.forget(userDomainId);
    changeCounter.bump();
  };

  return {
    find,
    /** Call after a change of the rows: this process then reads them again. */
    invalidate,

    async findByIssuer(issuer: string): Promise<Realm | undefined> {
      return issuer.startsWith(issuerPrefix) ? find(issuer.slice(issuerPrefix.length)) : undefined;
    },

    /** Creates the domain and its first keys; repeating the call changes nothing. */
    async create(
      newDomain: { userDomainId: string; organizationId: string },
      trx?: Queries,
    ): Promise<void> {
      const { userDomainId, organizationId } = newDomain;
      if (!userDomainPattern.test(userDomainId)) {
        throwProblem(
          'field_invalid',
          'The name of a user domain has 1 to 63 characters of a-z and 0-9, with hyphens inside.',
        );
      }
      const existing = await store.findDomain(userDomainId, trx);
      if (existing?.organizationId === organizationId) return;
      const now = clock.now();
      const keys = await keyRing.createSealedKeys(organizationId, now);
      const domain = { userDomainId, organizationId, status: 'Enabled' } as const;
      if (!(await store.insertDomain(domain, keys, now, trx))) {
        throwProblem(
          'already_exists',
          'The name of the user domain is in use, or the organisation already has a user domain.',
        );
      }
      invalidate(userDomainId);
    },

    /** Call after refresh-token families of the organisation were revoked. */
    async invalidateOrganization(organizationId: string): Promise<void> {
      const userDomainId = await store.findDomainOfOrganization(organizationId);
      if (userDomainId !== undefined) invalidate(userDomainId);
    },

    /** This process refuses the token at once, other processes within a minute. */
    async revokeToken(realm: Realm, tokenId: string, expiresAt: number): Promise<void> {
      await revocations.add(realm.organizationId, tokenId, expiresAt);
      invalidate(realm.userDomainId);
    },
  };
}
