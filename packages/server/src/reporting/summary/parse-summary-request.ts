// Parses and checks a summary request: days, filters and grouping.
import { type SummaryGrouping, throwProblem } from '@switchyard/contract';
import { dayMs, isoDay } from '../../platform/index.ts';
import {
  type GroupFilterQuery,
  type GroupFilters,
  hasGroupFilters,
  parseGroupFilters,
} from '../infrastructure/group-filters.ts';
import type { ReportScope } from '../infrastructure/report-scope.ts';
import { type AggregateLevel, deviceLevel } from '../projection/daily-aggregates.ts';

export type SummaryQuery = GroupFilterQuery & {
  readonly from: string;
  readonly to: string;
  readonly groupBy?: SummaryGrouping;
  readonly order?: 'Key' | 'Count';
  readonly limit?: number;
  readonly cursor?: string;
};

export type SummaryRequest = ReportScope & {
  readonly groupFilters: GroupFilters;
  readonly days: readonly string[];
  readonly groupBy: SummaryGrouping;
  readonly order: 'Key' | 'Count';
};

export const daysMax = 400;
const firstDay = '1970-01-01';

function throwDaysProblem(pointer: string, detail: string): never {
  return throwProblem('field_invalid', 'The range of days is not valid.', {
    errors: [{ pointer, code: 'field_invalid', detail }],
  });
}

function listDays({ from, to }: SummaryQuery): string[] {
  const first = Date.parse(`${from}T00:00:00Z`);
  const last = Date.parse(`${to}T00:00:00Z`);
  if (!Number.isFinite(first) || from < firstDay) throwDaysProblem('?from', 'Is not a valid day.');
  if (!Number.isFinite(last) || to < firstDay) throwDaysProblem('?to', 'Is not a valid day.');
  if (last < first) throwDaysProblem('?to', 'Is before the first day.');
  const count = (last - first) / dayMs + 1;
  if (count > daysMax) throwDaysProblem('?to', `Is more than ${daysMax} days from the first.`);
  return Array.from({ length: count }, (_, index) => isoDay(first + index * dayMs));
}

/** @throws ProblemError field_invalid for an invalid or too long range of days */
export function parseSummaryRequest(scope: ReportScope, query: SummaryQuery): SummaryRequest {
  return {
    ...scope,
    groupFilters: parseGroupFilters(query),
    days: listDays(query),
    groupBy: query.groupBy ?? 'day',
    order: query.order ?? 'Key',
  };
}

type EntityFilters = Pick<ReportScope, 'merchantId' | 'storeId' | 'deviceId'>;

/** The levels of the cells: `byGroup` by all group attributes, `byCurrency` only by currency. */
export type LevelsByDetail = {
  readonly byGroup: AggregateLevel;
  readonly byCurrency: AggregateLevel;
};

const organizationLevels: LevelsByDetail = { byGroup: 0, byCurrency: 5 };
export const merchantLevels: LevelsByDetail = { byGroup: 1, byCurrency: 4 };
export const deviceLevels: LevelsByDetail = { byGroup: deviceLevel, byCurrency: 3 };

export function chooseLevels({ merchantId, storeId, deviceId }: EntityFilters): LevelsByDetail {
  if (storeId !== undefined || deviceId !== undefined) return deviceLevels;
  return merchantId !== undefined ? merchantLevels : organizationLevels;
}

/** True if cells by currency are sufficient for these filters. */
export const needsCurrencyOnly = ({ currency: _currency, ...others }: GroupFilters): boolean =>
  !hasGroupFilters(others);
