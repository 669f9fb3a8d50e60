// SQL for summaries: sums of cells, with each day as a part of the key.
import { encodeSimpleArray, nilUuid } from '../../platform/index.ts';
import { type GroupFilters, hasGroupFilters } from '../infrastructure/group-filters.ts';
import {
  type AggregateLevel,
  deviceLevel,
  figureColumns,
  paymentOutcomes,
} from '../projection/daily-aggregates.ts';
import { sumNames } from '../projection/reported-payment-types.ts';

/** Selects the cells to add. */
export type AggregateFilter = {
  readonly organizationId: string;
  readonly days: readonly string[];
  readonly merchantId: string | undefined;
  readonly storeId: string | undefined;
  readonly deviceId: string | undefined;
  readonly groupFilters: GroupFilters;
};

export type Statement = { readonly text: string; readonly values: readonly unknown[] };

const aggregatesOfDaysSql = `FROM unnest($3::date[]) AS d(day) CROSS JOIN LATERAL (SELECT * FROM report_cells
    WHERE organization_id = $1 AND level = $2 AND day = d.day`;
const merchantConditionSql = ' AND merchant_id = $4';
const joinGroupsSql = `JOIN report_groups g ON g.organization_id = $1 AND g.group_id = c.group_id
      AND ($7::text IS NULL OR g.kind = $7) AND ($8::text[] IS NULL OR g.scheme = ANY($8))
      AND ($9::text[] IS NULL OR g.currency = ANY($9)) AND ($10::text[] IS NULL OR g.category = ANY($10))
      AND ($11::text[] IS NULL OR g.entry_mode = ANY($11))`;
const storeAndDeviceSql =
  ' AND ($5::uuid IS NULL OR store_id = $5) AND ($6::uuid IS NULL OR device_id = $6)';
/** Each text must use every parameter, so that PostgreSQL can determine its type. */
const noGroupFiltersSql =
  ' AND $7::text IS NULL AND coalesce($8::text[], $9::text[], $10::text[], $11::text[]) IS NULL';

/** Joins the groups only if the result or a filter needs them. */
const groupAndEntitySql = ({ groupFilters }: AggregateFilter, selectsGroups: boolean): string =>
  selectsGroups || hasGroupFilters(groupFilters)
    ? `${storeAndDeviceSql}) c ${joinGroupsSql}`
    : `${storeAndDeviceSql}${noGroupFiltersSql}) c`;

/** A filter by merchant has its own text, because the merchant is a part of the key. */
const fromAggregatesSql = (filter: AggregateFilter, selectsGroups: boolean): string => {
  const merchant = filter.merchantId === undefined ? ' AND $4::uuid IS NULL' : merchantConditionSql;
  return `${aggregatesOfDaysSql}${merchant}${groupAndEntitySql(filter, selectsGroups)}`;
};

const toSqlArray = (words: readonly string[] | undefined) =>
  words === undefined ? null : encodeSimpleArray(words);

const buildValues = (filter: AggregateFilter, level: AggregateLevel): unknown[] => [
  filter.organizationId,
  level,
  encodeSimpleArray(filter.days),
  filter.merchantId ?? null,
  filter.storeId ?? null,
  filter.deviceId ?? null,
  filter.groupFilters.kind ?? null,
  toSqlArray(filter.groupFilters.scheme),
  toSqlArray(filter.groupFilters.currency),
  toSqlArray(filter.groupFilters.responseCategory),
  toSqlArray(filter.groupFilters.entryMode),
];

type FigureSql = (name: (typeof figureColumns)[number]) => string;
const columnFigureSql: FigureSql = (name) => `c.${name}`;

const sumColumnsSql = (figureSql: FigureSql): string =>
  [
    ...paymentOutcomes.map((name) => `sum(${figureSql(name)})::bigint AS ${name}`),
    ...sumNames.map((name) => `sum(${figureSql(name)})::text AS ${name}`),
  ].join(', ');

const countSql = `sum(${paymentOutcomes.map((name) => `c.${name}`).join(' + ')})::bigint`;
const declinedOrFailedSql = 'c.declined + c.failed';

