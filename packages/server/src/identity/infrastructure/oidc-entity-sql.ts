// The SQL of the table oidc_entities: authorization codes, sessions, login requests, revocations.
import { type Database, isoTime, toRecords } from '../../platform/index.ts';

/** A list holds at most this many ids of one model and realm; the rest is looked up one by one. */
export const maxListedIds = 10_000;

export const sessionModel = 'Session';
/** Longer than any request takes. */
const endedSessionRetentionMs = 60_000;

/** The portal shows at most this many sessions of one account; ending them affects all. */
const maxListedSessions = 200;

export type IndexedColumn = 'uid' | 'user_code';

export type OidcEntity = {
  readonly model: string;
  readonly entityId: string;
  readonly payload: object;
  readonly grantId?: string | undefined;
  readonly uid?: string | undefined;
  readonly userCode?: string | undefined;
  readonly accountId?: string | undefined;
  readonly clientId?: string | undefined;
  /** Epoch milliseconds; default: never. */
  readonly expiresAt?: number | undefined;
  /**
   * Time of the authentication, epoch milliseconds. A row is not written if the sessions ended
   * since.
   */
  readonly provenAt?: number | undefined;
};

export type StoredEntity = {
  readonly payload: object;
  /** Epoch milliseconds. */
  readonly consumedAt?: number;
  readonly expiresAt?: number;
};
export type OidcEntityStore = ReturnType<typeof createOidcEntityStore>;

/**
 * The row of an ended session stays for a while, so that a late save does not restore the session.
 */
const onConflictReplace = `ON CONFLICT (organization_id, model, entity_id) DO UPDATE SET payload = EXCLUDED.payload,
    grant_id = EXCLUDED.grant_id, uid = EXCLUDED.uid, user_code = EXCLUDED.user_code,
    account_id = EXCLUDED.account_id, client_id = EXCLUDED.client_id,
    expires_at = EXCLUDED.expires_at
  WHERE oidc_entities.model <> '${sessionModel}' OR oidc_entities.consumed_at IS NULL
  RETURNING entity_id`;
const columns = `organization_id, model, entity_id, payload, grant_id, uid, user_code, account_id,
  client_id, created_at, expires_at`;
const upsertText = `INSERT INTO oidc_entities (${columns})
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ${onConflictReplace}`;
/**
 * Ending all sessions updates the user row first. The share lock makes this insert commit before
 * the rows are deleted, or see that the sessions have ended.
 */
const upsertProvenText = `WITH active_user AS (
    SELECT FROM users WHERE organization_id = $1 AND user_id = $8::text::uuid
      AND status = 'Enabled' AND (sessions_ended_at IS NULL
        OR sessions_ended_at <= $12::timestamptz OR sessions_ended_but = $6::text)
    FOR SHARE)
  INSERT INTO oidc_entities (${columns})
  SELECT $1::uuid, $2::text, $3::text, $4::jsonb, $5::text, $6::text, $7::text, $8::text, $9::text,
    $10::timestamptz, $11::timestamptz FROM active_user ${onConflictReplace}`;

