// Builds a summary: its lines, their figures, and the total.
import type { Summary, SummaryLine } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import { nil, type RunQuery } from '../infrastructure/run-query.ts';
import { type FiguresRow, type Level, toFigures } from '../projection/daily-aggregates.ts';
import { addLatency } from '../projection/latency-histogram.ts';
import {
  areCoarse,
  deviceLevels,
  type Levels,
  levelsOf,
  merchantLevels,
  type SummaryRequest,
} from './parse-summary-request.ts';
import {
  addReason,
  addSums,
  countOf,
  emptyLine,
  figuresOf,
  type Line,
  together,
} from './summary-figures.ts';
import {
  asOfText,
  type CellFilter,
  hourReasonsStatement,
  hoursStatement,
  keysStatement,
  type LineBy,
  type LineKey,
  ownerText,
  type PlaceLine,
  placeReasonsStatement,
  placeSumsStatement,
  placeTimesStatement,
  reasonsStatement,
  type Statement,
  sumsStatement,
  timesStatement,
} from './summary-sql.ts';

type SumsRow = FiguresRow & { key: string; currency: string };
type ReasonRow = { key: string; reason: string; count: number };
type TimesRow = { key: string; bucket: number; count: number };

export type SummaryPage = { readonly limit: number; readonly after: LineKey | undefined };
export type Summarized = Omit<Summary, 'nextCursor'> & { readonly next: LineKey | undefined };

const rowsOf = <Of extends object>(run: RunQuery, { text, values }: Statement) =>
  run<Of>(text, values);

/** The statements of lines; lines have no latency without `times`. */
type Statements = { sums: Statement; reasons: Statement; times?: Statement };

async function linesOf(
  run: RunQuery,
  { sums, reasons, times }: Statements,
): Promise<Map<string, Line>> {
  const lines = new Map<string, Line>();
  for (const row of await rowsOf<SumsRow>(run, sums)) {
    const line = lines.get(row.key) ?? emptyLine();
    lines.set(row.key, line);
    addSums(line, row.currency, toFigures(row));
  }
  for (const { key, reason, count } of await rowsOf<ReasonRow>(run, reasons)) {
    const line = lines.get(key);
    if (line !== undefined) addReason(line, reason, count);
  }
  if (times === undefined) return lines;
  for (const { key, bucket, count } of await rowsOf<TimesRow>(run, times)) {
    const line = lines.get(key);
    if (line !== undefined) addLatency(line.latency, [[bucket, count]]);
  }
  return lines;
}

type Page = { readonly lines: [string, Line][]; readonly next: LineKey | undefined };
type Task = {
  readonly run: RunQuery;
  readonly request: SummaryRequest;
  readonly filter: CellFilter;
};

const columns = { merchant: 'merchant_id', store: 'store_id', device: 'device_id' } as const;

/** Builds one page of merchants, stores or devices, of which there may be many. */
async function placePage(
  { run, request, filter }: Task,
  groupBy: keyof typeof columns,
  { limit, after }: SummaryPage,
): Promise<Page> {
  const column = columns[groupBy];
  const isByMerchant = groupBy === 'merchant' && levelsOf(filter) !== deviceLevels;
  const levels = isByMerchant ? merchantLevels : deviceLevels;
  const { sums: level, times } = levelsFor(levels, filter);
  const { order } = request;
  const wanted = keysStatement(filter, level, column, { order, after, limit: limit + 1 });
  const found = await rowsOf<PlaceLine>(run, wanted);
  const shown = found.slice(0, limit);
  const all = new Map<string, Line>();
  for (const isSpread of [false, true]) {
    const lines = shown.filter((line) => line.isSpread === isSpread);
    if (lines.length === 0) continue;
    const places = { filter, column, lines };
    const made = await linesOf(run, {
      sums: placeSumsStatement({ ...places, level }),
      reasons: placeReasonsStatement({ ...places, level: levels.fine }),
      times: placeTimesStatement({ ...places, level: times }),
    });
    for (const [key, line] of made) all.set(key, line);
  }
  const lines = shown.map(({ key }): [string, Line] => [key, all.get(key) ?? emptyLine()]);
  return { lines, next: found.length > limit ? shown.at(-1) : undefined };
}

