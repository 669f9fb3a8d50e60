// SQL for the daily sums: the database adds new values to stored ones.
import {
  encodeLines,
  encodeSimpleArray,
  type PreparedStatement,
  type Queries,
} from '../../platform/index.ts';
import {
  type AggregateKey,
  type DailyAggregate,
  type FiguresRow,
  figureColumns,
  type HoursJson,
  type LatencyJson,
  parseLatencyHistogram,
  paymentOutcomes,
  readHours,
  toFigures,
  writeHours,
  writeLatency,
} from './daily-aggregates.ts';
import { sumNames } from './reported-payment-types.ts';

const keyColumns = [
  ['level', 'integer'],
  ['day', 'date'],
  ['merchantId', 'uuid'],
  ['storeId', 'uuid'],
  ['deviceId', 'uuid'],
  ['groupId', 'integer'],
  ['hour', 'smallint'],
] as const satisfies readonly (readonly [keyof AggregateKey, string])[];
const firstFigureParameter = keyColumns.length + 2;
const hoursParameter = firstFigureParameter + figureColumns.length;

/** Amounts are stored as text; see `writeHours`. */
const addedHourSql = figureColumns.map((_, i) => {
  const sum = `(e.value ->> ${i})::bigint + coalesce((o.hour ->> ${i})::bigint, 0)`;
  return i < paymentOutcomes.length ? sum : `(${sum})::text`;
});

export const addAggregatesSql: PreparedStatement = {
  name: 'report-cells',
  text: `INSERT INTO report_cells AS c (organization_id, level, day, merchant_id, store_id, device_id, group_id, hour,
    ${figureColumns.join(', ')}, hours, latency)
  SELECT $1, r."level", r."day", r."merchantId", r."storeId", r."deviceId", r."groupId", r.hour,
    ${figureColumns.map((name) => `r.${name}`).join(', ')}, r.hours::jsonb, r.latency::jsonb
  FROM unnest(${keyColumns.map(([, type], i) => `$${i + 2}::${type}[]`).join(', ')},
    ${figureColumns.map((_, i) => `$${firstFigureParameter + i}::bigint[]`).join(', ')},
    string_to_array($${hoursParameter}, E'\\n'), string_to_array($${hoursParameter + 1}, E'\\n'))
    AS r(${keyColumns.map(([name]) => `"${name}"`).join(', ')}, ${figureColumns.join(', ')}, hours, latency)
  ON CONFLICT (organization_id, level, day, merchant_id, store_id, device_id, group_id, hour) DO UPDATE SET
    ${figureColumns.map((name) => `${name} = c.${name} + excluded.${name}`).join(', ')},
    hours = CASE WHEN excluded.hours = '{}' THEN c.hours ELSE c.hours || (
      SELECT jsonb_object_agg(e.key, jsonb_build_array(${addedHourSql.join(', ')}))
      FROM jsonb_each(excluded.hours) e
      CROSS JOIN LATERAL (SELECT c.hours -> e.key AS hour OFFSET 0) o) END,
    latency = CASE WHEN excluded.latency = '{}' THEN c.latency ELSE c.latency || (
      SELECT jsonb_object_agg(e.key, e.value::bigint + coalesce((c.latency ->> e.key)::bigint, 0))
      FROM jsonb_each_text(excluded.latency) e) END`,
};

/** `cells` contains each key only once. */
export async function addAggregates(
  queries: Queries,
  organizationId: string,
  aggregates: readonly DailyAggregate[],
): Promise<void> {
  await queries.query(addAggregatesSql, [
    organizationId,
    ...keyColumns.map(([name]) =>
      encodeSimpleArray(aggregates.map((aggregate) => aggregate[name])),
    ),
    ...figureColumns.map((name) =>
      encodeSimpleArray(aggregates.map((aggregate) => String(aggregate.figures[name]))),
    ),
    encodeLines(aggregates.map(({ hours }) => JSON.stringify(writeHours(hours)))),
    encodeLines(aggregates.map(({ latency }) => JSON.stringify(writeLatency(latency)))),
  ]);
}

const selectAggregatesSql = `SELECT level, day::text, merchant_id AS "merchantId", store_id AS "storeId",
    device_id AS "deviceId", group_id AS "groupId", hour, ${paymentOutcomes.join(', ')},
    ${sumNames.map((name) => `${name}::text`).join(', ')}, hours, latency
  FROM report_cells WHERE organization_id = $1`;

type AggregateRow = AggregateKey & FiguresRow & { hours: HoursJson; latency: LatencyJson };

export type StoredAggregate = Omit<DailyAggregate, 'aggregatesOfAllLevels'>;

/** Reads all cells of an organisation. */
export async function readAggregates(
  queries: Queries,
  organizationId: string,
): Promise<StoredAggregate[]> {
  const rows = await queries.query<AggregateRow>(selectAggregatesSql, [organizationId]);
  return rows.map((row) => ({
    ...row,
    figures: toFigures(row),
    hours: readHours(row.hours),
    latency: parseLatencyHistogram(row.latency),
  }));
}
