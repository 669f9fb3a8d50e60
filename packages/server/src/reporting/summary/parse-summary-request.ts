// Parses and checks a summary request: days, filters and grouping.
import { type SummaryGrouping, throwProblem } from '@switchyard/contract';
import type { Scope } from '../infrastructure/report-scope.ts';
import type { Level } from '../projection/daily-aggregates.ts';
import { hasWords, type Words, type WordsQuery, wordsOf } from '../search/search-filters.ts';

export type SummaryQuery = WordsQuery & {
  readonly from: string;
  readonly to: string;
  readonly groupBy?: SummaryGrouping;
  readonly order?: 'Key' | 'Count';
  readonly limit?: number;
  readonly cursor?: string;
};

export type SummaryRequest = Scope & {
  readonly words: Words;
  readonly days: readonly string[];
  readonly groupBy: SummaryGrouping;
  readonly order: 'Key' | 'Count';
};

const dayMs = 86_400_000;
export const daysMax = 400;
const firstDay = '1970-01-01';

function refuseSpan(pointer: string, detail: string): never {
  return throwProblem('field_invalid', 'These days make no summary.', {
    errors: [{ pointer, code: 'field_invalid', detail }],
  });
}

function daysOf({ from, to }: SummaryQuery): string[] {
  const first = Date.parse(`${from}T00:00:00Z`);
  const last = Date.parse(`${to}T00:00:00Z`);
  if (!Number.isFinite(first) || from < firstDay) refuseSpan('?from', 'Is no day.');
  if (!Number.isFinite(last) || to < firstDay) refuseSpan('?to', 'Is no day.');
  if (last < first) refuseSpan('?to', 'Is before the first day.');
  const count = (last - first) / dayMs + 1;
  if (count > daysMax) refuseSpan('?to', `Is more than ${daysMax} days from the first.`);
  return Array.from({ length: count }, (_, place) =>
    new Date(first + place * dayMs).toISOString().slice(0, 10),
  );
}

/** @throws Refusal field_invalid for an invalid or too long range of days */
export function requestOf(scope: Scope, query: SummaryQuery): SummaryRequest {
  return {
    ...scope,
    words: wordsOf(query),
    days: daysOf(query),
    groupBy: query.groupBy ?? 'day',
    order: query.order ?? 'Key',
  };
}

type Places = Pick<Scope, 'merchantId' | 'storeId' | 'deviceId'>;

/** The levels of the cells: `fine` by all group attributes, `coarse` only by currency. */
export type Levels = { readonly fine: Level; readonly coarse: Level };

const organizationLevels: Levels = { fine: 0, coarse: 5 };
export const merchantLevels: Levels = { fine: 1, coarse: 4 };
export const deviceLevels: Levels = { fine: 2, coarse: 3 };

export function levelsOf({ merchantId, storeId, deviceId }: Places): Levels {
  if (storeId !== undefined || deviceId !== undefined) return deviceLevels;
  return merchantId !== undefined ? merchantLevels : organizationLevels;
}

/** True if cells by currency are sufficient for these filters. */
export const areCoarse = ({ currency: _currency, ...others }: Words): boolean => !hasWords(others);
