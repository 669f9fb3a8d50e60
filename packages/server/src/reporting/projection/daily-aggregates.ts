// Computes the daily sums of reports: cells that grow with each entry, and their stored form.
import { nilUuid } from '../../platform/index.ts';
import { addLatency, findLatencyBucket, type LatencyHistogram } from './latency-histogram.ts';
import {
  type PaymentLine,
  type PaymentOutcome,
  type SumEntry,
  type SumName,
  sumNames,
} from './reported-payment-types.ts';
import type { LocalTime } from './store-local-time.ts';

/**
 * Level 0 is the organisation, 1 a merchant and 2 a device, each divided by all group attributes.
 * Levels 5, 4 and 3 are the same, divided only by currency: few cells, so a summary of everything
 * is fast. Level 3 contains only sums. At level 2 each hour is a cell.
 */
const aggregateLevels = [0, 1, 2, 3, 4, 5] as const;
export type AggregateLevel = (typeof aggregateLevels)[number];

export const deviceLevel = 2;

export const paymentOutcomes = [
  'approved',
  'declined',
  'failed',
  'other',
] as const satisfies PaymentOutcome[];
/** The order of the figures in a stored hour. */
export const figureColumns = [...paymentOutcomes, ...sumNames] as const;

export type Figures = Record<PaymentOutcome, number> & Record<SumName, bigint>;

export type AggregateKey = {
  readonly level: AggregateLevel;
  readonly day: string;
  readonly merchantId: string;
  readonly storeId: string;
  readonly deviceId: string;
  readonly groupId: number;
  /** The hour of the day at level 2, otherwise `wholeDay`. */
  readonly hour: number;
};

const wholeDay = -1;

export type DailyAggregate = AggregateKey & {
  readonly figures: Figures;
  readonly hours: Map<number, Figures>;
  readonly latency: LatencyHistogram;
  /** For a cell of level 2: the cells of all levels that get its entries; empty at other levels. */
  readonly aggregatesOfAllLevels: DailyAggregate[];
};

/** The database returns amounts as text, because they may exceed the range of a number. */
export type FiguresRow = Record<PaymentOutcome, number> & Record<SumName, string>;

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

export const zeroFigures = (): Figures => ({
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

const emptyAggregate = (key: AggregateKey): DailyAggregate => ({
  ...key,
  figures: zeroFigures(),
  hours: new Map(),
  latency: new Map(),
  aggregatesOfAllLevels: [],
});

export function addFigures(to: Figures, from: Figures): void {
  for (const name of paymentOutcomes) to[name] += from[name];
  for (const name of sumNames) to[name] += from[name];
}

function getHourFigures({ hours }: DailyAggregate, hour: number): Figures {
  const existing = hours.get(hour);
  if (existing !== undefined) return existing;
  const created = zeroFigures();
  hours.set(hour, created);
  return created;
}

type PaymentEntities = Pick<PaymentLine, 'merchantId' | 'storeId' | 'deviceId'>;

function buildKey(
  level: AggregateLevel,
  { day, hour }: LocalTime,
  entities: PaymentEntities,
  groupId: number,
): AggregateKey {
  const hasDevice = level === deviceLevel || level === 3;
  const merchantId = level === 0 || level === 5 ? nilUuid : entities.merchantId;
  const storeId = hasDevice ? (entities.storeId ?? nilUuid) : nilUuid;
  const deviceId = hasDevice ? (entities.deviceId ?? nilUuid) : nilUuid;
  return {
    level,
    day,
    merchantId,
    storeId,
    deviceId,
    groupId,
    hour: level === deviceLevel ? hour : wholeDay,
  };
}

export const aggregateKeyText = (key: AggregateKey): string =>
  `${key.level}|${key.day}|${key.merchantId}|${key.storeId}|${key.deviceId}|${key.groupId}|${key.hour}`;

export type DailyAggregates = Map<string, DailyAggregate>;

export type PaymentGroupIds = { readonly groupId: number; readonly currencyGroupId: number };

type SumChanges = readonly (readonly [SumName, bigint])[];

function addToFigures(figures: Figures, { outcome: ending }: SumEntry, sums: SumChanges): void {
  if (ending !== undefined) figures[ending] += 1;
  for (const [name, sum] of sums) figures[name] += sum;
}

function getAggregate(aggregates: DailyAggregates, key: AggregateKey): DailyAggregate {
  const text = aggregateKeyText(key);
  const existing = aggregates.get(text);
  if (existing !== undefined) return existing;
  const created = emptyAggregate(key);
  aggregates.set(text, created);
  return created;
}

/**
 * One cell of each level. They are cached in the device's cell, because building the keys is slow.
 */
function getAggregatesOfAllLevels(
  aggregates: DailyAggregates,
  time: LocalTime,
  entities: PaymentEntities,
  groupIds: PaymentGroupIds,
): readonly DailyAggregate[] {
  const getAtLevel = (level: AggregateLevel) =>
    getAggregate(
      aggregates,
      buildKey(level, time, entities, level >= 3 ? groupIds.currencyGroupId : groupIds.groupId),
    );
  const { aggregatesOfAllLevels } = getAtLevel(deviceLevel);
  if (aggregatesOfAllLevels.length === 0)
    aggregatesOfAllLevels.push(...aggregateLevels.map(getAtLevel));
  return aggregatesOfAllLevels;
}

/** Adds an entry of a payment to its cells, one of each level. */
export function addSumEntry(
  aggregates: DailyAggregates,
  entry: SumEntry,
  entities: PaymentEntities,
  groupIds: PaymentGroupIds,
): void {
  const sums: SumChanges = sumNames.flatMap((name) => {
    const sum = entry.sums[name] ?? 0;
    return sum === 0 ? [] : [[name, BigInt(sum)]];
  });
  const bucket = entry.latencyMs === undefined ? undefined : findLatencyBucket(entry.latencyMs);
  for (const aggregate of getAggregatesOfAllLevels(aggregates, entry, entities, groupIds)) {
    addToFigures(aggregate.figures, entry, sums);
    if (aggregate.level === 3) continue;
    if (aggregate.level !== deviceLevel)
      addToFigures(getHourFigures(aggregate, entry.hour), entry, sums);
    if (bucket !== undefined) addLatency(aggregate.latency, [[bucket, 1]]);
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
      const figures: Figures = { ...zeroFigures(), approved, declined, failed, other };
      for (const [index, name] of sumNames.entries()) figures[name] = BigInt(sums[index] ?? 0);
      return [Number(hour), figures];
    }),
  );
}

export const writeLatency = (latency: LatencyHistogram): LatencyJson => Object.fromEntries(latency);

export const parseLatencyHistogram = (json: LatencyJson): LatencyHistogram =>
  new Map(Object.entries(json).map(([bucket, count]) => [Number(bucket), count]));
