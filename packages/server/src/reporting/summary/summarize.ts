// Builds a summary: its lines, their figures, and the total.
import type { Summary, SummaryLine } from '@switchyard/contract';
import { isoTime, nilUuid, type Queries } from '../../platform/index.ts';
import { findMerchantSql } from '../infrastructure/find-merchant-sql.ts';
import { type AggregateLevel, type FiguresRow, toFigures } from '../projection/daily-aggregates.ts';
import { addLatency } from '../projection/latency-histogram.ts';
import {
  chooseLevels,
  deviceLevels,
  type LevelsByDetail,
  merchantLevels,
  needsCurrencyOnly,
  type SummaryRequest,
} from './parse-summary-request.ts';
import {
  addCurrencyFigures,
  addReason,
  emptyLineData,
  getPaymentCount,
  type LineData,
  mergeLines,
  toLineFigures,
} from './summary-figures.ts';
import {
  type AggregateFilter,
  asOfText,
  type EntityLine,
  entityKeysStatement,
  entityLatencyStatement,
  entityReasonsStatement,
  entitySumsStatement,
  hourReasonsStatement,
  hourSumsStatement,
  type LineGrouping,
  type LineKey,
  latencyStatement,
  reasonsStatement,
  type Statement,
  sumsStatement,
} from './summary-sql.ts';

type SumsRow = FiguresRow & { key: string; currency: string };
type ReasonRow = { key: string; reason: string; count: number };
type TimesRow = { key: string; bucket: number; count: number };

export type SummaryPage = { readonly limit: number; readonly after: LineKey | undefined };
export type SummaryResult = Omit<Summary, 'nextCursor'> & { readonly next: LineKey | undefined };

const runStatement = <Of extends object>(queries: Queries, { text, values }: Statement) =>
  queries.query<Of>(text, values);

/** The statements of lines; lines have no latency without `latency`. */
type LineStatements = { sums: Statement; reasons: Statement; latency?: Statement };

async function readLines(
  queries: Queries,
  { sums, reasons, latency }: LineStatements,
): Promise<Map<string, LineData>> {
  const lines = new Map<string, LineData>();
  for (const row of await runStatement<SumsRow>(queries, sums)) {
    const line = lines.get(row.key) ?? emptyLineData();
    lines.set(row.key, line);
    addCurrencyFigures(line, row.currency, toFigures(row));
  }
  for (const { key, reason, count } of await runStatement<ReasonRow>(queries, reasons)) {
    const line = lines.get(key);
    if (line !== undefined) addReason(line, reason, count);
  }
  if (latency === undefined) return lines;
  for (const { key, bucket, count } of await runStatement<TimesRow>(queries, latency)) {
    const line = lines.get(key);
    if (line !== undefined) addLatency(line.latency, [[bucket, count]]);
  }
  return lines;
}

type Page = { readonly lines: [string, LineData][]; readonly next: LineKey | undefined };
type SummaryTask = {
  readonly queries: Queries;
  readonly request: SummaryRequest;
  readonly filter: AggregateFilter;
};

const entityColumns = { merchant: 'merchant_id', store: 'store_id', device: 'device_id' } as const;

/** Builds one page of merchants, stores or devices, of which there may be many. */
async function readEntityPage(
  { queries, request, filter }: SummaryTask,
  groupBy: keyof typeof entityColumns,
  { limit, after }: SummaryPage,
): Promise<Page> {
  const column = entityColumns[groupBy];
  const isByMerchant = groupBy === 'merchant' && chooseLevels(filter) !== deviceLevels;
  const levels = isByMerchant ? merchantLevels : deviceLevels;
  const { sums: level, times: latencyLevel } = chooseSumLevels(levels, filter);
  const { order } = request;
  const keysQuery = entityKeysStatement(filter, level, column, { order, after, limit: limit + 1 });
  const keyRows = await runStatement<EntityLine>(queries, keysQuery);
  const pageLines = keyRows.slice(0, limit);
  const linesByKey = new Map<string, LineData>();
  for (const isSpread of [false, true]) {
    const lines = pageLines.filter((line) => line.isSpread === isSpread);
    if (lines.length === 0) continue;
    const statementInput = { filter, column, lines };
    const partLines = await readLines(queries, {
      sums: entitySumsStatement({ ...statementInput, level }),
      reasons: entityReasonsStatement({ ...statementInput, level: levels.byGroup }),
      latency: entityLatencyStatement({ ...statementInput, level: latencyLevel }),
    });
    for (const [key, line] of partLines) linesByKey.set(key, line);
  }
  const lines = pageLines.map(({ key }): [string, LineData] => [
    key,
    linesByKey.get(key) ?? emptyLineData(),
  ]);
  return { lines, next: keyRows.length > limit ? pageLines.at(-1) : undefined };
}