/** The key of lines for groupings with few lines; `nothing` makes one line of all. */
export type LineGrouping = 'nothing' | 'day' | 'scheme' | 'responseCategory';
const lineKeys: Readonly<Record<LineGrouping, string>> = {
  nothing: "''",
  day: 'c.day::text',
  scheme: 'g.scheme',
  responseCategory: 'g.category',
};

const selectSums = (key: string, from: string) =>
  `SELECT ${key} AS key, g.currency, ${sumColumnsSql(columnFigureSql)} ${from} GROUP BY 1, 2`;
const selectReasons = (key: string, from: string) =>
  `SELECT ${key} AS key, g.reason, sum(${declinedOrFailedSql})::bigint AS count ${from}
    WHERE ${declinedOrFailedSql} > 0 GROUP BY 1, 2`;
const selectLatency = (key: string, from: string) =>
  `SELECT ${key} AS key, l.key::int AS bucket, sum(l.value::bigint)::bigint AS count ${from}
    CROSS JOIN LATERAL jsonb_each_text(c.latency) l GROUP BY 1, 2`;

/** The parameters of statements for groupings with few lines. */
export type LineStatementInput = {
  readonly filter: AggregateFilter;
  readonly level: AggregateLevel;
  readonly grouping: LineGrouping;
};

type Select = (key: string, from: string) => string;

const lineStatement =
  (select: Select, selectsGroups: boolean) =>
  ({ filter, level, grouping }: LineStatementInput): Statement => {
    const key = lineKeys[grouping];
    const from = fromAggregatesSql(filter, selectsGroups || key.startsWith('g.'));
    return { text: select(key, from), values: buildValues(filter, level) };
  };

/** Sums by line and currency. */
export const sumsStatement = lineStatement(selectSums, true);
/** Reasons of declined and failed payments by line. */
export const reasonsStatement = lineStatement(selectReasons, true);
/** Counts of payments by line and latency bucket. */
export const latencyStatement = lineStatement(selectLatency, false);

type HourSql = { readonly key: string; readonly join: string; readonly figureSql: FigureSql };
/** At the device level each hour has its own row; at the others a row contains all hours of the day. */
const deviceHourSql: HourSql = { key: 'c.hour::text', join: '', figureSql: columnFigureSql };
const jsonHourSql: HourSql = {
  key: 'h.key',
  join: 'CROSS JOIN LATERAL jsonb_each(c.hours) h',
  figureSql: (name) => `(h.value->>${figureColumns.indexOf(name)})::bigint`,
};
const chooseHourSql = (level: AggregateLevel): HourSql =>
  level === deviceLevel ? deviceHourSql : jsonHourSql;

/** Sums of all days by hour and currency. */
export function hourSumsStatement(filter: AggregateFilter, level: AggregateLevel): Statement {
  const { key, join, figureSql } = chooseHourSql(level);
  const text = `SELECT lpad(${key}, 2, '0') AS key, g.currency, ${sumColumnsSql(figureSql)}
    ${fromAggregatesSql(filter, true)} ${join} GROUP BY 1, 2`;
  return { text, values: buildValues(filter, level) };
}

/** Reasons of declined and failed payments by hour. */
export function hourReasonsStatement(filter: AggregateFilter, level: AggregateLevel): Statement {
  const { key, join, figureSql } = chooseHourSql(level);
  const inHour = `${figureSql('declined')} + ${figureSql('failed')}`;
  const text = `SELECT lpad(${key}, 2, '0') AS key, g.reason, sum(${inHour})::bigint AS count
    ${fromAggregatesSql(filter, true)} ${join} WHERE ${declinedOrFailedSql} > 0
    GROUP BY 1, 2 HAVING sum(${inHour}) > 0`;
  return { text, values: buildValues(filter, level) };
}

export type LineKey = { readonly key: string; readonly count: number };
export type EntityColumn = 'merchant_id' | 'store_id' | 'device_id';

/**
 * A line for a merchant, store or device. The line for payments without one combines several keys,
 * and has `isSpread` set.
 */
export type EntityLine = LineKey & {
  readonly merchantId: string;
  readonly storeId: string;
  readonly isSpread: boolean;
};

