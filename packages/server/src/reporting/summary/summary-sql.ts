// SQL for summaries: sums of cells, with each day as a part of the key.
import { encodeSimpleArray } from '../../platform/index.ts';
import { nil } from '../infrastructure/run-query.ts';
import { endings, type Level } from '../projection/daily-aggregates.ts';
import { type Ending, sumNames } from '../projection/reported-payment-types.ts';
import { hasWords, type Words } from '../search/search-filters.ts';

/** Selects the cells to add. */
export type CellFilter = {
  readonly organizationId: string;
  readonly days: readonly string[];
  readonly merchantId: string | undefined;
  readonly storeId: string | undefined;
  readonly deviceId: string | undefined;
  readonly words: Words;
};

export type Statement = { readonly text: string; readonly values: readonly unknown[] };

const filters = `FROM unnest($3::date[]) AS d(day) CROSS JOIN LATERAL (SELECT * FROM report_cells
    WHERE organization_id = $1 AND level = $2 AND day = d.day`;
const byMerchant = ' AND merchant_id = $4';
const ofGroup = `JOIN report_groups g ON g.organization_id = $1 AND g.group_id = c.group_id
      AND ($7::text IS NULL OR g.kind = $7) AND ($8::text[] IS NULL OR g.scheme = ANY($8))
      AND ($9::text[] IS NULL OR g.currency = ANY($9)) AND ($10::text[] IS NULL OR g.category = ANY($10))
      AND ($11::text[] IS NULL OR g.entry_mode = ANY($11))`;
const placed = ' AND ($5::uuid IS NULL OR store_id = $5) AND ($6::uuid IS NULL OR device_id = $6)';
/** Each text must use every parameter, so that PostgreSQL can determine its type. */
const noWords =
  ' AND $7::text IS NULL AND coalesce($8::text[], $9::text[], $10::text[], $11::text[]) IS NULL';

/** Joins the groups only if the result or a filter needs them. */
const restOf = ({ words }: CellFilter, tellsGroups: boolean): string =>
  tellsGroups || hasWords(words) ? `${placed}) c ${ofGroup}` : `${placed}${noWords}) c`;

/** A filter by merchant has its own text, because the merchant is a part of the key. */
const fromCells = (filter: CellFilter, tellsGroups: boolean): string => {
  const merchant = filter.merchantId === undefined ? ' AND $4::uuid IS NULL' : byMerchant;
  return `${filters}${merchant}${restOf(filter, tellsGroups)}`;
};

const listed = (words: readonly string[] | undefined) =>
  words === undefined ? null : encodeSimpleArray(words);

const valuesOf = (filter: CellFilter, level: Level): unknown[] => [
  filter.organizationId,
  level,
  encodeSimpleArray(filter.days),
  filter.merchantId ?? null,
  filter.storeId ?? null,
  filter.deviceId ?? null,
  filter.words.kind ?? null,
  listed(filter.words.scheme),
  listed(filter.words.currency),
  listed(filter.words.responseCategory),
  listed(filter.words.entryMode),
];

const sums = [
  ...endings.map((name) => `sum(c.${name})::bigint AS ${name}`),
  ...sumNames.map((name) => `sum(c.${name})::text AS ${name}`),
].join(', ');

const count = `sum(${endings.map((name) => `c.${name}`).join(' + ')})::bigint`;
const refused = 'c.declined + c.failed';

/** The key of lines for groupings with few lines; `nothing` makes one line of all. */
export type LineBy = 'nothing' | 'day' | 'scheme' | 'responseCategory';
const lineKeys: Readonly<Record<LineBy, string>> = {
  nothing: "''",
  day: 'c.day::text',
  scheme: 'g.scheme',
  responseCategory: 'g.category',
};

const selectSums = (key: string, from: string) =>
  `SELECT ${key} AS key, g.currency, ${sums} ${from} GROUP BY 1, 2`;
const selectReasons = (key: string, from: string) =>
  `SELECT ${key} AS key, g.reason, sum(${refused})::bigint AS count ${from}
    WHERE ${refused} > 0 GROUP BY 1, 2`;
const selectTimes = (key: string, from: string) =>
  `SELECT ${key} AS key, l.key::int AS bucket, sum(l.value::bigint)::bigint AS count ${from}
    CROSS JOIN LATERAL jsonb_each_text(c.latency) l GROUP BY 1, 2`;

/** The parameters of statements for groupings with few lines. */
export type LinesOf = { readonly filter: CellFilter; readonly level: Level; readonly by: LineBy };

type Select = (key: string, from: string) => string;

const lineStatement =
  (select: Select, tellsGroups: boolean) =>
  ({ filter, level, by }: LinesOf): Statement => {
    const key = lineKeys[by];
    const from = fromCells(filter, tellsGroups || key.startsWith('g.'));
    return { text: select(key, from), values: valuesOf(filter, level) };
  };

/** Sums by line and currency. */
export const sumsStatement = lineStatement(selectSums, true);
/** Reasons of declined and failed payments by line. */
export const reasonsStatement = lineStatement(selectReasons, true);
/** Counts of payments by line and latency bucket. */
export const timesStatement = lineStatement(selectTimes, false);

const hourly = (place: number) => `(h.value->>${place})::bigint`;
const eachHour = 'CROSS JOIN LATERAL jsonb_each(c.hours) h';

