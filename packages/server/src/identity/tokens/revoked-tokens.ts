// Revoked access tokens and sign-ins: a list in memory, and a query for ids that the list does not
// contain.
import type { Clock, Log } from '../../platform/index.ts';
import { maxListedIds, type OidcEntityStore } from '../infrastructure/oidc-entity-sql.ts';
import type { Realm, RevocationList, UserDomain } from '../realms-and-keys/realm-types.ts';
import { revokedFamilyModel as familyModel } from './refresh-token-family-sql.ts';

const tokenModel = 'RevokedAccessToken';

/** The facts of a token that the revocation check needs. */
type RevocableToken = {
  readonly tokenId: string;
  readonly sessionId?: string;
  readonly expiresAt: number;
};

export type RevokedTokens = ReturnType<typeof createRevokedTokens>;

type Deps = { entities: OidcEntityStore; clock: Clock; log: Log };

export function createRevokedTokens({ entities, clock, log }: Deps) {
  const isStored = async (organizationId: string, model: string, id: string): Promise<boolean> =>
    (await entities.find(organizationId, model, id, clock.now())) !== undefined;

  return {
    async list({ organizationId, userDomainId }: UserDomain): Promise<RevocationList> {
      const [families = [], tokens = []] = await Promise.all(
        [familyModel, tokenModel].map((model) =>
          entities.listIds(organizationId, model, clock.now()),
        ),
      );
      const hasUnlistedFamilies = families.length >= maxListedIds;
      const earliestListed = tokens.length >= maxListedIds ? tokens.at(-1) : undefined;
      if (hasUnlistedFamilies || earliestListed !== undefined) {
        log.warn(
          { userDomainId },
          'the list of revoked tokens is full: further tokens are looked up one by one',
        );
      }
      return {
        ids: new Set([...families, ...tokens].map(({ entityId }) => entityId)),
        unlistedUntil: earliestListed?.expiresAt ?? 0,
        hasUnlistedFamilies,
      };
    },

    /** The reason if the token was revoked. Queries the database only if the list is incomplete. */
    async findReason(
      { organizationId, revoked }: Realm,
      { tokenId, sessionId, expiresAt }: RevocableToken,
    ): Promise<'revoked' | 'signed out' | undefined> {
      if (revoked.ids.has(tokenId)) return 'revoked';
      if (sessionId !== undefined && revoked.ids.has(sessionId)) return 'signed out';
      // The first unlisted id may expire at the same time as the last listed one.
      const mayBeRevoked = expiresAt <= revoked.unlistedUntil;
      if (mayBeRevoked && (await isStored(organizationId, tokenModel, tokenId))) return 'revoked';
      const mayBeSignedOut = sessionId !== undefined && revoked.hasUnlistedFamilies;
      return mayBeSignedOut && (await isStored(organizationId, familyModel, sessionId))
        ? 'signed out'
        : undefined;
    },

    async add(organizationId: string, tokenId: string, expiresAt: number): Promise<void> {
      const revoked = { model: tokenModel, entityId: tokenId, payload: {}, expiresAt };
      await entities.upsert(organizationId, revoked, clock.now());
    },
  };
}
