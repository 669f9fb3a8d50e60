// Records when each application was last used: in memory, and written in batches.
import { type Clock, isoTime, type Log, type Queries } from '../../platform/index.ts';

/** The stored time may be this old; an application in use is written once per interval. */
const writeIntervalMs = 60_000;
/** Above this number, a use is recorded at a later call. */
const maxRecorded = 20_000;

export type ApplicationLastUsed = {
  /** The application got a token, or called the API with one. */
  record(organizationId: string, clientId: string): void;
  /** By client id; applications that were never used are missing. */
  find(organizationId: string, clientIds: readonly string[]): Promise<Map<string, number>>;
  /** Writes the recorded times. */
  flush(): Promise<void>;
  close(): Promise<void>;
};

type Use = { readonly organizationId: string; readonly clientId: string; readonly usedAt: number };
type Deps = {
  readonly database: Queries;
  readonly clock: Clock;
  readonly log: Log;
};

/** Sorted, so that two processes that write at the same time cannot deadlock. */
const writeText = `INSERT INTO application_uses AS u (organization_id, client_id, used_at)
  SELECT a.organization_id, a.client_id, n.used_at
  FROM unnest($1::uuid[], $2::text[], $3::timestamptz[]) AS n (organization_id, client_id, used_at)
  JOIN applications a ON a.organization_id = n.organization_id AND a.client_id = n.client_id
    AND a.removed_at IS NULL
  ORDER BY a.organization_id, a.client_id
  ON CONFLICT (organization_id, client_id) DO UPDATE SET used_at = excluded.used_at
  WHERE u.used_at < excluded.used_at`;

const readText = `SELECT client_id, used_at FROM application_uses
  WHERE organization_id = $1 AND client_id = ANY($2::text[])`;

/**
 * @example const lastUsed = createApplicationLastUsed({ database, clock, log });
 * lastUsed.record(organizationId, clientId);
 */
export function createApplicationLastUsed({ database, clock, log }: Deps): ApplicationLastUsed {
  const recorded = new Map<string, Use>();
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  const keyOf = (organizationId: string, clientId: string) => `${organizationId}/${clientId}`;
  const scheduleWrite = (): void => {
    timer ??= setTimeout(() => void flush(), writeIntervalMs).unref();
  };

  async function writeRecorded(): Promise<void> {
    const written = [...recorded];
    if (written.length === 0) return;
    const lastUses = written.map(([, use]) => use);
    try {
      await database.query(writeText, [
        lastUses.map(({ organizationId }) => organizationId),
        lastUses.map(({ clientId }) => clientId),
        lastUses.map(({ usedAt }) => isoTime(usedAt)),
      ]);
    } catch (error) {
      log.warn(
        { err: error },
        'writing the last uses of applications failed; the server retries in a minute',
      );
      scheduleWrite();
      return;
    }
    for (const [key, use] of written) if (recorded.get(key) === use) recorded.delete(key);
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    writing = writing.then(writeRecorded);
    return writing;
  }

  return {
    record(organizationId, clientId) {
      const key = keyOf(organizationId, clientId);
      if (recorded.size >= maxRecorded && !recorded.has(key)) return;
      recorded.set(key, { organizationId, clientId, usedAt: clock.now() });
      scheduleWrite();
    },
    async find(organizationId, clientIds) {
      const rows = await database.query<{ client_id: string; used_at: Date }>(readText, [
        organizationId,
        [...clientIds],
      ]);
      const lastUsed = new Map(rows.map((row) => [row.client_id, row.used_at.getTime()]));
      for (const clientId of clientIds) {
        const use = recorded.get(keyOf(organizationId, clientId));
        if (use !== undefined)
          lastUsed.set(clientId, Math.max(use.usedAt, lastUsed.get(clientId) ?? 0));
      }
      return lastUsed;
    },
    flush,
    close: flush,
  };
}
