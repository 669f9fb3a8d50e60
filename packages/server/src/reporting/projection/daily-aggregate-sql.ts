// SQL for the daily sums: the database adds new values to stored ones.
import { encodeLines, encodeSimpleArray, withStatementName } from '../../platform/index.ts';
import type { RunQuery } from '../infrastructure/run-query.ts';
import {
  type Cell,
  type CellKey,
  endings,
  type FiguresRow,
  type HoursJson,
  type LatencyJson,
  readHours,
  readLatency,
  toFigures,
  writeHours,
  writeLatency,
} from './daily-aggregates.ts';
import { sumNames } from './reported-payment-types.ts';

const key = [
  ['level', 'integer'],
  ['day', 'date'],
  ['merchantId', 'uuid'],
  ['storeId', 'uuid'],
  ['deviceId', 'uuid'],
  ['groupId', 'integer'],
] as const satisfies readonly (readonly [keyof CellKey, string])[];
const figures = [...endings, ...sumNames];
const firstFigure = key.length + 2;
const hoursAt = firstFigure + figures.length;

/** Amounts are stored as text; see `writeHours`. */
const addedHour = figures.map((_, i) => {
  const sum = `(e.value ->> ${i})::bigint + coalesce((o.hour ->> ${i})::bigint, 0)`;
  return i < endings.length ? sum : `(${sum})::text`;
});

export const addCellsText = withStatementName(
  'report-cells',
  `INSERT INTO report_cells AS c (organization_id, level, day, merchant_id, store_id, device_id, group_id,
    ${figures.join(', ')}, hours, latency)
  SELECT $1, r."level", r."day", r."merchantId", r."storeId", r."deviceId", r."groupId",
    ${figures.map((name) => `r.${name}`).join(', ')}, r.hours::jsonb, r.latency::jsonb
  FROM unnest(${key.map(([, type], i) => `$${i + 2}::${type}[]`).join(', ')},
    ${figures.map((_, i) => `$${firstFigure + i}::bigint[]`).join(', ')},
    string_to_array($${hoursAt}, E'\\n'), string_to_array($${hoursAt + 1}, E'\\n'))
    AS r(${key.map(([name]) => `"${name}"`).join(', ')}, ${figures.join(', ')}, hours, latency)
  ON CONFLICT (organization_id, level, day, merchant_id, store_id, device_id, group_id) DO UPDATE SET
    ${figures.map((name) => `${name} = c.${name} + excluded.${name}`).join(', ')},
    hours = coalesce(c.hours || (
      SELECT jsonb_object_agg(e.key, jsonb_build_array(${addedHour.join(', ')}))
      FROM jsonb_each(excluded.hours) e
      CROSS JOIN LATERAL (SELECT c.hours -> e.key AS hour OFFSET 0) o), c.hours),
    latency = coalesce(c.latency || (
      SELECT jsonb_object_agg(e.key, e.value::bigint + coalesce((c.latency ->> e.key)::bigint, 0))
      FROM jsonb_each_text(excluded.latency) e), c.latency)`,
);

/** `cells` contains each key only once. */
export async function addCells(
  run: RunQuery,
  organizationId: string,
  cells: readonly Cell[],
): Promise<void> {
  await run(addCellsText, [
    organizationId,
    ...key.map(([name]) => encodeSimpleArray(cells.map((cell) => cell[name]))),
    ...figures.map((name) => encodeSimpleArray(cells.map((cell) => String(cell.figures[name])))),
    encodeLines(cells.map(({ hours }) => JSON.stringify(writeHours(hours)))),
    encodeLines(cells.map(({ latency }) => JSON.stringify(writeLatency(latency)))),
  ]);
}

type CellRow = FiguresRow & { hours: HoursJson; latency: LatencyJson };

export type StoredCell = Omit<Cell, keyof CellKey | 'together'>;

export function toCell(row: CellRow): StoredCell {
  return {
    figures: toFigures(row),
    hours: readHours(row.hours),
    latency: readLatency(row.latency),
  };
}