/** Sums of all days by hour and currency. */
export function hoursStatement(filter: CellFilter, level: Level): Statement {
  const columns = [
    ...endings.map((name, place) => `sum(${hourly(place)})::bigint AS ${name}`),
    ...sumNames.map((name, place) => `sum(${hourly(place + endings.length)})::text AS ${name}`),
  ].join(', ');
  const text = `SELECT lpad(h.key, 2, '0') AS key, g.currency, ${columns} ${fromCells(filter, true)} ${eachHour}
    GROUP BY 1, 2`;
  return { text, values: valuesOf(filter, level) };
}

const refusedInHour = ['declined', 'failed'].map((name) => hourly(endings.indexOf(name as Ending)));

/** Reasons of declined and failed payments by hour. */
export function hourReasonsStatement(filter: CellFilter, level: Level): Statement {
  const inHour = refusedInHour.join(' + ');
  const text = `SELECT lpad(h.key, 2, '0') AS key, g.reason, sum(${inHour})::bigint AS count
    ${fromCells(filter, true)} ${eachHour} WHERE ${refused} > 0 GROUP BY 1, 2 HAVING sum(${inHour}) > 0`;
  return { text, values: valuesOf(filter, level) };
}

export type LineKey = { readonly key: string; readonly count: number };
export type PlaceColumn = 'merchant_id' | 'store_id' | 'device_id';

/**
 * A line for a merchant, store or device. The line for payments without one combines several keys,
 * and has `isSpread` set.
 */
export type PlaceLine = LineKey & {
  readonly merchantId: string;
  readonly storeId: string;
  readonly isSpread: boolean;
};

/** PostgreSQL before version 18 has no min() for uuid. */
const least = (column: string) => `min(${column}::text COLLATE "C")`;

/** Selects the lines of one page, after a given line. */
export function keysStatement(
  filter: CellFilter,
  level: Level,
  column: PlaceColumn,
  { order, after, limit }: { order: 'Key' | 'Count'; after?: LineKey | undefined; limit: number },
): Statement {
  const total = 'sum(p.count)::bigint';
  const behind =
    order === 'Key'
      ? 'HAVING $13::bigint IS NULL OR p.key > $12::uuid'
      : `HAVING $13::bigint IS NULL OR ${total} < $13 OR (${total} = $13 AND p.key > $12::uuid)`;
  const sorted = order === 'Key' ? '1' : '2 DESC, 1';
  // Without the count, an index-only scan is sufficient.
  const counted = order === 'Key' ? '0' : count;
  const store = column === 'merchant_id' ? `'${nil}'::uuid` : 'c.store_id';
  const text = `SELECT p.key, ${total} AS count, ${least('p.merchant')} AS "merchantId",
      ${least('p.store')} AS "storeId", count(*) > 1 AS "isSpread"
    FROM (SELECT c.${column} AS key, c.merchant_id AS merchant, ${store} AS store, ${counted} AS count
      ${fromCells(filter, false)} GROUP BY 1, 2, 3) p
    GROUP BY 1 ${behind} ORDER BY ${sorted} LIMIT $14`;
  const values = [...valuesOf(filter, level), after?.key ?? null, after?.count ?? null, limit];
  return { text, values };
}

/** Some lines of merchants, stores or devices. */
export type PlacesOf = {
  readonly filter: CellFilter;
  readonly level: Level;
  readonly column: PlaceColumn;
  readonly lines: readonly PlaceLine[];
};

/**
 * Selects the cells of some lines by their keys; for a line with `isSpread`, it reads all cells.
 */
function fromPlaces({ filter, column, lines }: PlacesOf, tellsGroups: boolean): string {
  const [first] = lines;
  const below = column === 'device_id' ? ' AND store_id = w.store_id' : '';
  // A repeated condition on the merchant would make the planner expect too few rows.
  const isKnown = first?.isSpread !== true && column !== 'merchant_id';
  const exact = isKnown ? ` AND merchant_id = w.merchant_id${below}` : '';
  return `FROM unnest($3::date[]) AS d(day)
    CROSS JOIN unnest($12::uuid[], $13::uuid[], $14::uuid[]) AS w(key, merchant_id, store_id)
    CROSS JOIN LATERAL (SELECT * FROM report_cells WHERE organization_id = $1 AND level = $2
      AND day = d.day${exact} AND ${column} = w.key AND ($4::uuid IS NULL OR merchant_id = $4)
      ${restOf(filter, tellsGroups)}`;
}

const placesStatement =
  (select: Select, tellsGroups: boolean) =>
  (of: PlacesOf): Statement => {
    const columnOf = (name: 'key' | 'merchantId' | 'storeId') =>
      encodeSimpleArray(of.lines.map((line) => line[name]));
    const places = [columnOf('key'), columnOf('merchantId'), columnOf('storeId')];
    return {
      text: select('w.key::text', fromPlaces(of, tellsGroups)),
      values: [...valuesOf(of.filter, of.level), ...places],
    };
  };

/** The same statements as for groupings with few lines, by merchant, store or device. */
export const placeSumsStatement = placesStatement(selectSums, true);
export const placeReasonsStatement = placesStatement(selectReasons, true);
export const placeTimesStatement = placesStatement(selectTimes, false);

/** Finds the merchant of a store or device from its payments. */
export const ownerText = (column: 'store_id' | 'device_id') =>
  `SELECT merchant_id AS "merchantId" FROM report_payments
    WHERE organization_id = $1 AND ${column} = $2 ORDER BY created_at DESC, payment_id DESC LIMIT 1`;

export const asOfText = `SELECT p.as_of AS "asOf", p.stage = 'Following' AND p.written_as_of = p.as_of
    AND p.position >= h.position AS "isNow"
  FROM report_positions p JOIN feed_heads h ON h.organization_id = p.organization_id
  WHERE p.organization_id = $1`;
