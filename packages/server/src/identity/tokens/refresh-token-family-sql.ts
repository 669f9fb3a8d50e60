// The SQL of refresh-token families.
import {
  type Database,
  isoTime,
  type PreparedStatement,
  type Queries,
  toRecords,
} from '../../platform/index.ts';
import type { AuthenticationMethod } from '../accounts/types.ts';
import { sessionModel } from '../infrastructure/oidc-entity-sql.ts';

/** A list shows at most this many sign-ins of one user; ending them affects all. */
const maxListedFamilies = 200;

/** A separate model from revoked access tokens, of which clients can create many. */
export const revokedFamilyModel = 'RevokedFamily';

export type TokenFamilyKind = 'AuthorizationCode' | 'Password' | 'CustomToken';

/** The facts that each new access token of the family repeats. */
export type TokenFamilyContext = {
  readonly scope: string;
  readonly methods: readonly AuthenticationMethod[];
  /** Epoch milliseconds. */
  readonly authenticatedAt: number;
  readonly device?: object | undefined;
  /** Thumbprint of the certificate to which the tokens are bound (RFC 8705). */
  readonly certificate?: string | undefined;
};

export type TokenFamily = {
  readonly organizationId: string;
  readonly familyId: string;
  readonly userId: string;
  readonly clientId: string;
  readonly sessionId?: string | undefined;
  readonly kind: TokenFamilyKind;
  /** The id of the only valid refresh token. */
  readonly tokenId: string;
  readonly context: TokenFamilyContext;
  /** Times in epoch milliseconds. */
  readonly createdAt: number;
  readonly refreshedAt: number;
  readonly accessExpiresAt: number;
  readonly expiresAt: number;
  readonly endsAt: number;
  /** Idle timeout: each refresh extends the family by this time. */
  readonly idleMs: number;
  /** Lifetime of its access tokens. */
  readonly accessMs: number;
};

/** Selects families to end: one, those of a session, or all of a user. */
export type FamilySelection =
  | { readonly familyId: string }
  | { readonly userId: string; readonly sessionId: string }
  | { readonly userId: string; readonly exceptSessionId?: string | undefined };

type Rotation = Pick<TokenFamily, 'organizationId' | 'familyId' | 'clientId' | 'tokenId'> & {
  readonly newTokenId: string;
  readonly now: number;
};

export type TokenFamilyStore = ReturnType<typeof createTokenFamilyStore>;

const columns = `organization_id, family_id, user_id, client_id, session_id, kind, token_id, facts,
  created_at, refreshed_at, access_expires_at, expires_at, ends_at, idle_ms, access_ms`;
const selectedColumns = columns.replace('facts', 'facts AS context');
const familyValues = `$1::uuid, $2::uuid, $3::uuid, $4::text, $5::text, $6::text, $7::uuid, $8::jsonb,
  $9::timestamptz, $10::timestamptz, $11::timestamptz, $12::timestamptz, $13::timestamptz,
  $14::integer, $15::integer`;

/**
 * The most frequent statement of a busy realm. It passes the session id as a value instead of a
 * join, so that the planner uses the whole index key in young tables too.
 */
const rotateFamilyStatement: PreparedStatement = {
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
    SELECT ${selectedColumns} FROM renewed`,
};

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
    // A family without a browser session counts as a session with the family id.
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
    /** False if the user was disabled, or the sessions of the user ended, after `provenAt`. */
    async insert(family: TokenFamily, provenAt: number): Promise<boolean> {
      const inserted = await database.query(
        `WITH active_user AS (
           SELECT FROM users WHERE organization_id = $1 AND user_id = $3 AND status = 'Enabled'
             AND (sessions_ended_at IS NULL OR sessions_ended_at <= $16::timestamptz)
           FOR SHARE)
         INSERT INTO token_families (${columns})
         SELECT ${familyValues} FROM active_user RETURNING family_id`,
        [...valuesOf(family), isoTime(provenAt)],
      );
      return inserted.length > 0;
    },

    /**
     * Redeems the code and inserts the family in one statement. A second redemption finds the
     * family and ends it, so the code is kept as long as the family. A code of an ended session
     * is not valid.
     */
    async insertFromCode(family: TokenFamily, codeId: string): Promise<'made' | 'used' | 'over'> {
      const [row] = await database.query<{ made: boolean; hasSession: boolean }>(
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
         SELECT EXISTS (SELECT FROM made) AS made, EXISTS (SELECT FROM own) AS "hasSession"`,
        [...valuesOf(family), codeId],
      );
      if (row?.made === true) return 'made';
      return row?.hasSession === true ? 'used' : 'over';
    },

    /**
     * Replaces the refresh token; exactly one of all concurrent callers succeeds. Extends the
     * browser session too. Runs in `trx` if given.
     */
    async rotate(rotation: Rotation, trx?: Queries): Promise<TokenFamily | undefined> {
      const values = [
        rotation.organizationId,
        rotation.familyId,
        rotation.clientId,
        rotation.tokenId,
        rotation.newTokenId,
        isoTime(rotation.now),
      ];
      const rows = await (trx?.query(rotateFamilyStatement.text, values) ??
        database.hot(rotateFamilyStatement, values));
      return toRecords<TokenFamily>(rows)[0];
    },

    async find(
      organizationId: string,
      familyId: string,
      now: number,
    ): Promise<TokenFamily | undefined> {
      const rows = await database.query(
        `SELECT ${selectedColumns} FROM token_families
         WHERE organization_id = $1 AND family_id = $2 AND expires_at > $3`,
        [organizationId, familyId, isoTime(now)],
      );
      return toRecords<TokenFamily>(rows)[0];
    },

    /** Newest first. */
    async list(organizationId: string, userId: string, now: number): Promise<TokenFamily[]> {
      const rows = await database.query(
        `SELECT ${selectedColumns} FROM token_families
         WHERE organization_id = $1 AND user_id = $2 AND expires_at > $3
         ORDER BY created_at DESC, family_id LIMIT ${maxListedFamilies}`,
        [organizationId, userId, isoTime(now)],
      );
      return toRecords(rows);
    },

    /**
     * The same commit revokes the access tokens of the families: afterwards nothing could find
     * them.
     */
    async end(organizationId: string, selection: FamilySelection, now: number): Promise<number> {
      const [condition, ...selectionValues] = selectionClause(selection);
      const values = [organizationId, ...selectionValues];
      const nowParameter = `$${values.push(isoTime(now))}::timestamptz`;
      const rows = await database.query(
        `WITH deleted AS (
           DELETE FROM token_families WHERE organization_id = $1 AND ${condition}
           RETURNING family_id, access_expires_at),
         revoked AS (
           INSERT INTO oidc_entities
             (organization_id, model, entity_id, payload, created_at, expires_at)
           SELECT $1, '${revokedFamilyModel}', family_id::text, '{}', ${nowParameter}, access_expires_at
           FROM deleted WHERE access_expires_at > ${nowParameter}
           ON CONFLICT (organization_id, model, entity_id) DO NOTHING)
         SELECT family_id FROM deleted`,
        values,
      );
      return rows.length;
    },

    /**
     * Deletes at most `limit` ended families, one tenant at a time, and returns how many it found.
     * Other processes may delete the same rows, and more may follow.
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
