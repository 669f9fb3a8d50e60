// Makes a summary: which lines, their figures, and all of them together.
import type { Summary, SummaryLine } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import type { KnownGroup } from '../projection/dictionary.ts';
import { addLatency, type Latency } from '../projection/latency.ts';
import type { RunQuery } from '../run.ts';
import { nil } from '../run.ts';
import { hasWords, type Words } from '../search/filters.ts';
import { figuresOf, type Parts, regrouped } from './figures.ts';
import type { Groups } from './groups.ts';
import { levelOf, type SummaryRequest } from './request.ts';
import {
  asOfText,
  type CellFilter,
  hoursStatement,
  keysStatement,
  type LineKey,
  latencyStatement,
  ownerText,
  type PlaceLine,
  placeLatencyStatement,
  placeSumsStatement,
  type Statement,
  sumsStatement,
} from './statements.ts';

type SumsRow = {
  key: string;
  groupId: number;
  approved: number;
  declined: number;
  failed: number;
  other: number;
  authorized: string;
  captured: string;
  refunded: string;
  cancelled: string;
  reversed: string;
};

type LatencyRow = { key: string; bucket: number; count: number };

export type SummaryPage = { readonly limit: number; readonly after: LineKey | undefined };
export type Summarized = Omit<Summary, 'nextCursor'> & { readonly next: LineKey | undefined };

type KnownGroups = ReadonlyMap<number, KnownGroup>;

const rowsOf = <Of extends object>(run: RunQuery, { text, values }: Statement) =>
  run<Of>(text, values);

const isIn = (words: readonly string[] | undefined, word: string) =>
  words === undefined || words.includes(word);

const matches = (words: Words, of: KnownGroup): boolean =>
  (words.kind === undefined || words.kind === of.kind) &&
  isIn(words.scheme, of.scheme) &&
  isIn(words.currency, of.currency) &&
  isIn(words.responseCategory, of.category) &&
  isIn(words.entryMode, of.entryMode);

function partsOf(groups: KnownGroups, rows: readonly SumsRow[]): Map<string, Parts> {
  const parts = new Map<string, Parts>();
  for (const row of rows) {
    const of = groups.get(row.groupId);
    if (of === undefined) continue;
    const line: Parts = parts.get(row.key) ?? { sums: [], latency: new Map() };
    parts.set(row.key, line);
    const { approved, declined, failed, other } = row;
    line.sums.push({
      of,
      figures: {
        ...{ approved, declined, failed, other },
        authorized: BigInt(row.authorized),
        captured: BigInt(row.captured),
        refunded: BigInt(row.refunded),
        cancelled: BigInt(row.cancelled),
        reversed: BigInt(row.reversed),
      },
    });
  }
  return parts;
}

function addTimes(parts: ReadonlyMap<string, Parts>, rows: readonly LatencyRow[]): void {
  for (const { key, bucket, count } of rows) {
    const line = parts.get(key);
    if (line !== undefined) addLatency(line.latency, [[bucket, count]]);
  }
}

function timesByGroup(rows: readonly LatencyRow[]): Map<number, Latency> {
  const times = new Map<number, Latency>();
  for (const { key, bucket, count } of rows) {
    const latency: Latency = times.get(Number(key)) ?? new Map();
    times.set(Number(key), latency);
    addLatency(latency, [[bucket, count]]);
  }
  return times;
}

/** All lines as one. */
function together(parts: Iterable<Parts>): Parts {
  const whole: Parts = { sums: [], latency: new Map() };
  for (const { sums, latency } of parts) {
    whole.sums.push(...sums);
    addLatency(whole.latency, latency);
  }
  return whole;
}

const columns = { merchant: 'merchant_id', store: 'store_id', device: 'device_id' } as const;
const noParts = (): Parts => ({ sums: [], latency: new Map() });

type Lines = { readonly lines: [string, Parts][]; readonly next: LineKey | undefined };

/** The lines of one page of merchants, stores or devices, out of as many as there are. */
async function placeLines(
  run: RunQuery,
  of: {
    filter: CellFilter;
    groupBy: keyof typeof columns;
    groups: KnownGroups;
    order: 'Key' | 'Count';
  },
  { limit, after }: SummaryPage,
): Promise<Lines> {
  const { filter, groupBy, groups, order } = of;
  const column = columns[groupBy];
  const isFine = groupBy !== 'merchant' || filter.level === 2;
  const fine: CellFilter = { ...filter, level: isFine ? 2 : 1 };
  // Which places there are is told by fewer cells, where all groups of them are wanted.
  const coarse: CellFilter = filter.groupIds === undefined ? { ...filter, level: 3 } : fine;
  const wanted = keysStatement(coarse, column, { order, after, limit: limit + 1 });
  const found = await rowsOf<PlaceLine>(run, wanted);
  const shown = found.slice(0, limit);
  const parts = new Map<string, Parts>();
  for (const isSpread of [false, true]) {
    const lines = shown.filter((line) => line.isSpread === isSpread);
    if (lines.length === 0) continue;
    const sums = placeSumsStatement(fine, column, lines);
    for (const [key, part] of partsOf(groups, await rowsOf<SumsRow>(run, sums)))
      parts.set(key, part);
    addTimes(parts, await rowsOf<LatencyRow>(run, placeLatencyStatement(fine, column, lines)));
  }
  const lines = shown.map(({ key }): [string, Parts] => [key, parts.get(key) ?? noParts()]);
  return { lines, next: found.length > limit ? shown.at(-1) : undefined };
}

