// Parses and checks the filters of a search, and converts them to the terms of the tables.
import { throwProblem } from '@switchyard/contract';
import { parseTimeRange } from '../../http/index.ts';
import type { Scope } from '../infrastructure/report-scope.ts';

export type Words = {
  readonly kind?: string | undefined;
  readonly scheme?: readonly string[] | undefined;
  readonly currency?: readonly string[] | undefined;
  readonly responseCategory?: readonly string[] | undefined;
  readonly entryMode?: readonly string[] | undefined;
  readonly state?: readonly string[] | undefined;
};

export type Search = Scope & {
  readonly words: Words;
  /** RFC 3339 with milliseconds; `to` is exclusive. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly amountMin?: number | undefined;
  readonly amountMax?: number | undefined;
  readonly text?: string | undefined;
};

export type WordsQuery = {
  readonly kind?: string;
  readonly scheme?: string;
  readonly currency?: string;
  readonly responseCategory?: string;
  readonly entryMode?: string;
  readonly state?: string;
};

export type SearchQuery = WordsQuery & {
  readonly from?: string;
  readonly to?: string;
  readonly amountMin?: number;
  readonly amountMax?: number;
  readonly text?: string;
};

const listOf = (text: string | undefined): readonly string[] | undefined =>
  text === undefined ? undefined : [...new Set(text.split(','))];

export const wordsOf = (query: WordsQuery): Words => ({
  kind: query.kind,
  scheme: listOf(query.scheme),
  currency: listOf(query.currency),
  responseCategory: listOf(query.responseCategory),
  entryMode: listOf(query.entryMode),
  state: listOf(query.state),
});

export const hasWords = (words: Words): boolean =>
  Object.values(words).some((word) => word !== undefined);

/** @throws Refusal field_invalid if amountMin is greater than amountMax */
export function searchOf(scope: Scope, query: SearchQuery): Search {
  const { amountMin, amountMax, text } = query;
  if (amountMin !== undefined && amountMax !== undefined && amountMin > amountMax) {
    throwProblem('field_invalid', 'amountMin is more than amountMax.', {
      errors: [{ pointer: '?amountMin', code: 'field_invalid', detail: 'Is more than amountMax.' }],
    });
  }
  return { ...scope, words: wordsOf(query), ...parseTimeRange(query), amountMin, amountMax, text };
}
