// Computes the daily sums of reports: cells that grow with each entry, and their stored form.
import { nil } from '../infrastructure/run-query.ts';
import { addLatency, bucketOf, type Latency } from './latency-histogram.ts';
import {
  type Ending,
  type Entry,
  type PaymentLine,
  type SumName,
  sumNames,
} from './reported-payment-types.ts';

/**
 * Level 0 is the organisation, 1 a merchant and 2 a device, each divided by all group attributes.
 * Levels 5, 4 and 3 are the same, divided only by currency: few cells, so a summary of everything
 * is fast. Level 3 contains only sums.
 */
const levels = [0, 1, 2, 3, 4, 5] as const;
export type Level = (typeof levels)[number];

export const endings = ['approved', 'declined', 'failed', 'other'] as const satisfies Ending[];

export type Figures = Record<Ending, number> & Record<SumName, bigint>;

export type CellKey = {
  readonly level: Level;
  readonly day: string;
  readonly merchantId: string;
  readonly storeId: string;
  readonly deviceId: string;
  readonly groupId: number;
};

export type Cell = CellKey & {
  readonly figures: Figures;
  readonly hours: Map<number, Figures>;
  readonly latency: Latency;
  /** For a cell of level 2: the cells of all levels that get its entries; empty at other levels. */
  readonly together: Cell[];
};

/** The database returns amounts as text, because they may exceed the range of a number. */
export type FiguresRow = Record<Ending, number> & Record<SumName, string>;

export const toFigures = (row: FiguresRow): Figures => ({
  approved: row.approved,
  declined: row.declined,
  failed: row.failed,
  other: row.other,
  authorized: BigInt(row.authorized),
  captured: BigInt(row.captured),
  refunded: BigInt(row.refunded),
  cancelled: BigInt(row.cancelled),
  reversed: BigInt(row.reversed),
});

export const noFigures = (): Figures => ({
  approved: 0,
  declined: 0,
  failed: 0,
  other: 0,
  authorized: 0n,
  captured: 0n,
  refunded: 0n,
  cancelled: 0n,
  reversed: 0n,
});

const emptyCell = (key: CellKey): Cell => ({
  ...key,
  figures: noFigures(),
  hours: new Map(),
  latency: new Map(),
  together: [],
});

export function addFigures(to: Figures, from: Figures): void {
  for (const name of endings) to[name] += from[name];
  for (const name of sumNames) to[name] += from[name];
}

function hourOf({ hours }: Cell, hour: number): Figures {
  const known = hours.get(hour);
  if (known !== undefined) return known;
  const made = noFigures();
  hours.set(hour, made);
  return made;
}

type Place = Pick<PaymentLine, 'merchantId' | 'storeId' | 'deviceId'>;

function keyAt(level: Level, day: string, place: Place, groupId: number): CellKey {
  const isOfDevice = level === 2 || level === 3;
  const merchantId = level === 0 || level === 5 ? nil : place.merchantId;
  const storeId = isOfDevice ? (place.storeId ?? nil) : nil;
  const deviceId = isOfDevice ? (place.deviceId ?? nil) : nil;
  return { level, day, merchantId, storeId, deviceId, groupId };
}

export const textOfKey = (key: CellKey): string =>
  `${key.level}|${key.day}|${key.merchantId}|${key.storeId}|${key.deviceId}|${key.groupId}`;

export type Cells = Map<string, Cell>;

export type GroupIds = { readonly groupId: number; readonly currencyGroupId: number };

type AddedSums = readonly (readonly [SumName, bigint])[];

function addTo(figures: Figures, { ending }: Entry, sums: AddedSums): void {
  if (ending !== undefined) figures[ending] += 1;
  for (const [name, sum] of sums) figures[name] += sum;
}

function cellAt(cells: Cells, key: CellKey): Cell {
  const text = textOfKey(key);
  const known = cells.get(text);
  if (known !== undefined) return known;
  const made = emptyCell(key);
  cells.set(text, made);
  return made;
}

/**
 * One cell of each level. They are cached in the device's cell, because building the keys is slow.
 */
function cellsOf(cells: Cells, day: string, place: Place, of: GroupIds): readonly Cell[] {
  const at = (level: Level) =>
    cellAt(cells, keyAt(level, day, place, level >= 3 ? of.currencyGroupId : of.groupId));
  const { together } = at(2);
  if (together.length === 0) together.push(...levels.map(at));
  return together;
}

/** Adds an entry of a payment to its cells, one of each level. */
export function addEntry(cells: Cells, entry: Entry, place: Place, of: GroupIds): void {
  const sums: AddedSums = sumNames.flatMap((name) => {
    const sum = entry.sums[name] ?? 0;
    return sum === 0 ? [] : [[name, BigInt(sum)]];
  });
  const bucket = entry.latencyMs === undefined ? undefined : bucketOf(entry.latencyMs);
  for (const cell of cellsOf(cells, entry.day, place, of)) {
    addTo(cell.figures, entry, sums);
    if (cell.level === 3) continue;
    addTo(hourOf(cell, entry.hour), entry, sums);
    if (bucket !== undefined) addLatency(cell.latency, [[bucket, 1]]);
  }
}

/** The stored form: short, with amounts as text, because they may exceed the range of a number. */
type HourJson = readonly [number, number, number, number, ...string[]];
export type HoursJson = Readonly<Record<string, HourJson>>;
export type LatencyJson = Readonly<Record<string, number>>;

export function writeHours(hours: ReadonlyMap<number, Figures>): HoursJson {
  return Object.fromEntries(
    [...hours].map(([hour, figures]): [string, HourJson] => {
      const { approved, declined, failed, other } = figures;
      const sums = sumNames.map((name) => String(figures[name]));
      return [String(hour), [approved, declined, failed, other, ...sums]];
    }),
  );
}

export function readHours(json: HoursJson): Map<number, Figures> {
  return new Map(
    Object.entries(json).map(([hour, [approved, declined, failed, other, ...sums]]) => {
      const figures: Figures = { ...noFigures(), approved, declined, failed, other };
      for (const [place, name] of sumNames.entries()) figures[name] = BigInt(sums[place] ?? 0);
      return [Number(hour), figures];
    }),
  );
}

export const writeLatency = (latency: Latency): LatencyJson => Object.fromEntries(latency);

export const readLatency = (json: LatencyJson): Latency =>
  new Map(Object.entries(json).map(([bucket, count]) => [Number(bucket), count]));
