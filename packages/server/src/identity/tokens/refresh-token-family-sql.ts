// The SQL of families of refresh tokens.
import { CompiledQuery, type Kysely } from 'kysely';
import { type Database, type HotStatement, isoTime } from '../../platform/index.ts';
import type { Method } from '../accounts/types.ts';
import { sessionModel } from '../infrastructure/oidc-entity-sql.ts';

/** More sign-ins of one user than this are not shown; all of them end together. */
const maxListedFamilies = 200;

/** Apart from the tokens that clients give back, of which they may give back too many. */
export const revokedFamilyModel = 'RevokedFamily';

export type TokenFamilyKind = 'AuthorizationCode' | 'Password' | 'CustomToken';

/** What the next access token of the family repeats. */
export type TokenFamilyContext = {
  readonly scope: string;
  readonly methods: readonly Method[];
  /** Epoch milliseconds. */
  readonly authenticatedAt: number;
  readonly device?: object | undefined;
  /** Thumbprint of the certificate that the tokens are bound to (RFC 8705). */
  readonly certificate?: string | undefined;
};

export type TokenFamily = {
  readonly organizationId: string;
  readonly familyId: string;
  readonly userId: string;
  readonly clientId: string;
  readonly sessionId?: string | undefined;
  readonly kind: TokenFamilyKind;
  /** The one refresh token that is good. */
  readonly tokenId: string;
  readonly context: TokenFamilyContext;
  /** All in epoch milliseconds. */
  readonly createdAt: number;
  readonly refreshedAt: number;
  readonly accessExpiresAt: number;
  readonly expiresAt: number;
  readonly endsAt: number;
  /** How long it lives on after each use. */
  readonly idleMs: number;
  /** How long its access tokens live. */
  readonly accessMs: number;
};

/** Which families end: one, those of a browser's session, or all of a user. */
export type FamilySelection =
  | { readonly familyId: string }
  | { readonly userId: string; readonly sessionId: string }
  | { readonly userId: string; readonly exceptSessionId?: string | undefined };

type Rotation = Pick<TokenFamily, 'organizationId' | 'familyId' | 'clientId' | 'tokenId'> & {
  readonly newTokenId: string;
  readonly now: number;
};

export type TokenFamilyStore = ReturnType<typeof createTokenFamilyStore>;

type FamilyRow = {
  organization_id: string;
  family_id: string;
  user_id: string;
  client_id: string;
  session_id: string | null;
  kind: TokenFamilyKind;
  token_id: string;
  facts: TokenFamilyContext;
  created_at: Date;
  refreshed_at: Date;
  access_expires_at: Date;
  expires_at: Date;
  ends_at: Date;
  idle_ms: number;
  access_ms: number;
};

const columns = `organization_id, family_id, user_id, client_id, session_id, kind, token_id, facts,
  created_at, refreshed_at, access_expires_at, expires_at, ends_at, idle_ms, access_ms`;
const familyValues = `$1::uuid, $2::uuid, $3::uuid, $4::text, $5::text, $6::text, $7::uuid, $8::jsonb,
  $9::timestamptz, $10::timestamptz, $11::timestamptz, $12::timestamptz, $13::timestamptz,
  $14::integer, $15::integer`;

/**
 * Most of what a busy realm asks of the database. The session is named by a value, not by a join:
 * then the whole key of its index is asked for, in young tables too.
 */
const rotateFamilyStatement: HotStatement = {
  name: 'identity-renew-family',
  text: `WITH renewed AS (
      UPDATE token_families SET token_id = $5, refreshed_at = $6,
        access_expires_at = $6::timestamptz + access_ms * interval '1 millisecond',
        expires_at = least(ends_at, $6::timestamptz + idle_ms * interval '1 millisecond')
      WHERE organization_id = $1 AND family_id = $2 AND client_id = $3 AND token_id = $4
        AND expires_at > $6
      RETURNING ${columns}),
    seen AS (
      UPDATE oidc_entities SET expires_at = (SELECT expires_at FROM renewed)
      WHERE organization_id = $1 AND uid = (SELECT session_id FROM renewed)
        AND model = 'Session')
    SELECT ${columns} FROM renewed`,
};

