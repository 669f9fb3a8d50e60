// The SQL that forgets events: the head of a feed moves first, so that no reader passes a hole unawares.
import type { Database } from '../../platform/index.ts';

/** Organisations that one step looks at, and events of each that it forgets. */
const organizationsAtOnce = 20;
const eventsAtOnce = 500;
const nil = '00000000-0000-0000-0000-000000000000';

/** What is old up to the first event that is not: a feed is forgotten from its beginning alone. */
const forgetText = `WITH h AS MATERIALIZED (
    SELECT organization_id, swept FROM feed_heads WHERE organization_id > $1
    ORDER BY organization_id LIMIT ${organizationsAtOnce}
  ), b AS MATERIALIZED (
    SELECT h.organization_id, o.bound FROM h CROSS JOIN LATERAL (
      SELECT coalesce(min(position) FILTER (WHERE created_at >= $2) - 1, max(position)) AS bound
      FROM (SELECT position, created_at FROM feed_events
        WHERE organization_id = h.organization_id AND position > h.swept
        ORDER BY position LIMIT ${eventsAtOnce}) f
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

/** `last` is where the next step goes on; undefined where the round is over. */
export async function forgetBefore(database: Database, before: string, place = nil) {
  const rows = await database.query<{ organizationId: string; bound: number | null }>(forgetText, [
    place,
    before,
  ]);
  const bounds = new Map(
    rows.flatMap(({ organizationId, bound }): [string, number][] =>
      bound === null ? [] : [[organizationId, bound]],
    ),
  );
  const isWhole = rows.length === organizationsAtOnce;
  return { last: isWhole ? rows.at(-1)?.organizationId : undefined, bounds };
}

/** Also what a crash has left behind of an earlier step. */
export async function deleteForgotten(
  database: Database,
  bounds: ReadonlyMap<string, number>,
): Promise<void> {
  await database.query(deleteText, [[...bounds.keys()], [...bounds.values()]]);
}
