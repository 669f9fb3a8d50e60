// Writes the response to an import: one line for each line of the body, and a summary.
import {
  type BulkResult,
  type BulkSummary,
  defined,
  type ProblemError,
} from '@switchyard/contract';
import { toImportError } from './body/parse-line.ts';
import type { Counts } from './import-progress.ts';

export const toJsonLines = (results: readonly BulkResult[]): string =>
  results.map((result) => `${JSON.stringify(result)}\n`).join('');

/** The text to store, without the secrets of points of sale, which the client sees only once. */
export const toStoredJsonLines = (results: readonly BulkResult[]): string =>
  toJsonLines(results.map(({ clientSecret: _secret, ...result }) => result));

export function addCounts(counts: Counts, results: readonly BulkResult[]): Counts {
  const sum = { ...counts };
  for (const { status } of results) sum[status] += 1;
  return sum;
}

export const sumCounts = (counts: Counts): number =>
  Object.values(counts).reduce((all, one) => all + one, 0);

export type ImportEnd = {
  /** The identifier of a written import; a trial has none. */
  readonly bulkId?: string;
  readonly dryRun: boolean;
  readonly counts: Counts;
  /** The reason for an early end. */
  readonly problem?: ProblemError | undefined;
};

export function formatSummary({ counts, problem, ...ending }: ImportEnd): string {
  const summary: BulkSummary['summary'] = {
    ...ending,
    state: problem === undefined ? 'Completed' : 'Interrupted',
    lines: sumCounts(counts),
    ...counts,
    ...defined({ error: problem === undefined ? undefined : toImportError(problem) }),
  };
  return `${JSON.stringify({ summary })}\n`;
}
