// The SQL of what the authorization server keeps: codes, refresh tokens, sessions, revocations.
import { type Database, isoTime } from '../../platform/index.ts';

/** So many ids of one model and realm come in a list; whoever gets as many looks up what is not among them. */
export const maxListedIds = 10_000;

export const sessionModel = 'Session';
/** No request takes as long. */
const endedSessionRetentionMs = 60_000;

/** More sessions of one account are not shown; all of them end together. */
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
  /** Epoch milliseconds; left out: never. */
  readonly expiresAt?: number | undefined;
  /** Of what lets the account in, epoch milliseconds: kept only where nothing ended that since. */
  readonly provenAt?: number | undefined;
};

export type StoredEntity = {
  readonly payload: object;
  /** Epoch milliseconds. */
  readonly consumedAt?: number;
  readonly expiresAt?: number;
};
export type OidcEntityStore = ReturnType<typeof createOidcEntityStore>;

type EntityRow = { payload: object; consumed_at: Date | null; expires_at: Date | null };
type ExpiredRow = { organization_id: string; model: string; entity_id: string };

function entityFromRow(row: EntityRow | undefined): StoredEntity | undefined {
  if (row === undefined) return undefined;
  const { payload, consumed_at, expires_at } = row;
  return {
    payload,
    ...(consumed_at === null ? {} : { consumedAt: consumed_at.getTime() }),
    ...(expires_at === null ? {} : { expiresAt: expires_at.getTime() }),
  };
}

/** A session that was ended is no more written to: its row stands in the way of a late save. */
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
 * Whoever ends all sessions writes to the user first: the lock lets this one commit before the rows
 * are deleted, or see that it came too late.
 */
const upsertProvenText = `WITH standing AS (
    SELECT FROM users WHERE organization_id = $1 AND user_id = $8::text::uuid
      AND status = 'Enabled' AND (sessions_ended_at IS NULL
        OR sessions_ended_at <= $12::timestamptz OR sessions_ended_but = $6::text)
    FOR SHARE)
  INSERT INTO oidc_entities (${columns})
  SELECT $1::uuid, $2::text, $3::text, $4::jsonb, $5::text, $6::text, $7::text, $8::text, $9::text,
    $10::timestamptz, $11::timestamptz FROM standing ${onConflictReplace}`;

export function createOidcEntityStore(database: Database) {
  return {
    /**
     * A second save keeps the mark of consumption: what was redeemed stays redeemed. False where
     * nothing was written, since what it comes from was ended meanwhile.
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
      const [row] = await database.query<EntityRow>(
        `SELECT payload, consumed_at, expires_at FROM oidc_entities
         WHERE organization_id = $1 AND model = $2 AND entity_id = $3
           AND (expires_at IS NULL OR expires_at > $4)`,
        [organizationId, model, entityId, isoTime(now)],
      );
      return entityFromRow(row);
    },

    async findBy(
      organizationId: string,
      model: string,
      column: IndexedColumn,
      value: string,
      now: number,
    ): Promise<StoredEntity | undefined> {
      const [row] = await database.query<EntityRow>(
        `SELECT payload, consumed_at, expires_at FROM oidc_entities
         WHERE organization_id = $1 AND ${column} = $2 AND model = $3
           AND (expires_at IS NULL OR expires_at > $4) LIMIT 1`,
        [organizationId, value, model, isoTime(now)],
      );
      return entityFromRow(row);
    },

    /** True for exactly one of any number of callers, in whatever process they run. */
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

    /** From here on nothing of the account is kept that was proven before; first of all endings. */
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
     * Sessions of a user's browsers with their codes, or all but one of them, or one alone. What is
     * left of a session for a minute refuses the save of a request that read it before.
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
      // Apart from the codes: whoever redeems one holds its session, then the code.
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

    /** The live ones of an account, newest first. */
    async listOfAccount(
      organizationId: string,
      model: string,
      accountId: string,
      now: number,
    ): Promise<StoredEntity[]> {
      const rows = await database.query<EntityRow>(
        `SELECT payload, consumed_at, expires_at FROM oidc_entities
         WHERE organization_id = $1 AND account_id = $2 AND model = $3 AND expires_at > $4
         ORDER BY created_at DESC, entity_id LIMIT ${maxListedSessions}`,
        [organizationId, accountId, model, isoTime(now)],
      );
      return rows.map((row) => entityFromRow(row) as StoredEntity);
    },

    /** Somebody is there: the session lives on. Not for every click: `leastMs` says what is worth a write. */
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

    /** The ones that expire last, from there on. */
    async listIds(
      organizationId: string,
      model: string,
      now: number,
    ): Promise<{ entityId: string; expiresAt: number }[]> {
      const rows = await database.query<{ entity_id: string; expires_at: Date }>(
        `SELECT entity_id, expires_at FROM oidc_entities
         WHERE organization_id = $1 AND model = $2 AND expires_at > $3
         ORDER BY expires_at DESC LIMIT ${maxListedIds}`,
        [organizationId, model, isoTime(now)],
      );
      return rows.map((row) => ({
        entityId: row.entity_id,
        expiresAt: row.expires_at.getTime(),
      }));
    },

    /**
     * Deletes at most `limit` expired rows, tenant by tenant, and tells how many it found: another
     * process may delete the same ones, and more may be behind them.
     */
    async deleteExpired(now: number, limit: number): Promise<number> {
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