export function createOidcEntityStore(database: Database) {
  return {
    /**
     * A second save keeps `consumed_at`, so a redeemed code stays redeemed. False if nothing was
     * written because the session ended in the meantime.
     */
    async upsert(organizationId: string, entity: OidcEntity, now: number): Promise<boolean> {
      const { provenAt } = entity;
      const rows = await database.query(provenAt === undefined ? upsertText : upsertProvenText, [
        organizationId,
        entity.model,
        entity.entityId,
        JSON.stringify(entity.payload),
        entity.grantId ?? null,
        entity.uid ?? null,
        entity.userCode ?? null,
        entity.accountId ?? null,
        entity.clientId ?? null,
        isoTime(now),
        entity.expiresAt === undefined ? null : isoTime(entity.expiresAt),
        ...(provenAt === undefined ? [] : [isoTime(provenAt)]),
      ]);
      return rows.length > 0;
    },

    async find(
      organizationId: string,
      model: string,
      entityId: string,
      now: number,
    ): Promise<StoredEntity | undefined> {
      const rows = await database.query(
        `SELECT payload, consumed_at, expires_at FROM oidc_entities
         WHERE organization_id = $1 AND model = $2 AND entity_id = $3
           AND (expires_at IS NULL OR expires_at > $4)`,
        [organizationId, model, entityId, isoTime(now)],
      );
      return toRecords<StoredEntity>(rows)[0];
    },

    async findBy(
      organizationId: string,
      model: string,
      column: IndexedColumn,
      value: string,
      now: number,
    ): Promise<StoredEntity | undefined> {
      const rows = await database.query(
        `SELECT payload, consumed_at, expires_at FROM oidc_entities
         WHERE organization_id = $1 AND ${column} = $2 AND model = $3
           AND (expires_at IS NULL OR expires_at > $4) LIMIT 1`,
        [organizationId, value, model, isoTime(now)],
      );
      return toRecords<StoredEntity>(rows)[0];
    },

    /** True for exactly one of all concurrent callers, in all processes. */
    async consume(
      organizationId: string,
      model: string,
      entityId: string,
      now: number,
    ): Promise<boolean> {
      const rows = await database.query(
        `UPDATE oidc_entities SET consumed_at = $4
         WHERE organization_id = $1 AND model = $2 AND entity_id = $3 AND consumed_at IS NULL
         RETURNING entity_id`,
        [organizationId, model, entityId, isoTime(now)],
      );
      return rows.length > 0;
    },

    async delete(organizationId: string, model: string, entityId: string): Promise<void> {
      await database.query(
        'DELETE FROM oidc_entities WHERE organization_id = $1 AND model = $2 AND entity_id = $3',
        [organizationId, model, entityId],
      );
    },

    async deleteByGrant(organizationId: string, grantId: string): Promise<void> {
      await database.query(
        'DELETE FROM oidc_entities WHERE organization_id = $1 AND grant_id = $2',
        [organizationId, grantId],
      );
    },

    /**
     * From now on the database accepts no row of an earlier authentication of this account. Runs
     * first whenever sessions end.
     */
    async markSessionsEnded(
      organizationId: string,
      accountId: string,
      now: number,
      exceptUid: string | undefined,
    ): Promise<void> {
      await database.query(
        `UPDATE users SET sessions_ended_at = greatest(sessions_ended_at, $3::timestamptz),
           sessions_ended_but = $4
         WHERE organization_id = $1 AND user_id = $2::uuid`,
        [organizationId, accountId, isoTime(now), exceptUid ?? null],
      );
    },

    /**
     * Ends browser sessions and their codes: all of a user, all but one, or one. The row of an
     * ended session stays for a minute, so that a concurrent request cannot save the session again.
     */
    async deleteOfAccount(
      organizationId: string,
      accountId: string,
      now: number,
      filter: {
        readonly uid?: string | undefined;
        readonly exceptUid?: string | undefined;
        readonly exceptModel?: string | undefined;
      } = {},
    ): Promise<void> {
      const { uid = null, exceptUid = null, exceptModel = null } = filter;
      const condition = `organization_id = $1 AND account_id = $2
        AND ($3::text IS NULL OR uid = $3) AND ($4::text IS NULL OR uid IS DISTINCT FROM $4)`;
      const values = [organizationId, accountId, uid, exceptUid];
      // A separate statement from the codes: redeeming a code locks its session first and then the
      // code.
      await database.query(
        `UPDATE oidc_entities SET payload = '{}', uid = NULL, account_id = NULL,
           consumed_at = $5::timestamptz, expires_at = $6
         WHERE ${condition} AND model = '${sessionModel}'`,
        [...values, isoTime(now), isoTime(now + endedSessionRetentionMs)],
      );
      await database.query(
        `DELETE FROM oidc_entities WHERE ${condition} AND model <> '${sessionModel}'
           AND ($5::text IS NULL OR model <> $5)`,
        [...values, exceptModel],
      );
    },

    /** The unexpired entities of an account, newest first. */
    async listOfAccount(
      organizationId: string,
      model: string,
      accountId: string,
      now: number,
    ): Promise<StoredEntity[]> {
      const rows = await database.query(
        `SELECT payload, consumed_at, expires_at FROM oidc_entities
         WHERE organization_id = $1 AND account_id = $2 AND model = $3 AND expires_at > $4
         ORDER BY created_at DESC, entity_id LIMIT ${maxListedSessions}`,
        [organizationId, accountId, model, isoTime(now)],
      );
      return toRecords(rows);
    },

    /** Extends a session after a request. `minExtensionMs` avoids a write for every click. */
    async extendSession(
      organizationId: string,
      session: { model: string; uid: string; expiresAt: number; minExtensionMs: number },
    ): Promise<void> {
      await database.query(
        `UPDATE oidc_entities SET expires_at = $4
         WHERE organization_id = $1 AND uid = $2 AND model = $3
           AND expires_at < $4::timestamptz - $5::integer * interval '1 millisecond'`,
        [
          organizationId,
          session.uid,
          session.model,
          isoTime(session.expiresAt),
          session.minExtensionMs,
        ],
      );
    },

    /** The ids that expire last come first. */
    async listIds(
      organizationId: string,
      model: string,
      now: number,
    ): Promise<{ entityId: string; expiresAt: number }[]> {
      const rows = await database.query(
        `SELECT entity_id, expires_at FROM oidc_entities
         WHERE organization_id = $1 AND model = $2 AND expires_at > $3
         ORDER BY expires_at DESC LIMIT ${maxListedIds}`,
        [organizationId, model, isoTime(now)],
      );
      return toRecords(rows);
    },

    /**
     * Deletes at most `limit` expired rows, one tenant at a time, and returns how many it found.
     * Other processes may delete the same rows, and more may follow.
     */
    async deleteExpired(now: number, limit: number): Promise<number> {
      type ExpiredRow = { organization_id: string; model: string; entity_id: string };
      const rows = await database.query<ExpiredRow>(
        `SELECT organization_id, model, entity_id FROM oidc_entities
         WHERE expires_at < $1 ORDER BY expires_at LIMIT $2`,
        [isoTime(now), limit],
      );
      const tenants = Map.groupBy(rows, (row) => row.organization_id);
      for (const [organizationId, expired] of tenants) {
        await database.query(
          `DELETE FROM oidc_entities USING jsonb_to_recordset($2::jsonb) AS r(model text, entity_id text)
           WHERE oidc_entities.organization_id = $1 AND oidc_entities.model = r.model
             AND oidc_entities.entity_id = r.entity_id AND oidc_entities.expires_at < $3`,
          [organizationId, JSON.stringify(expired), isoTime(now)],
        );
      }
      return rows.length;
    },
  };
}
