// When each application was last used: kept in memory, and written for many of them at once.
import { type Clock, type Database, isoTime, type Log } from '../../platform/index.ts';

/** So much the written time may lie back; an application in use is written once in it. */
const writeAfterMs = 60_000;
/** Whoever finds no place is noted at his next call. */
const notedMax = 20_000;

export type ApplicationUses = {
  /** It got a token, or came with one. */
  note(organizationId: string, clientId: string): void;
  /** By client id; those that were never used are left out. */
  of(organizationId: string, clientIds: readonly string[]): Promise<Map<string, number>>;
  /** Writes what was noted. */
  write(): Promise<void>;
  close(): Promise<void>;
};

type Use = { readonly organizationId: string; readonly clientId: string; readonly at: number };
type Deps = {
  readonly database: Pick<Database, 'query'>;
  readonly clock: Clock;
  readonly log: Log;
};

/** In one order, so that two processes that write at once wait for each other and never both. */
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

/** @example const uses = createApplicationUses({ database, clock, log }); uses.note(organizationId, clientId); */
export function createApplicationUses({ database, clock, log }: Deps): ApplicationUses {
  const noted = new Map<string, Use>();
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  const nameOf = (organizationId: string, clientId: string) => `${organizationId}/${clientId}`;
  const arm = (): void => {
    timer ??= setTimeout(() => void write(), writeAfterMs).unref();
  };

  async function writeNoted(): Promise<void> {
    const written = [...noted];
    if (written.length === 0) return;
    const uses = written.map(([, use]) => use);
    try {
      await database.query(writeText, [
        uses.map(({ organizationId }) => organizationId),
        uses.map(({ clientId }) => clientId),
        uses.map(({ at }) => isoTime(at)),
      ]);
    } catch (error) {
      log.warn({ err: error }, 'the last uses of applications are not written yet');
      arm();
      return;
    }
    for (const [name, use] of written) if (noted.get(name) === use) noted.delete(name);
  }

  function write(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    writing = writing.then(writeNoted);
    return writing;
  }

  return {
    note(organizationId, clientId) {
      const name = nameOf(organizationId, clientId);
      if (noted.size >= notedMax && !noted.has(name)) return;
      noted.set(name, { organizationId, clientId, at: clock.now() });
      arm();
    },
    async of(organizationId, clientIds) {
      const rows = await database.query<{ client_id: string; used_at: Date }>(readText, [
        organizationId,
        [...clientIds],
      ]);
      const found = new Map(rows.map((row) => [row.client_id, row.used_at.getTime()]));
      for (const clientId of clientIds) {
        const use = noted.get(nameOf(organizationId, clientId));
        if (use !== undefined) found.set(clientId, Math.max(use.at, found.get(clientId) ?? 0));
      }
      return found;
    },
    write,
    close: write,
  };
}
