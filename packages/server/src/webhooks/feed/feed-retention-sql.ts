// Deletes old events by SQL: first moves the start of the feed, so that readers notice the gap.
import { type Database, nilUuid } from '../../platform/index.ts';

/** The maximum number of organisations in one step, and of events of each that it deletes. */
const organizationsPerStep = 20;
const eventsPerStep = 500;

/** Old events up to the first newer one: a feed is only deleted from its beginning. */
const moveFeedStartsText = `WITH h AS MATERIALIZED (
    SELECT organization_id, swept FROM feed_heads WHERE organization_id > $1
    ORDER BY organization_id LIMIT ${organizationsPerStep}
  ), b AS MATERIALIZED (
    SELECT h.organization_id, o.bound FROM h CROSS JOIN LATERAL (
      SELECT coalesce(min(position) FILTER (WHERE created_at >= $2) - 1, max(position)) AS bound
      FROM (SELECT position, created_at FROM feed_events
        WHERE organization_id = h.organization_id AND position > h.swept
        ORDER BY position LIMIT ${eventsPerStep}) f
    ) o WHERE o.bound > h.swept
  ), moved AS (
    UPDATE feed_heads u SET swept = b.bound FROM b WHERE u.organization_id = b.organization_id
    RETURNING u.organization_id, u.swept
  )
  SELECT h.organization_id AS "organizationId", moved.swept AS bound
  FROM h LEFT JOIN moved USING (organization_id) ORDER BY h.organization_id`;

const deleteText = `DELETE FROM feed_events f
  USING unnest($1::uuid[], $2::bigint[]) AS b(organization_id, bound)
  WHERE f.organization_id = b.organization_id AND f.position <= b.bound`;

/** `last` is the start of the next step; undefined after the last organisation. */
export async function moveFeedStarts(
  database: Database,
  before: string,
  afterOrganizationId = nilUuid,
) {
  const rows = await database.query<{ organizationId: string; bound: number | null }>(
    moveFeedStartsText,
    [afterOrganizationId, before],
  );
  const bounds = new Map(
    rows.flatMap(({ organizationId, bound }): [string, number][] =>
      bound === null ? [] : [[organizationId, bound]],
    ),
  );
  const isWhole = rows.length === organizationsPerStep;
  return { last: isWhole ? rows.at(-1)?.organizationId : undefined, bounds };
}

/** Also deletes what an earlier step left after a crash. */
export async function deleteEventsUpTo(
  database: Database,
  bounds: ReadonlyMap<string, number>,
): Promise<void> {
  await database.query(deleteText, [[...bounds.keys()], [...bounds.values()]]);
}
