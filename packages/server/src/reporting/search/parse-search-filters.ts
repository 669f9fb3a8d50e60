// Parses and checks the filters of a search, and converts them to the terms of the tables.
import { throwProblem } from '@switchyard/contract';
import { parseTimeRange } from '../../http/index.ts';
import {
  type GroupFilterQuery,
  type GroupFilters,
  parseGroupFilters,
} from '../infrastructure/group-filters.ts';
import type { ReportScope } from '../infrastructure/report-scope.ts';

export type PaymentSearchCriteria = ReportScope & {
  readonly groupFilters: GroupFilters;
  /** RFC 3339 with milliseconds; `to` is exclusive. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly amountMin?: number | undefined;
  readonly amountMax?: number | undefined;
  readonly text?: string | undefined;
};

export type SearchQuery = GroupFilterQuery & {
  readonly from?: string;
  readonly to?: string;
  readonly amountMin?: number;
  readonly amountMax?: number;
  readonly text?: string;
};

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