function familyFromRow(row: FamilyRow): TokenFamily {
  return {
    organizationId: row.organization_id,
    familyId: row.family_id,
    userId: row.user_id,
    clientId: row.client_id,
    sessionId: row.session_id ?? undefined,
    kind: row.kind,
    tokenId: row.token_id,
    context: row.facts,
    createdAt: row.created_at.getTime(),
    refreshedAt: row.refreshed_at.getTime(),
    accessExpiresAt: row.access_expires_at.getTime(),
    expiresAt: row.expires_at.getTime(),
    endsAt: row.ends_at.getTime(),
    idleMs: row.idle_ms,
    accessMs: row.access_ms,
  };
}

function valuesOf(family: TokenFamily): unknown[] {
  return [
    family.organizationId,
    family.familyId,
    family.userId,
    family.clientId,
    family.sessionId ?? null,
    family.kind,
    family.tokenId,
    JSON.stringify(family.context),
    isoTime(family.createdAt),
    isoTime(family.refreshedAt),
    isoTime(family.accessExpiresAt),
    isoTime(family.expiresAt),
    isoTime(family.endsAt),
    family.idleMs,
    family.accessMs,
  ];
}

function selectionClause(selection: FamilySelection): [text: string, ...values: string[]] {
  if ('familyId' in selection) return ['family_id = $2', selection.familyId];
  const { userId } = selection;
  if ('sessionId' in selection) {
    // What was not begun in a browser is a session of its own, under the family's id.
    const text =
      'user_id = $2 AND (session_id = $3 OR (session_id IS NULL AND family_id::text = $3))';
    return [text, userId, selection.sessionId];
  }
  const { exceptSessionId } = selection;
  if (exceptSessionId === undefined) return ['user_id = $2', userId];
  return ['user_id = $2 AND coalesce(session_id, family_id::text) <> $3', userId, exceptSessionId];
}

