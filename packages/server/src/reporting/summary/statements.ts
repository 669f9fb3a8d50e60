// The statements of summaries: sums of cells, each day by its part of the key. Pure.
import { plainArray } from '../../platform/index.ts';
import { endings, type Level } from '../projection/cells.ts';
import { sumNames } from '../projection/model.ts';
import { nil } from '../run.ts';

export type CellFilter = {
  readonly organizationId: string;
  readonly level: Level;
  readonly days: readonly string[];
  readonly merchantId: string | undefined;
  readonly storeId: string | undefined;
  readonly deviceId: string | undefined;
  readonly groupIds: readonly number[] | undefined;
};

export type Statement = { readonly text: string; readonly values: readonly unknown[] };

const filters = `FROM unnest($3::date[]) AS d(day) CROSS JOIN LATERAL (SELECT * FROM report_cells
    WHERE organization_id = $1 AND level = $2 AND day = d.day`;
const byMerchant = ' AND merchant_id = $4';
const rest = ` AND ($5::uuid IS NULL OR store_id = $5) AND ($6::uuid IS NULL OR device_id = $6)
    AND ($7::integer[] IS NULL OR group_id = ANY($7))) c`;

/** A merchant is a part of the key, and has a text of its own. */
const fromCells = ({ merchantId }: CellFilter): string =>
  `${filters}${merchantId === undefined ? ' AND $4::uuid IS NULL' : byMerchant}${rest}`;

const valuesOf = (filter: CellFilter): unknown[] => [
  filter.organizationId,
  filter.level,
  plainArray(filter.days),
  filter.merchantId ?? null,
  filter.storeId ?? null,
  filter.deviceId ?? null,
  filter.groupIds === undefined ? null : plainArray(filter.groupIds),
];

const sums = [
  ...endings.map((name) => `sum(c.${name})::bigint AS ${name}`),
  ...sumNames.map((name) => `sum(c.${name})::text AS ${name}`),
].join(', ');

const count = `sum(${endings.map((name) => `c.${name}`).join(' + ')})::bigint`;

/** By line and group; without a column everything is one line. */
export function sumsStatement(filter: CellFilter, column: 'day' | undefined): Statement {
  const key = column === undefined ? "''" : `c.${column}::text`;
  const text = `SELECT ${key} AS key, c.group_id AS "groupId", ${sums} ${fromCells(filter)}
    GROUP BY 1, 2`;
  return { text, values: valuesOf(filter) };
}

/** The same of the hours of the days. */
export function hoursStatement(filter: CellFilter): Statement {
  const columns = [
    ...endings.map((name, place) => `sum((h.value->>${place})::bigint)::bigint AS ${name}`),
    ...sumNames.map(
      (name, place) => `sum((h.value->>${place + endings.length})::bigint)::text AS ${name}`,
    ),
  ].join(', ');
  const text = `SELECT h.key, c.group_id AS "groupId", ${columns} ${fromCells(filter)}
    CROSS JOIN LATERAL jsonb_each(c.hours) h GROUP BY 1, 2`;
  return { text, values: valuesOf(filter) };
}

/** What payments by bucket of the histogram are told apart by. */
export type TimesBy = 'day' | 'group' | 'nothing';
const timeKeys = { day: 'c.day::text', group: 'c.group_id::text', nothing: "''" } as const;

/** Payments by line and bucket of the histogram. */
export function latencyStatement(filter: CellFilter, by: TimesBy): Statement {
  const text = `SELECT ${timeKeys[by]} AS key, l.key::int AS bucket, sum(l.value::bigint)::bigint AS count
    ${fromCells(filter)} CROSS JOIN LATERAL jsonb_each_text(c.latency) l GROUP BY 1, 2`;
  return { text, values: valuesOf(filter) };
}

export type LineKey = { readonly key: string; readonly count: number };
export type PlaceColumn = 'merchant_id' | 'store_id' | 'device_id';

/** A merchant, a store or a device. What stands for those without one is in many places. */
export type PlaceLine = LineKey & {
  readonly merchantId: string;
  readonly storeId: string;
  readonly isSpread: boolean;
};

