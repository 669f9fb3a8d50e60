// Realms: a user domain with its keys, kept in a bounded cache that follows rotation and revocation.
import { refuse } from '@switchyard/contract';
import type { Kysely } from 'kysely';
import type { Clock } from '../../platform/index.ts';
import { createCachedLookup } from '../infrastructure/cached-lookup.ts';
import type { Revision } from '../infrastructure/change-counter.ts';
import type { Realm, RealmKey, Revoked, UserDomain } from './realm.ts';
import type { IdentityStore } from './realm-sql.ts';
import { type KeyRing, signingKey } from './signing-keys.ts';

/** 12 KB each: keys, and what was revoked. */
const cachedRealmsMax = 4_000;
/** How long another process may take to see rotated keys, a revoked token, a disabled domain. */
export const realmTtlMs = 20_000;

const userDomainPattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export type Realms = ReturnType<typeof createRealms>;

type Deps = {
  store: IdentityStore;
  revocations: {
    listOf(domain: UserDomain): Promise<Revoked>;
    addToken(organizationId: string, tokenId: string, expiresAt: number): Promise<void>;
  };
  keyRing: KeyRing;
  clock: Clock;
  revision: Revision;
  authUrl: string;
};

export function createRealms(deps: Deps) {
  const { store, revocations, keyRing, clock, revision, authUrl } = deps;
  const issuerPrefix = `${authUrl}/auth/realms/`;

  async function openKeys(organizationId: string, known: Realm | undefined): Promise<RealmKey[]> {
    const sealed = await store.listKeys(organizationId, clock.now());
    return sealed.map((key) => known?.keys.get(key.keyId) ?? keyRing.open(organizationId, key));
  }

  async function load(userDomainId: string, known: Realm | undefined): Promise<Realm | undefined> {
    const domain = await store.findDomain(userDomainId);
    if (domain?.status !== 'Enabled') return undefined;
    const keys = await openKeys(domain.organizationId, known);
    const ES256 = signingKey(keys, 'ES256', clock.now());
    const RS256 = signingKey(keys, 'RS256', clock.now());
    if (ES256 === undefined || RS256 === undefined) {
      throw new Error(`the user domain ${userDomainId} has no signing keys`);
    }
    const revoked = await revocations.listOf(domain);
    return {
      ...domain,
      issuer: issuerPrefix + userDomainId,
      keys: new Map(keys.map((key) => [key.keyId, key])),
      signing: { ES256, RS256 },
      refreshKey: known?.refreshKey ?? keyRing.refreshKeyOf(domain.organizationId),
      revoked,
    };
  }

  const lookup = createCachedLookup<string, Realm>({
    max: cachedRealmsMax,
    ttlMs: realmTtlMs,
    clock,
    nameOf: (userDomainId) => userDomainId,
    load,
  });
  const find = async (userDomainId: string): Promise<Realm | undefined> =>
    userDomainPattern.test(userDomainId) ? lookup.find(userDomainId) : undefined;
  const changed = (userDomainId: string) => {
    lookup.forget(userDomainId);
    revision.bump();
  };

  return {
    find,
    /** Its rows were changed: this process sees that at once. */
    changed,

    async findByIssuer(issuer: string): Promise<Realm | undefined> {
      return issuer.startsWith(issuerPrefix) ? find(issuer.slice(issuerPrefix.length)) : undefined;
    },

    /** Makes the domain and its first keys; the same call again changes nothing. */
    async create(
      wanted: { userDomainId: string; organizationId: string },
      trx?: Kysely<unknown>,
    ): Promise<void> {
      const { userDomainId, organizationId } = wanted;
      if (!userDomainPattern.test(userDomainId)) {
        refuse('field_invalid', 'A user domain is 1 to 63 of a-z, 0-9 and inner hyphens.');
      }
      const standing = await store.findDomain(userDomainId, trx);
      if (standing?.organizationId === organizationId) return;
      const now = clock.now();
      const keys = await keyRing.make(organizationId, now);
      const domain = { userDomainId, organizationId, status: 'Enabled' } as const;
      if (!(await store.insertDomain(domain, keys, now, trx))) {
        refuse('already_exists', 'The user domain or the organization has one already.');
      }
      changed(userDomainId);
    },

    /** Families of its tokens were revoked; as below. */
    async familiesEnded(organizationId: string): Promise<void> {
      const userDomainId = await store.findDomainOf(organizationId);
      if (userDomainId !== undefined) changed(userDomainId);
    },

    /** The token is refused here at once, elsewhere within a minute. */
    async revokeToken(realm: Realm, tokenId: string, expiresAt: number): Promise<void> {
      await revocations.addToken(realm.organizationId, tokenId, expiresAt);
      changed(realm.userDomainId);
    },
  };
}
