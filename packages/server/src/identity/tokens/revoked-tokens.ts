// What was revoked before it expired: a list that every process has at hand, and a look-up for what is not in it.
import type { Clock, Log } from '../../platform/index.ts';
import { type EntityStore, listedIdsMax } from '../infrastructure/oidc-entity-sql.ts';
import type { Realm, Revoked, UserDomain } from '../realms-and-keys/realm.ts';
import { revokedFamilyModel as familyModel } from './refresh-token-family-sql.ts';

const tokenModel = 'RevokedAccessToken';

/** What of a token decides whether it was revoked. */
type Judged = {
  readonly tokenId: string;
  readonly sessionId?: string;
  readonly expiresAt: number;
};

export type Revocations = ReturnType<typeof createRevocations>;

type Deps = { entities: EntityStore; clock: Clock; log: Log };

export function createRevocations({ entities, clock, log }: Deps) {
  const isKept = async (organizationId: string, model: string, id: string): Promise<boolean> =>
    (await entities.find(organizationId, model, id, clock.now())) !== undefined;

  return {
    async listOf({ organizationId, userDomainId }: UserDomain): Promise<Revoked> {
      const [families = [], tokens = []] = await Promise.all(
        [familyModel, tokenModel].map((model) =>
          entities.listIds(organizationId, model, clock.now()),
        ),
      );
      const hasUnlistedFamilies = families.length >= listedIdsMax;
      const last = tokens.length >= listedIdsMax ? tokens.at(-1) : undefined;
      if (hasUnlistedFamilies || last !== undefined) {
        log.warn(
          { userDomainId },
          'too many revoked tokens for a list: others are looked up singly',
        );
      }
      return {
        ids: new Set([...families, ...tokens].map(({ entityId }) => entityId)),
        unlistedUntil: last?.expiresAt ?? 0,
        hasUnlistedFamilies,
      };
    },

    /** Why the token is good no more; the database is asked where the list does not say enough. */
    async reasonOf(
      { organizationId, revoked }: Realm,
      { tokenId, sessionId, expiresAt }: Judged,
    ): Promise<'revoked' | 'signed out' | undefined> {
      if (revoked.ids.has(tokenId)) return 'revoked';
      if (sessionId !== undefined && revoked.ids.has(sessionId)) return 'signed out';
      // As late as the last of the list is also as late as the first that is not in it.
      const mayBeRevoked = expiresAt <= revoked.unlistedUntil;
      if (mayBeRevoked && (await isKept(organizationId, tokenModel, tokenId))) return 'revoked';
      const mayBeOver = sessionId !== undefined && revoked.hasUnlistedFamilies;
      return mayBeOver && (await isKept(organizationId, familyModel, sessionId))
        ? 'signed out'
        : undefined;
    },

    async addToken(organizationId: string, tokenId: string, expiresAt: number): Promise<void> {
      const revoked = { model: tokenModel, entityId: tokenId, payload: {}, expiresAt };
      await entities.upsert(organizationId, revoked, clock.now());
    },
  };
}
