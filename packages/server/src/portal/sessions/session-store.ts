// Contains the SQL of portal sessions.
import { type Database, isoTime, type Queries, toRecords } from '../../platform/index.ts';

/** The maximum number of sessions of one user; a new session replaces the oldest one. */
const sessionsPerUserMax = 20;

export type SessionKey = { readonly organizationId: string; readonly sessionHash: Buffer };

/** All times are in epoch milliseconds. */
export type StoredSession = SessionKey & {
  readonly sessionId: string;
  readonly signInId: string;
  readonly userId: string;
  readonly userDomainId: string;
  readonly origin: string;
  readonly tokensSealed: Buffer;
  readonly generation: number;
  readonly createdAt: number;
  readonly renewedAt: number;
  readonly expiresAt: number;
  readonly endsAt: number;
};

export type Renewed = Pick<StoredSession, 'tokensSealed' | 'renewedAt' | 'expiresAt'>;

const columns = `organization_id, session_hash, session_id, sign_in_id, user_id, user_domain_id,
  origin, tokens_sealed, generation, created_at, renewed_at, expires_at, ends_at`;
const byKey = 'WHERE organization_id = $1 AND session_hash = $2';
const findText = `SELECT ${columns} FROM portal_sessions ${byKey}`;

export function createSessionStore(database: Database) {
  return {
    /** Also deletes the oldest sessions of the user above the maximum. */
    async insert(trx: Queries, session: StoredSession): Promise<void> {
      const { organizationId, sessionHash, userId } = session;
      await trx.query(
        `DELETE FROM portal_sessions WHERE organization_id = $1 AND session_hash IN (
           SELECT session_hash FROM portal_sessions WHERE organization_id = $1 AND user_id = $2
           ORDER BY created_at DESC, session_hash OFFSET ${sessionsPerUserMax - 1})`,
        [organizationId, userId],
      );
      await trx.query(
        `INSERT INTO portal_sessions (${columns})
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
        [
          organizationId,
          sessionHash,
          session.sessionId,
          session.signInId,
          userId,
          session.userDomainId,
          session.origin,
          session.tokensSealed,
          session.generation,
          isoTime(session.createdAt),
          isoTime(session.renewedAt),
          isoTime(session.expiresAt),
          isoTime(session.endsAt),
        ],
      );
    },

    async find({ organizationId, sessionHash }: SessionKey): Promise<StoredSession | undefined> {
      const rows = await database.query(findText, [organizationId, sessionHash]);
      return toRecords<StoredSession>(rows)[0];
    },

    /**
     * Locks the row and calls `renew` with the stored session. Values from `renew` replace the
     * stored values; without them the row does not change. Returns the row as it is then.
     */
    renew(
      { organizationId, sessionHash }: SessionKey,
      renew: (trx: Queries, stored: StoredSession) => Promise<Renewed | undefined>,
    ): Promise<StoredSession | undefined> {
      const key = [organizationId, sessionHash];
      return database.transaction(async (trx) => {
        const rows = await trx.query(`${findText} FOR UPDATE`, key);
        const [stored] = toRecords<StoredSession>(rows);
        if (stored === undefined) return undefined;
        const renewed = await renew(trx, stored);
        if (renewed === undefined) return stored;
        const changed = await trx.query(
          `UPDATE portal_sessions SET tokens_sealed = $3, renewed_at = $4, expires_at = $5,
             generation = generation + 1 ${byKey} RETURNING ${columns}`,
          [...key, renewed.tokensSealed, isoTime(renewed.renewedAt), isoTime(renewed.expiresAt)],
        );
        return toRecords<StoredSession>(changed)[0];
      });
    },

    /** Returns the deleted session; undefined if another request deleted it first. */
    async remove(
      { organizationId, sessionHash }: SessionKey,
      recordAudit: (trx: Queries) => Promise<void>,
    ): Promise<StoredSession | undefined> {
      const key = [organizationId, sessionHash];
      return database.transaction(async (trx) => {
        const text = `DELETE FROM portal_sessions ${byKey} RETURNING ${columns}`;
        const [removed] = toRecords<StoredSession>(await trx.query(text, key));
        if (removed !== undefined) await recordAudit(trx);
        return removed;
      });
    },

    /**
     * Deletes at most `limit` sessions that have reached their end, and returns the number it
     * found. Another process may delete the same sessions, and more may remain.
     */
    async deleteEnded(at: number, limit: number): Promise<number> {
      const rows = await database.query(
        `SELECT organization_id, session_hash FROM portal_sessions
         WHERE ends_at < $1 ORDER BY ends_at LIMIT $2`,
        [isoTime(at), limit],
      );
      const ended = toRecords<SessionKey>(rows);
      for (const [organizationId, keys] of Map.groupBy(ended, (key) => key.organizationId)) {
        await database.query(
          `DELETE FROM portal_sessions WHERE organization_id = $1 AND ends_at < $3
             AND session_hash = ANY($2::bytea[])`,
          [organizationId, keys.map((key) => key.sessionHash), isoTime(at)],
        );
      }
      return ended.length;
    },
  };
}