/** Sorts and cuts lines in memory, for groupings with few lines. */
function cutLines(
  all: ReadonlyMap<string, Line>,
  order: 'Key' | 'Count',
  { limit, after }: SummaryPage,
): Page {
  const counted = [...all].map(([key, line]) => ({ key, line, count: countOf(line) }));
  const isBehind = (line: LineKey, mark: LineKey) =>
    order === 'Key'
      ? line.key > mark.key
      : line.count < mark.count || (line.count === mark.count && line.key > mark.key);
  const sorted = counted
    .filter((line) => after === undefined || isBehind(line, after))
    .sort((one, other) => (isBehind(one, other) ? 1 : -1));
  const shown = sorted.slice(0, limit);
  return {
    lines: shown.map(({ key, line }): [string, Line] => [key, line]),
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

/** Finds the merchant of a store or device, because the merchant is a part of the key of cells. */
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

/** Uses coarse cells if they are sufficient; those of devices contain no hours and no latency. */
function levelsFor({ fine, coarse }: Levels, { words }: CellFilter): { sums: Level; times: Level } {
  if (!areCoarse(words)) return { sums: fine, times: fine };
  return { sums: coarse, times: coarse === deviceLevels.coarse ? fine : coarse };
}

/**
 * Builds the lines for groupings with few lines: by day, scheme or response category, or one total.
 */
function fewLines({ run, filter }: Task, by: LineBy): Promise<Map<string, Line>> {
  const levels = levelsOf(filter);
  const { fine } = levels;
  const isByGroup = by === 'scheme' || by === 'responseCategory';
  const { sums, times } = isByGroup ? { sums: fine, times: fine } : levelsFor(levels, filter);
  return linesOf(run, {
    sums: sumsStatement({ filter, by, level: sums }),
    reasons: reasonsStatement({ filter, by, level: fine }),
    times: timesStatement({ filter, by, level: times }),
  });
}

function hourLines({ run, filter }: Task): Promise<Map<string, Line>> {
  const levels = levelsOf(filter);
  return linesOf(run, {
    sums: hoursStatement(filter, levelsFor(levels, filter).times),
    reasons: hourReasonsStatement(filter, levels.fine),
  });
}

/** Builds the lines of a page and the total; the total is the sum of the lines if they are few. */
async function pageOf(task: Task, page: SummaryPage): Promise<Page & { total: Line }> {
  const { groupBy, order } = task.request;
  if (groupBy === 'day' || groupBy === 'scheme' || groupBy === 'responseCategory') {
    const all = await fewLines(task, groupBy);
    return { ...cutLines(all, order, page), total: together(all.values()) };
  }
  const total = together((await fewLines(task, 'nothing')).values());
  if (groupBy !== 'hour') return { ...(await placePage(task, groupBy, page)), total };
  return { ...cutLines(await hourLines(task), order, page), total };
}

/** @example const summary = await summarize(run, requestOf(scope, query), { limit: 50, after: undefined }, now); */
export async function summarize(
  run: RunQuery,
  request: SummaryRequest,
  page: SummaryPage,
  now: number,
): Promise<Summarized> {
  const { organizationId, days, groupBy, words, storeId, deviceId } = request;
  const at = await asOf(run, organizationId, now);
  const merchantId = await merchantOf(run, request);
  const filter = { organizationId, days, words, merchantId, storeId, deviceId };
  const { lines, next, total } = await pageOf({ run, request, filter }, page);
  return {
    from: days[0] ?? '',
    to: days.at(-1) ?? '',
    groupBy,
    total: figuresOf(total),
    items: lines.map(([key, line]) => ({ ...keyMembers(groupBy, key), ...figuresOf(line) })),
    asOf: at,
    next: next === undefined ? undefined : { key: next.key, count: next.count },
  };
}
