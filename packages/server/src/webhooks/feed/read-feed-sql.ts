// Reads bounded parts of the feed by its key.
import type { Database } from '../../platform/index.ts';

export type FoundEvent = { eventId: string; position: number; type: string; body: string };

export type FoundEvents = {
  /** In the requested order. */
  events: FoundEvent[];
  /** The last position that was read, wanted or not; undefined if there is none. */
  scannedPosition: number | undefined;
  /** The last position of the feed, and the position up to which events were deleted. */
  endPosition: number;
  deletedUpTo: number;
};

/** After a position, oldest first, or before a position, newest first. */
export type FeedSearch = ({ readonly after: number } | { readonly before: number }) & {
  readonly organizationId: string;
  readonly types?: readonly string[];
  readonly merchantId?: string;
  readonly limit: number;
  readonly scannedMax: number;
};

/** Returns at least one row, which contains how far the search went. */
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

export async function findEvents(database: Database, search: FeedSearch): Promise<FoundEvents> {
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
    scannedPosition: first?.scanned ?? undefined,
    endPosition: first?.head ?? 0,
    deletedUpTo: first?.swept ?? 0,
  };
}

export async function findFeedEnds(
  database: Database,
  organizationIds: readonly string[],
): Promise<Map<string, number>> {
  const rows = await database.query<{ organization_id: string; position: number }>(
    'SELECT organization_id, position FROM feed_heads WHERE organization_id = ANY($1::uuid[])',
    [organizationIds],
  );
  return new Map(rows.map(({ organization_id: id, position }) => [id, position]));
}