/** The lines of one page, behind a line. */
export function keysStatement(
  filter: CellFilter,
  column: PlaceColumn,
  { order, after, limit }: { order: 'Key' | 'Count'; after?: LineKey | undefined; limit: number },
): Statement {
  const behind =
    order === 'Key'
      ? `HAVING $9::bigint IS NULL OR c.${column} > $8::uuid`
      : `HAVING $9::bigint IS NULL OR ${count} < $9 OR (${count} = $9 AND c.${column} > $8::uuid)`;
  const sorted = order === 'Key' ? '1' : '2 DESC, 1';
  const places =
    column === 'merchant_id'
      ? `c.merchant_id AS "merchantId", '${nil}' AS "storeId", false AS "isSpread"`
      : `min(c.merchant_id::text) AS "merchantId", min(c.store_id::text) AS "storeId",
      min(c.merchant_id::text) <> max(c.merchant_id::text) AS "isSpread"`;
  const text = `SELECT c.${column} AS key, ${count} AS count, ${places}
    ${fromCells(filter)} GROUP BY 1 ${behind} ORDER BY ${sorted} LIMIT $10`;
  const values = [...valuesOf(filter), after?.key ?? null, after?.count ?? null, limit];
  return { text, values };
}

/** The cells of some places, each by its part of the key; of those that are in many, all are looked at. */
function fromPlaces(
  filter: CellFilter,
  column: PlaceColumn,
  lines: readonly PlaceLine[],
): { from: string; values: unknown[] } {
  const [first] = lines;
  const below = column === 'device_id' ? ' AND store_id = w.store_id' : '';
  const exact = first?.isSpread === true ? '' : ` AND merchant_id = w.merchant_id${below}`;
  const from = `FROM unnest($3::date[]) AS d(day)
    CROSS JOIN unnest($8::uuid[], $9::uuid[], $10::uuid[]) AS w(key, merchant_id, store_id)
    CROSS JOIN LATERAL (SELECT * FROM report_cells WHERE organization_id = $1 AND level = $2
      AND day = d.day${exact} AND ${column} = w.key AND ($4::uuid IS NULL OR merchant_id = $4)${rest}`;
  const columnOf = (name: 'key' | 'merchantId' | 'storeId') =>
    plainArray(lines.map((line) => line[name]));
  const values = [...valuesOf(filter), columnOf('key'), columnOf('merchantId')];
  return { from, values: [...values, columnOf('storeId')] };
}

/** By place and group. */
export function placeSumsStatement(
  filter: CellFilter,
  column: PlaceColumn,
  lines: readonly PlaceLine[],
): Statement {
  const { from, values } = fromPlaces(filter, column, lines);
  const text = `SELECT w.key::text AS key, c.group_id AS "groupId", ${sums} ${from} GROUP BY 1, 2`;
  return { text, values };
}

/** By place and bucket of the histogram. */
export function placeLatencyStatement(
  filter: CellFilter,
  column: PlaceColumn,
  lines: readonly PlaceLine[],
): Statement {
  const { from, values } = fromPlaces(filter, column, lines);
  const text = `SELECT w.key::text AS key, l.key::int AS bucket, sum(l.value::bigint)::bigint AS count ${from}
    CROSS JOIN LATERAL jsonb_each_text(c.latency) l GROUP BY 1, 2`;
  return { text, values };
}

/** Whose a store or a device is, as its payments say. */
export const ownerText = (column: 'store_id' | 'device_id') =>
  `SELECT merchant_id AS "merchantId" FROM report_payments
    WHERE organization_id = $1 AND ${column} = $2 ORDER BY created_at DESC, payment_id DESC LIMIT 1`;

export const asOfText = `SELECT p.as_of AS "asOf", p.stage = 'Following' AND p.position >= h.position AS "isNow"
  FROM report_positions p JOIN feed_heads h ON h.organization_id = p.organization_id
  WHERE p.organization_id = $1`;
