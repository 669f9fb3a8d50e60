// The statements of summaries: sums of cells, each day by its part of the key. Pure.
import { plainArray } from '../../platform/index.ts';
import { endings, type Level } from '../projection/cells.ts';
import { type Ending, sumNames } from '../projection/model.ts';
import { nil } from '../run.ts';
import type { Words } from '../search/filters.ts';

/** Which cells count. */
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
const rest = ` AND ($5::uuid IS NULL OR store_id = $5) AND ($6::uuid IS NULL OR device_id = $6)) c
    ${ofGroup}`;

/** A merchant is a part of the key, and has a text of its own. */
const fromCells = ({ merchantId }: CellFilter): string =>
  `${filters}${merchantId === undefined ? ' AND $4::uuid IS NULL' : byMerchant}${rest}`;

const listed = (words: readonly string[] | undefined) =>
  words === undefined ? null : plainArray(words);

const valuesOf = (filter: CellFilter, level: Level): unknown[] => [
  filter.organizationId,
  level,
  plainArray(filter.days),
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

/** What lines are told apart by, where there are few of them; `nothing` makes one of all. */
export type LineBy = 'nothing' | 'day' | 'scheme' | 'responseCategory';
const lineKeys: Readonly<Record<LineBy, string>> = {
  ...{ nothing: "''", day: 'c.day::text', scheme: 'g.scheme', responseCategory: 'g.category' },
};

const selectSums = (key: string, from: string) =>
  `SELECT ${key} AS key, g.currency, ${sums} ${from} GROUP BY 1, 2`;
const selectReasons = (key: string, from: string) =>
  `SELECT ${key} AS key, g.reason, sum(${refused})::bigint AS count ${from}
    WHERE ${refused} > 0 GROUP BY 1, 2`;
const selectTimes = (key: string, from: string) =>
  `SELECT ${key} AS key, l.key::int AS bucket, sum(l.value::bigint)::bigint AS count ${from}
    CROSS JOIN LATERAL jsonb_each_text(c.latency) l GROUP BY 1, 2`;

/** Of the lines of few. */
export type LinesOf = { readonly filter: CellFilter; readonly level: Level; readonly by: LineBy };

const lineStatement =
  (select: (key: string, from: string) => string) =>
  ({ filter, level, by }: LinesOf): Statement => ({
    text: select(lineKeys[by], fromCells(filter)),
    values: valuesOf(filter, level),
  });

/** By line and currency. */
export const sumsStatement = lineStatement(selectSums);
/** Why payments were declined or failed, by line. */
export const reasonsStatement = lineStatement(selectReasons);
/** Payments by line and bucket of the histogram. */
export const timesStatement = lineStatement(selectTimes);

const hourly = (place: number) => `(h.value->>${place})::bigint`;
const eachHour = 'CROSS JOIN LATERAL jsonb_each(c.hours) h';

/** The sums of the hours of the days, by hour and currency. */
export function hoursStatement(filter: CellFilter, level: Level): Statement {
  const columns = [
    ...endings.map((name, place) => `sum(${hourly(place)})::bigint AS ${name}`),
    ...sumNames.map((name, place) => `sum(${hourly(place + endings.length)})::text AS ${name}`),
  ].join(', ');
  const text = `SELECT lpad(h.key, 2, '0') AS key, g.currency, ${columns} ${fromCells(filter)} ${eachHour}
    GROUP BY 1, 2`;
  return { text, values: valuesOf(filter, level) };
}

const refusedInHour = ['declined', 'failed'].map((name) => hourly(endings.indexOf(name as Ending)));

/** And why payments of an hour were declined or failed. */
export function hourReasonsStatement(filter: CellFilter, level: Level): Statement {
  const inHour = refusedInHour.join(' + ');
  const text = `SELECT lpad(h.key, 2, '0') AS key, g.reason, sum(${inHour})::bigint AS count
    ${fromCells(filter)} ${eachHour} WHERE ${refused} > 0 GROUP BY 1, 2 HAVING sum(${inHour}) > 0`;
  return { text, values: valuesOf(filter, level) };
}

export type LineKey = { readonly key: string; readonly count: number };
export type PlaceColumn = 'merchant_id' | 'store_id' | 'device_id';

/** A merchant, a store or a device. What stands for those without one is in many places. */
export type PlaceLine = LineKey & {
  readonly merchantId: string;
  readonly storeId: string;
  readonly isSpread: boolean;
};

/** No version of PostgreSQL before 18 has a least identifier. */
const least = (column: string) => `min(${column}::text COLLATE "C")`;

/** The lines of one page, behind a line. */
export function keysStatement(
  filter: CellFilter,
  level: Level,
  column: PlaceColumn,
  { order, after, limit }: { order: 'Key' | 'Count'; after?: LineKey | undefined; limit: number },
): Statement {
  const behind =
    order === 'Key'
      ? `HAVING $13::bigint IS NULL OR c.${column} > $12::uuid`
      : `HAVING $13::bigint IS NULL OR ${count} < $13 OR (${count} = $13 AND c.${column} > $12::uuid)`;
  const sorted = order === 'Key' ? '1' : '2 DESC, 1';
  // Without the count it is told by the index alone.
  const counted = order === 'Key' ? '0' : count;
  const places =
    column === 'merchant_id'
      ? `c.merchant_id AS "merchantId", '${nil}' AS "storeId", false AS "isSpread"`
      : `${least('c.merchant_id')} AS "merchantId", ${least('c.store_id')} AS "storeId",
      ${least('c.merchant_id')} <> max(c.merchant_id::text COLLATE "C") AS "isSpread"`;
  const text = `SELECT c.${column} AS key, ${counted} AS count, ${places}
    ${fromCells(filter)} GROUP BY 1 ${behind} ORDER BY ${sorted} LIMIT $14`;
  const values = [...valuesOf(filter, level), after?.key ?? null, after?.count ?? null, limit];
  return { text, values };
}

/** Of the lines of places, some of them. */
export type PlacesOf = {
  readonly filter: CellFilter;
  readonly level: Level;
  readonly column: PlaceColumn;
  readonly lines: readonly PlaceLine[];
};

/** The cells of some places, each by its part of the key; of those that are in many, all are looked at. */
function fromPlaces({ column, lines }: PlacesOf): string {
  const [first] = lines;
  const below = column === 'device_id' ? ' AND store_id = w.store_id' : '';
  // Said twice of a merchant it would look like less than there is.
  const isKnown = first?.isSpread !== true && column !== 'merchant_id';
  const exact = isKnown ? ` AND merchant_id = w.merchant_id${below}` : '';
  return `FROM unnest($3::date[]) AS d(day)
    CROSS JOIN unnest($12::uuid[], $13::uuid[], $14::uuid[]) AS w(key, merchant_id, store_id)
    CROSS JOIN LATERAL (SELECT * FROM report_cells WHERE organization_id = $1 AND level = $2
      AND day = d.day${exact} AND ${column} = w.key AND ($4::uuid IS NULL OR merchant_id = $4)${rest}`;
}

const placesStatement =
  (select: (key: string, from: string) => string) =>
  (of: PlacesOf): Statement => {
    const columnOf = (name: 'key' | 'merchantId' | 'storeId') =>
      plainArray(of.lines.map((line) => line[name]));
    const places = [columnOf('key'), columnOf('merchantId'), columnOf('storeId')];
    return {
      text: select('w.key::text', fromPlaces(of)),
      values: [...valuesOf(of.filter, of.level), ...places],
    };
  };

/** As the statements of lines that are few, by place. */
export const placeSumsStatement = placesStatement(selectSums);
export const placeReasonsStatement = placesStatement(selectReasons);
export const placeTimesStatement = placesStatement(selectTimes);

/** Whose a store or a device is, as its payments say. */
export const ownerText = (column: 'store_id' | 'device_id') =>
  `SELECT merchant_id AS "merchantId" FROM report_payments
    WHERE organization_id = $1 AND ${column} = $2 ORDER BY created_at DESC, payment_id DESC LIMIT 1`;

export const asOfText = `SELECT p.as_of AS "asOf", p.stage = 'Following' AND p.position >= h.position AS "isNow"
  FROM report_positions p JOIN feed_heads h ON h.organization_id = p.organization_id
  WHERE p.organization_id = $1`;
