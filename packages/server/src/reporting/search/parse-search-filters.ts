// Parses and checks the filters of a search, and converts them to the terms of the tables.
import { throwProblem } from '@switchyard/contract';
import { parseTimeRange } from '../../http/index.ts';
import type { ReportScope } from '../infrastructure/report-scope.ts';

export type GroupFilters = {
  readonly kind?: string | undefined;
  readonly scheme?: readonly string[] | undefined;
  readonly currency?: readonly string[] | undefined;
  readonly responseCategory?: readonly string[] | undefined;
  readonly entryMode?: readonly string[] | undefined;
  readonly state?: readonly string[] | undefined;
};

export type PaymentSearchCriteria = ReportScope & {
  readonly groupFilters: GroupFilters;
  /** RFC 3339 with milliseconds; `to` is exclusive. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly amountMin?: number | undefined;
  readonly amountMax?: number | undefined;
  readonly text?: string | undefined;
};

export type GroupFilterQuery = {
  readonly kind?: string;
  readonly scheme?: string;
  readonly currency?: string;
  readonly responseCategory?: string;
  readonly entryMode?: string;
  readonly state?: string;
};

export type SearchQuery = GroupFilterQuery & {
  readonly from?: string;
  readonly to?: string;
  readonly amountMin?: number;
  readonly amountMax?: number;
  readonly text?: string;
};

const splitList = (text: string | undefined): readonly string[] | undefined =>
  text === undefined ? undefined : [...new Set(text.split(','))];

export const parseGroupFilters = (query: GroupFilterQuery): GroupFilters => ({
  kind: query.kind,
  scheme: splitList(query.scheme),
  currency: splitList(query.currency),
  responseCategory: splitList(query.responseCategory),
  entryMode: splitList(query.entryMode),
  state: splitList(query.state),
});

export const hasGroupFilters = (filters: GroupFilters): boolean =>
  Object.values(filters).some((value) => value !== undefined);

/** @throws ProblemError field_invalid if amountMin is greater than amountMax */
export function parsePaymentSearch(scope: ReportScope, query: SearchQuery): PaymentSearchCriteria {
  const { amountMin, amountMax, text } = query;
  if (amountMin !== undefined && amountMax !== undefined && amountMin > amountMax) {
    throwProblem('field_invalid', 'amountMin is greater than amountMax.', {
      errors: [
        { pointer: '?amountMin', code: 'field_invalid', detail: 'Is greater than amountMax.' },
      ],
    });
  }
  return {
    ...scope,
    groupFilters: parseGroupFilters(query),
    ...parseTimeRange(query),
    amountMin,
    amountMax,
    text,
  };
}