export function createTokenFamilyStore(database: Database) {
  return {
    /** False where the user was stopped, or all that he had proven was ended, since `provenAt`. */
    async insert(family: TokenFamily, provenAt: number): Promise<boolean> {
      const inserted = await database.query(
        `WITH standing AS (
           SELECT FROM users WHERE organization_id = $1 AND user_id = $3 AND status = 'Enabled'
             AND (sessions_ended_at IS NULL OR sessions_ended_at <= $16::timestamptz)
           FOR SHARE)
         INSERT INTO token_families (${columns})
         SELECT ${familyValues} FROM standing RETURNING family_id`,
        [...valuesOf(family), isoTime(provenAt)],
      );
      return inserted.length > 0;
    },

    /**
     * Uses the code up and begins the family, or neither: so whoever comes second with the code
     * finds the family that he has to end. The code stays as long as the family may live. A code
     * that was written while its session ended is good for nothing.
     */
    async insertFromCode(family: TokenFamily, codeId: string): Promise<'made' | 'used' | 'over'> {
      const [row] = await database.query<{ made: boolean; there: boolean }>(
        `WITH own AS (
           SELECT FROM oidc_entities
           WHERE organization_id = $1 AND uid = $5::text AND model = '${sessionModel}'
           FOR SHARE),
         used AS (
           UPDATE oidc_entities SET consumed_at = $9::timestamptz, expires_at = $13::timestamptz
           WHERE organization_id = $1 AND model = 'AuthorizationCode' AND entity_id = $16
             AND consumed_at IS NULL AND EXISTS (SELECT FROM own)
           RETURNING entity_id),
         made AS (
           INSERT INTO token_families (${columns})
           SELECT ${familyValues} FROM used RETURNING family_id)
         SELECT EXISTS (SELECT FROM made) AS made, EXISTS (SELECT FROM own) AS there`,
        [...valuesOf(family), codeId],
      );
      if (row?.made === true) return 'made';
      return row?.there === true ? 'used' : 'over';
    },

    /**
     * Puts the next refresh token in the place of this one: for exactly one of any number of
     * callers. The browser's session lives on with it. Within `trx`, where one is given.
     */
    async rotate(rotation: Rotation, trx?: Kysely<unknown>): Promise<TokenFamily | undefined> {
      const values = [
        rotation.organizationId,
        rotation.familyId,
        rotation.clientId,
        rotation.tokenId,
        rotation.newTokenId,
        isoTime(rotation.now),
      ];
      const [row] =
        trx === undefined
          ? await database.hot<FamilyRow>(rotateFamilyStatement, values)
          : (
              await trx.executeQuery<FamilyRow>(
                CompiledQuery.raw(rotateFamilyStatement.text, values),
              )
            ).rows;
      return row === undefined ? undefined : familyFromRow(row);
    },

    async find(
      organizationId: string,
      familyId: string,
      now: number,
    ): Promise<TokenFamily | undefined> {
      const [row] = await database.query<FamilyRow>(
        `SELECT ${columns} FROM token_families
         WHERE organization_id = $1 AND family_id = $2 AND expires_at > $3`,
        [organizationId, familyId, isoTime(now)],
      );
      return row === undefined ? undefined : familyFromRow(row);
    },

    /** Newest first. */
    async list(organizationId: string, userId: string, now: number): Promise<TokenFamily[]> {
      const rows = await database.query<FamilyRow>(
        `SELECT ${columns} FROM token_families
         WHERE organization_id = $1 AND user_id = $2 AND expires_at > $3
         ORDER BY created_at DESC, family_id LIMIT ${maxListedFamilies}`,
        [organizationId, userId, isoTime(now)],
      );
      return rows.map(familyFromRow);
    },

    /** Access tokens of the families are revoked by the same commit: there is no second chance to find them. */
    async end(organizationId: string, selection: FamilySelection, now: number): Promise<number> {
      const [condition, ...selectionValues] = selectionClause(selection);
      const values = [organizationId, ...selectionValues];
      const nowParameter = `$${values.push(isoTime(now))}::timestamptz`;
      const rows = await database.query(
        `WITH gone AS (
           DELETE FROM token_families WHERE organization_id = $1 AND ${condition}
           RETURNING family_id, access_expires_at),
         revoked AS (
           INSERT INTO oidc_entities
             (organization_id, model, entity_id, payload, created_at, expires_at)
           SELECT $1, '${revokedFamilyModel}', family_id::text, '{}', ${nowParameter}, access_expires_at
           FROM gone WHERE access_expires_at > ${nowParameter}
           ON CONFLICT (organization_id, model, entity_id) DO NOTHING)
         SELECT family_id FROM gone`,
        values,
      );
      return rows.length;
    },

    /**
     * Deletes at most `limit` families that are over, tenant by tenant, and tells how many it found: another
     * process may delete the same ones, and more may be behind them.
     */
    async deleteEnded(now: number, limit: number): Promise<number> {
      const rows = await database.query<{ organization_id: string; family_id: string }>(
        `SELECT organization_id, family_id FROM token_families
         WHERE ends_at < $1 ORDER BY ends_at LIMIT $2`,
        [isoTime(now), limit],
      );
      for (const [organizationId, ended] of Map.groupBy(rows, (row) => row.organization_id)) {
        await database.query(
          `DELETE FROM token_families WHERE organization_id = $1 AND ends_at < $3
             AND family_id IN (SELECT value::uuid FROM jsonb_array_elements_text($2::jsonb))`,
          [organizationId, JSON.stringify(ended.map((row) => row.family_id)), isoTime(now)],
        );
      }
      return rows.length;
    },
  };
}
