// Writes the response to an import: one line for each line of the body, and a summary.
import {
  type BulkResult,
  type BulkSummary,
  defined,
  type ProblemError,
} from '@switchyard/contract';
import { errorOf } from './body/parse-line.ts';
import type { Counts } from './import-progress.ts';

export const textOf = (results: readonly BulkResult[]): string =>
  results.map((result) => `${JSON.stringify(result)}\n`).join('');

/** The text to store, without the secrets of points of sale, which the client sees only once. */
export const keptText = (results: readonly BulkResult[]): string =>
  textOf(results.map(({ clientSecret: _secret, ...result }) => result));

export function countAll(counts: Counts, results: readonly BulkResult[]): Counts {
  const sum = { ...counts };
  for (const { status } of results) sum[status] += 1;
  return sum;
}

export const totalOf = (counts: Counts): number =>
  Object.values(counts).reduce((all, one) => all + one, 0);

export type Ending = {
  /** The identifier of a written import; a trial has none. */
  readonly bulkId?: string;
  readonly dryRun: boolean;
  readonly counts: Counts;
  /** The reason for an early end. */
  readonly refusal?: ProblemError | undefined;
};

export function summaryOf({ counts, refusal, ...ending }: Ending): string {
  const summary: BulkSummary['summary'] = {
    ...ending,
    state: refusal === undefined ? 'Completed' : 'Interrupted',
    lines: totalOf(counts),
    ...counts,
    ...defined({ error: refusal === undefined ? undefined : errorOf(refusal) }),
  };
  return `${JSON.stringify({ summary })}\n`;
}