/** Sorts and cuts lines in memory, for groupings with few lines. */
function sortAndLimitLines(
  all: ReadonlyMap<string, LineData>,
  order: 'Key' | 'Count',
  { limit, after }: SummaryPage,
): Page {
  const counted = [...all].map(([key, line]) => ({ key, line, count: getPaymentCount(line) }));
  const isAfter = (line: LineKey, position: LineKey) =>
    order === 'Key'
      ? line.key > position.key
      : line.count < position.count || (line.count === position.count && line.key > position.key);
  const sorted = counted
    .filter((line) => after === undefined || isAfter(line, after))
    .sort((one, other) => (isAfter(one, other) ? 1 : -1));
  const pageLines = sorted.slice(0, limit);
  return {
    lines: pageLines.map(({ key, line }): [string, LineData] => [key, line]),
    next: sorted.length > limit ? pageLines.at(-1) : undefined,
  };
}

function keyMembers(groupBy: SummaryRequest['groupBy'], key: string): Partial<SummaryLine> {
  const orNull = key === nilUuid || key === '' ? null : key;
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
async function findMerchantId(
  queries: Queries,
  request: SummaryRequest,
): Promise<string | undefined> {
  const { organizationId, merchantId, storeId, deviceId } = request;
  const entityId = deviceId ?? storeId;
  if (merchantId !== undefined || entityId === undefined) return merchantId;
  const column = deviceId === undefined ? 'store_id' : 'device_id';
  const [owner] = await queries.query<{ merchantId: string }>(findMerchantSql(column), [
    organizationId,
    entityId,
  ]);
  return owner?.merchantId ?? nilUuid;
}

async function readAsOf(queries: Queries, organizationId: string, now: number): Promise<string> {
  type Row = { asOf: Date; isNow: boolean };
  const [row] = await queries.query<Row>(asOfText, [organizationId]);
  return isoTime(row === undefined || row.isNow ? now : row.asOf.getTime());
}

/**
 * Uses the sums by currency if they are sufficient; those of devices contain no hours and no
 * latency.
 */
function chooseSumLevels(
  { byGroup, byCurrency }: LevelsByDetail,
  { groupFilters }: AggregateFilter,
): { sums: AggregateLevel; times: AggregateLevel } {
  if (!needsCurrencyOnly(groupFilters)) return { sums: byGroup, times: byGroup };
  return { sums: byCurrency, times: byCurrency === deviceLevels.byCurrency ? byGroup : byCurrency };
}

/**
 * Builds the lines for groupings with few lines: by day, scheme or response category, or one total.
 */
function readGroupedLines(
  { queries, filter }: SummaryTask,
  grouping: LineGrouping,
): Promise<Map<string, LineData>> {
  const levels = chooseLevels(filter);
  const { byGroup } = levels;
  const isByGroup = grouping === 'scheme' || grouping === 'responseCategory';
  const { sums, times: latencyLevel } = isByGroup
    ? { sums: byGroup, times: byGroup }
    : chooseSumLevels(levels, filter);
  return readLines(queries, {
    sums: sumsStatement({ filter, grouping, level: sums }),
    reasons: reasonsStatement({ filter, grouping, level: byGroup }),
    latency: latencyStatement({ filter, grouping, level: latencyLevel }),
  });
}

function readHourLines({ queries, filter }: SummaryTask): Promise<Map<string, LineData>> {
  const levels = chooseLevels(filter);
  return readLines(queries, {
    sums: hourSumsStatement(filter, chooseSumLevels(levels, filter).times),
    reasons: hourReasonsStatement(filter, levels.byGroup),
  });
}

/** Builds the lines of a page and the total; the total is the sum of the lines if they are few. */
async function readPage(task: SummaryTask, page: SummaryPage): Promise<Page & { total: LineData }> {
  const { groupBy, order } = task.request;
  if (groupBy === 'day' || groupBy === 'scheme' || groupBy === 'responseCategory') {
    const all = await readGroupedLines(task, groupBy);
    return { ...sortAndLimitLines(all, order, page), total: mergeLines(all.values()) };
  }
  const total = mergeLines((await readGroupedLines(task, 'nothing')).values());
  if (groupBy !== 'hour') return { ...(await readEntityPage(task, groupBy, page)), total };
  return { ...sortAndLimitLines(await readHourLines(task), order, page), total };
}

/** @example const summary = await summarize(run, parseSummaryRequest(scope, query), { limit: 50, after: undefined }, now); */
export async function summarize(
  queries: Queries,
  request: SummaryRequest,
  page: SummaryPage,
  now: number,
): Promise<SummaryResult> {
  const { organizationId, days, groupBy, groupFilters, storeId, deviceId } = request;
  const asOf = await readAsOf(queries, organizationId, now);
  const merchantId = await findMerchantId(queries, request);
  const filter = { organizationId, days, groupFilters, merchantId, storeId, deviceId };
  const { lines, next, total } = await readPage({ queries, request, filter }, page);
  return {
    from: days[0] ?? '',
    to: days.at(-1) ?? '',
    groupBy,
    total: toLineFigures(total),
    items: lines.map(([key, line]) => ({ ...keyMembers(groupBy, key), ...toLineFigures(line) })),
    asOf,
    next: next === undefined ? undefined : { key: next.key, count: next.count },
  };
}
