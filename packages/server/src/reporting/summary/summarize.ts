// Makes a summary: which lines, their figures, and all of them together.
import type { Summary, SummaryLine } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import { type KnownGroup, readGroups } from '../projection/dictionary.ts';
import { addLatency, type Latency } from '../projection/latency.ts';
import type { RunQuery } from '../run.ts';
import { nil } from '../run.ts';
import { hasWords, type Words } from '../search/filters.ts';
import { figuresOf, type Parts, regrouped } from './figures.ts';
import { levelOf, type SummaryRequest } from './request.ts';
import {
  asOfText,
  type CellFilter,
  hoursStatement,
  type KeyColumn,
  keysStatement,
  type LineKey,
  latencyStatement,
  ownerText,
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

type LatencyRow = { key: string; groupId: number; bucket: number; count: number };

export type SummaryPage = { readonly limit: number; readonly after: LineKey | undefined };
export type Summarized = Omit<Summary, 'nextCursor'> & { readonly next: LineKey | undefined };

type Groups = ReadonlyMap<number, KnownGroup>;

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

function partsOf(groups: Groups, rows: readonly SumsRow[]): Map<string, Parts> {
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
  for (const { groupId, bucket, count } of rows) {
    const latency = times.get(groupId) ?? new Map();
    times.set(groupId, latency);
    addLatency(latency, [[bucket, count]]);
  }
  return times;
}

const columns = { merchant: 'merchant_id', store: 'store_id', device: 'device_id' } as const;

/** The lines of one page of merchants, stores or devices, out of as many as there are. */
async function placeLines(
  run: RunQuery,
  of: { filter: CellFilter; column: KeyColumn; groups: Groups; order: 'Key' | 'Count' },
  page: SummaryPage,
) {
  const { filter, column, groups, order } = of;
  const { limit, after } = page;
  const wanted = keysStatement(filter, column, { order, after, limit: limit + 1 });
  const found = await rowsOf<LineKey>(run, wanted);
  const shown = found.slice(0, limit);
  const keys = shown.map(({ key }) => key);
  if (keys.length === 0) return { lines: [], next: undefined };
  const parts = partsOf(groups, await rowsOf<SumsRow>(run, sumsStatement(filter, column, keys)));
  addTimes(parts, await rowsOf<LatencyRow>(run, latencyStatement(filter, column, keys)));
  const lines = keys.map((key): [string, Parts] => [
    key,
    parts.get(key) ?? { sums: [], latency: new Map() },
  ]);
  return { lines, next: found.length > limit ? shown.at(-1) : undefined };
}

/** Of lines that are few: sorted and cut here. */
function cutLines(
  all: ReadonlyMap<string, Parts>,
  order: 'Key' | 'Count',
  { limit, after }: SummaryPage,
) {
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

/** @example const summary = await summarize(run, requestOf(scope, query), { limit: 50, after: undefined }, now); */
export async function summarize(
  run: RunQuery,
  request: SummaryRequest,
  page: SummaryPage,
  now: number,
): Promise<Summarized> {
  const { organizationId, words, days, groupBy, order } = request;
  const at = await asOf(run, organizationId, now);
  const all = await readGroups(run, organizationId);
  const groups: Groups = new Map(all.map((each) => [each.groupId, each]));
  const wanted = all.filter((each) => matches(words, each));
  const places = { ...request, merchantId: await merchantOf(run, request) };
  const filter: CellFilter = {
    ...{ organizationId, days, merchantId: places.merchantId },
    ...{ storeId: places.storeId, deviceId: places.deviceId },
    level: levelOf(places),
    groupIds: hasWords(words) ? wanted.map(({ groupId }) => groupId) : undefined,
  };
  const whole = partsOf(groups, await rowsOf<SumsRow>(run, sumsStatement(filter, undefined)));
  const total = whole.get('') ?? { sums: [], latency: new Map() };
  const times = await rowsOf<LatencyRow>(run, latencyStatement(filter, undefined));
  addTimes(whole, times);
  const linesOf = async () => {
    switch (groupBy) {
      case 'merchant':
      case 'store':
      case 'device': {
        const fine = { ...filter, level: levelOf(places, groupBy) };
        return placeLines(run, { filter: fine, column: columns[groupBy], groups, order }, page);
      }
      case 'scheme':
        return cutLines(
          regrouped(total, timesByGroup(times), (of) => of.scheme),
          order,
          page,
        );
      case 'responseCategory':
        return cutLines(
          regrouped(total, timesByGroup(times), (of) => of.category),
          order,
          page,
        );
      case 'hour': {
        const hours = await rowsOf<SumsRow>(run, hoursStatement(filter));
        const padded = hours.map((row) => ({ ...row, key: row.key.padStart(2, '0') }));
        return cutLines(partsOf(groups, padded), order, page);
      }
      default: {
        const parts = partsOf(groups, await rowsOf<SumsRow>(run, sumsStatement(filter, 'day')));
        addTimes(parts, await rowsOf<LatencyRow>(run, latencyStatement(filter, 'day')));
        return cutLines(parts, order, page);
      }
    }
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
