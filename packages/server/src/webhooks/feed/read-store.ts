// The SQL that reads the feed: by its key alone, a bounded part at a time.
import type { Database } from '../../platform/index.ts';

export type FoundEvent = { eventId: string; position: number; type: string; body: string };

export type FoundEvents = {
  /** In the order that was asked for. */
  events: FoundEvent[];
  /** The last position that was looked at, wanted or not; undefined where nothing is there. */
  scanned: number | undefined;
  /** Where the feed ends, and up to where it was forgotten. */
  position: number;
  swept: number;
};

/** Behind a position, the oldest first, or before one, the newest first. */
export type EventSearch = ({ readonly after: number } | { readonly before: number }) & {
  readonly organizationId: string;
  readonly types?: readonly string[];
  readonly merchantId?: string;
  readonly limit: number;
  readonly scannedMax: number;
};

/** One row at least: it tells how far was looked, whatever was found. */
const searchText = (beyond: '>' | '<', way: 'ASC' | 'DESC') => `WITH part AS MATERIALIZED (
    SELECT position, type, merchant_id FROM feed_events
    WHERE organization_id = $1 AND position ${beyond} $2 ORDER BY position ${way} LIMIT $3
  ), wanted AS MATERIALIZED (
    SELECT position FROM part WHERE ($4::text[] IS NULL OR type = ANY($4))
      AND ($5::uuid IS NULL OR merchant_id = $5) ORDER BY position ${way} LIMIT $6
  )
  SELECT s.scanned, h.position AS head, h.swept,
    f.event_id AS "eventId", f.position, f.type, f.body
  FROM (SELECT ${way === 'ASC' ? 'max' : 'min'}(position) AS scanned FROM part) s
  LEFT JOIN feed_heads h ON h.organization_id = $1
  LEFT JOIN feed_events f ON f.organization_id = $1
    AND f.position = ANY(ARRAY(SELECT position FROM wanted))
  ORDER BY f.position ${way}`;

const forwardsText = searchText('>', 'ASC');
const backwardsText = searchText('<', 'DESC');

type SearchRow = { [Member in keyof FoundEvent]: FoundEvent[Member] | null } & {
  scanned: number | null;
  head: number | null;
  swept: number | null;
};

export async function findEvents(database: Database, search: EventSearch): Promise<FoundEvents> {
  const { organizationId, types, merchantId, limit, scannedMax } = search;
  const [text, from] =
    'after' in search ? [forwardsText, search.after] : [backwardsText, search.before];
  const rows = await database.query<SearchRow>(text, [
    organizationId,
    from,
    scannedMax,
    types ?? null,
    merchantId ?? null,
    limit,
  ]);
  const [first] = rows;
  const events = rows.filter((row): row is SearchRow & FoundEvent => row.position !== null);
  return {
    events,
    scanned: first?.scanned ?? undefined,
    position: first?.head ?? 0,
    swept: first?.swept ?? 0,
  };
}

export async function positionsOf(
  database: Database,
  organizationIds: readonly string[],
): Promise<Map<string, number>> {
  const rows = await database.query<{ organization_id: string; position: number }>(
    'SELECT organization_id, position FROM feed_heads WHERE organization_id = ANY($1::uuid[])',
    [organizationIds],
  );
  return new Map(rows.map(({ organization_id: id, position }) => [id, position]));
}