/** Of lines that are few: sorted and cut here. */
function cutLines(
  all: ReadonlyMap<string, Parts>,
  order: 'Key' | 'Count',
  { limit, after }: SummaryPage,
): Lines {
  const counted = [...all].map(([key, parts]) => ({
    ...{ key, parts },
    count: figuresOf({ ...parts, latency: new Map() }).count,
  }));
  const isBehind = (line: LineKey, mark: LineKey) =>
    order === 'Key'
      ? line.key > mark.key
      : line.count < mark.count || (line.count === mark.count && line.key > mark.key);
  const sorted = counted
    .filter((line) => after === undefined || isBehind(line, after))
    .sort((one, other) => (isBehind(one, other) ? 1 : -1));
  const shown = sorted.slice(0, limit);
  return {
    lines: shown.map(({ key, parts }): [string, Parts] => [key, parts]),
    next: sorted.length > limit ? shown.at(-1) : undefined,
  };
}

function keyMembers(groupBy: SummaryRequest['groupBy'], key: string): Partial<SummaryLine> {
  const orNull = key === nil || key === '' ? null : key;
  switch (groupBy) {
    case 'day':
      return { day: key };
    case 'hour':
      return { hour: Number(key) };
    case 'merchant':
      return { merchantId: key };
    case 'store':
      return { storeId: orNull };
    case 'device':
      return { deviceId: orNull };
    case 'scheme':
      return { scheme: key };
    case 'responseCategory':
      return { responseCategory: orNull as NonNullable<SummaryLine['responseCategory']> | null };
  }
}

/** A store or a device is found below its merchant. */
async function merchantOf(run: RunQuery, request: SummaryRequest): Promise<string | undefined> {
  const { organizationId, merchantId, storeId, deviceId } = request;
  const named = deviceId ?? storeId;
  if (merchantId !== undefined || named === undefined) return merchantId;
  const column = deviceId === undefined ? 'store_id' : 'device_id';
  const [owner] = await run<{ merchantId: string }>(ownerText(column), [organizationId, named]);
  return owner?.merchantId ?? nil;
}

async function asOf(run: RunQuery, organizationId: string, now: number): Promise<string> {
  type Row = { asOf: Date; isNow: boolean };
  const [row] = await run<Row>(asOfText, [organizationId]);
  return isoTime(row === undefined || row.isNow ? now : row.asOf.getTime());
}

const idsOf = (groups: KnownGroups, words: Words): number[] =>
  [...groups.values()].filter((each) => matches(words, each)).map(({ groupId }) => groupId);

/** What is left out of the hours and days of a place is told by the cells of its level. */
async function filterOf(
  run: RunQuery,
  request: SummaryRequest,
  groups: KnownGroups,
): Promise<CellFilter> {
  const { organizationId, days, words, storeId, deviceId } = request;
  const merchantId = await merchantOf(run, request);
  return {
    ...{ organizationId, days, merchantId, storeId, deviceId },
    level: levelOf({ merchantId, storeId, deviceId }),
    groupIds: hasWords(words) ? idsOf(groups, words) : undefined,
  };
}

type Task = { run: RunQuery; request: SummaryRequest; filter: CellFilter; groups: KnownGroups };

/** Lines that are few, and everything together, which is made of them where it can be. */
async function allLines({
  run,
  request,
  filter,
  groups,
}: Task): Promise<[Map<string, Parts>, Parts]> {
  const { groupBy } = request;
  const isByDay = groupBy === 'day';
  const sums = partsOf(
    groups,
    await rowsOf<SumsRow>(run, sumsStatement(filter, isByDay ? 'day' : undefined)),
  );
  const isByGroup = groupBy === 'scheme' || groupBy === 'responseCategory';
  const by = isByDay ? 'day' : isByGroup ? 'group' : 'nothing';
  const times = await rowsOf<LatencyRow>(run, latencyStatement(filter, by));
  if (isByDay) {
    addTimes(sums, times);
    return [sums, together(sums.values())];
  }
  const whole = sums.get('') ?? noParts();
  if (!isByGroup) {
    addTimes(new Map([['', whole]]), times);
    return [new Map(), whole];
  }
  const byGroup = timesByGroup(times);
  for (const latency of byGroup.values()) addLatency(whole.latency, latency);
  const nameOf = (of: KnownGroup) => (groupBy === 'scheme' ? of.scheme : of.category);
  return [regrouped(whole, byGroup, nameOf), whole];
}

/** @example const summary = await summarize({ run, groups }, requestOf(scope, query), { limit: 50, after: undefined }, now); */
export async function summarize(
  { run, groups: remembered }: { run: RunQuery; groups: Groups },
  request: SummaryRequest,
  page: SummaryPage,
  now: number,
): Promise<Summarized> {
  const { organizationId, days, groupBy, order } = request;
  const at = await asOf(run, organizationId, now);
  const groups = await remembered.of(run, organizationId);
  const filter = await filterOf(run, request, groups);
  const [few, total] = await allLines({ run, request, filter, groups });
  const linesOf = async (): Promise<Lines> => {
    if (groupBy === 'merchant' || groupBy === 'store' || groupBy === 'device') {
      return placeLines(run, { filter, groupBy, groups, order }, page);
    }
    if (groupBy !== 'hour') return cutLines(few, order, page);
    const hours = await rowsOf<SumsRow>(run, hoursStatement(filter));
    const padded = hours.map((row) => ({ ...row, key: row.key.padStart(2, '0') }));
    return cutLines(partsOf(groups, padded), order, page);
  };
  const { lines, next } = await linesOf();
  return {
    ...{ from: days[0] ?? '', to: days.at(-1) ?? '', groupBy },
    total: figuresOf(total),
    items: lines.map(([key, parts]) => ({ ...keyMembers(groupBy, key), ...figuresOf(parts) })),
    asOf: at,
    next: next === undefined ? undefined : { key: next.key, count: next.count },
  };
}