/** PostgreSQL before version 18 has no min() for uuid. */
const minUuidSql = (column: string) => `min(${column}::text COLLATE "C")`;

/** Selects the lines of one page, after a given line. */
export function entityKeysStatement(
  filter: AggregateFilter,
  level: AggregateLevel,
  column: EntityColumn,
  { order, after, limit }: { order: 'Key' | 'Count'; after?: LineKey | undefined; limit: number },
): Statement {
  const total = 'sum(p.count)::bigint';
  const afterSql =
    order === 'Key'
      ? 'HAVING $13::bigint IS NULL OR p.key > $12::uuid'
      : `HAVING $13::bigint IS NULL OR ${total} < $13 OR (${total} = $13 AND p.key > $12::uuid)`;
  const orderSql = order === 'Key' ? '1' : '2 DESC, 1';
  // Without the count, an index-only scan is sufficient.
  const countColumnSql = order === 'Key' ? '0' : countSql;
  const store = column === 'merchant_id' ? `'${nilUuid}'::uuid` : 'c.store_id';
  const text = `SELECT p.key, ${total} AS count, ${minUuidSql('p.merchant')} AS "merchantId",
      ${minUuidSql('p.store')} AS "storeId", count(*) > 1 AS "isSpread"
    FROM (SELECT c.${column} AS key, c.merchant_id AS merchant, ${store} AS store, ${countColumnSql} AS count
      ${fromAggregatesSql(filter, false)} GROUP BY 1, 2, 3) p
    GROUP BY 1 ${afterSql} ORDER BY ${orderSql} LIMIT $14`;
  const values = [...buildValues(filter, level), after?.key ?? null, after?.count ?? null, limit];
  return { text, values };
}

/** Some lines of merchants, stores or devices. */
export type EntityStatementInput = {
  readonly filter: AggregateFilter;
  readonly level: AggregateLevel;
  readonly column: EntityColumn;
  readonly lines: readonly EntityLine[];
};

/**
 * Selects the cells of some lines by their keys; for a line with `isSpread`, it reads all cells.
 */
function fromEntityAggregatesSql(
  { filter, column, lines }: EntityStatementInput,
  selectsGroups: boolean,
): string {
  const [first] = lines;
  const storeSql = column === 'device_id' ? ' AND store_id = w.store_id' : '';
  // A repeated condition on the merchant would make the planner expect too few rows.
  const isKnown = first?.isSpread !== true && column !== 'merchant_id';
  const keySql = isKnown ? ` AND merchant_id = w.merchant_id${storeSql}` : '';
  return `FROM unnest($3::date[]) AS d(day)
    CROSS JOIN unnest($12::uuid[], $13::uuid[], $14::uuid[]) AS w(key, merchant_id, store_id)
    CROSS JOIN LATERAL (SELECT * FROM report_cells WHERE organization_id = $1 AND level = $2
      AND day = d.day${keySql} AND ${column} = w.key AND ($4::uuid IS NULL OR merchant_id = $4)
      ${groupAndEntitySql(filter, selectsGroups)}`;
}

const entityStatement =
  (select: Select, selectsGroups: boolean) =>
  (input: EntityStatementInput): Statement => {
    const lineValues = (name: 'key' | 'merchantId' | 'storeId') =>
      encodeSimpleArray(input.lines.map((line) => line[name]));
    const lineArrays = [lineValues('key'), lineValues('merchantId'), lineValues('storeId')];
    return {
      text: select('w.key::text', fromEntityAggregatesSql(input, selectsGroups)),
      values: [...buildValues(input.filter, input.level), ...lineArrays],
    };
  };

/** The same statements as for groupings with few lines, by merchant, store or device. */
export const entitySumsStatement = entityStatement(selectSums, true);
export const entityReasonsStatement = entityStatement(selectReasons, true);
export const entityLatencyStatement = entityStatement(selectLatency, false);

export const asOfText = `SELECT p.as_of AS "asOf", p.stage = 'Following' AND p.written_as_of = p.as_of
    AND p.position >= h.position AS "isNow"
  FROM report_positions p JOIN feed_heads h ON h.organization_id = p.organization_id
  WHERE p.organization_id = $1`;
