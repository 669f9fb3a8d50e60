// Stores the events of the feed, with positions that commit in their order.
import {
  encodeLines,
  encodeSimpleArray,
  isoTime,
  type PreparedStatement,
  type Queries,
} from '../../platform/index.ts';
import type { FeedEvent } from './feed-event.ts';

/** Ordered by key, so that two batches cannot deadlock. */
const reservePositionsText: PreparedStatement = {
  name: 'feed-positions',
  text: `INSERT INTO feed_heads AS h (organization_id, position)
  SELECT r.organization_id, r.count FROM unnest($1::uuid[], $2::bigint[]) AS r(organization_id, count)
  ORDER BY r.organization_id
  ON CONFLICT (organization_id) DO UPDATE SET position = h.position + excluded.position
  RETURNING organization_id AS "organizationId", position`,
};

const insertEventsText: PreparedStatement = {
  name: 'feed-events',
  text: `INSERT INTO feed_events (organization_id, position, event_id, type, merchant_id,
    subject_id, sequence, body, created_at)
  SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::text[], $5::uuid[],
    string_to_array($6, E'\\n'), $7::bigint[], string_to_array($8, E'\\n'), $9::timestamptz[])`,
};

/**
 * Reserves positions for each organisation, and locks the organisation's feed until the transaction
 * ends. Returns the position before the first reserved one.
 */
export async function reservePositions(
  trx: Queries,
  counts: ReadonlyMap<string, number>,
): Promise<Map<string, number>> {
  const rows = await trx.query<{ organizationId: string; position: number }>(reservePositionsText, [
    [...counts.keys()],
    [...counts.values()],
  ]);
  return new Map(
    rows.map(({ organizationId, position }) => [
      organizationId,
      position - (counts.get(organizationId) ?? 0),
    ]),
  );
}

export async function insertEvents(trx: Queries, events: readonly FeedEvent[]) {
  await trx.query(insertEventsText, [
    encodeSimpleArray(events.map((event) => event.organizationId)),
    encodeSimpleArray(events.map((event) => event.position)),
    encodeSimpleArray(events.map((event) => event.eventId)),
    encodeSimpleArray(events.map((event) => event.type)),
    encodeSimpleArray(events.map((event) => event.merchantId)),
    encodeLines(events.map((event) => event.subjectId)),
    encodeSimpleArray(events.map((event) => event.sequence)),
    encodeLines(events.map((event) => event.body)),
    encodeSimpleArray(events.map((event) => isoTime(event.createdAt.getTime()))),
  ]);
}
