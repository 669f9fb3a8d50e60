// Writes what a test run did as JSON, so that `npm test` can ask whether every file ran its tests.
import { writeFileSync } from 'node:fs';
import type { TestEvent } from 'node:test/reporters';
import { isRepeatedFailure } from './console-reporter.ts';
import { nextFileTest } from './next-file.ts';

export type Results = {
  /** Tests that ran, by file; a suite is no test. */
  files: Record<string, number>;
  tests: number;
  /** Node's own closing counts: tests, suites, pass, fail and so on. */
  totals: Record<string, number>;
  /** `message` is the beginning of what went wrong. */
  failures: { file: string; line: number; name: string; message: string }[];
  slowest: { file: string; name: string; durationMs: number }[];
};

const slowestMax = 10;

/** The slowest tests, at most ten. */
export function slowestOf<Test extends { durationMs: number }>(tests: readonly Test[]): Test[] {
  return tests.toSorted((a, b) => b.durationMs - a.durationMs).slice(0, slowestMax);
}

const closingCount = /^(\w+) (\d+)$/;

const messageMost = 400;

function beginningOf(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : String(cause);
  return text.split('\n').slice(0, 6).join(' ').slice(0, messageMost);
}

/** Where the caller reads them. */
export const resultsVariable = 'TEST_RESULTS_FILE';

function resultsFile(): string {
  const path = process.env[resultsVariable];
  if (path === undefined) throw new Error(`${resultsVariable} names the file for the results`);
  return path;
}

export default async function* results(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const results: Results = { files: {}, tests: 0, totals: {}, failures: [], slowest: [] };
  // A run that hangs never comes to the end of its events, and its failures say why.
  process.once('exit', () => writeFileSync(resultsFile(), JSON.stringify(results)));
  let waits = 0;
  for await (const { type, data } of source) {
    if (type === 'test:diagnostic' && data.nesting === 0) {
      const [, name = '', count] = closingCount.exec(data.message) ?? [];
      const uncounted = name === 'tests' || name === 'pass' ? waits : 0;
      if (count !== undefined) results.totals[name] = Number(count) - uncounted;
    }
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    if (data.name === nextFileTest) {
      waits += 1;
      continue;
    }
    const file = data.file ?? 'unknown';
    if (data.details.type !== 'suite' && data.skip === undefined && data.todo === undefined) {
      results.tests += 1;
      results.files[file] = (results.files[file] ?? 0) + 1;
      const { name, details } = data;
      results.slowest.push({ file, name, durationMs: details.duration_ms });
      results.slowest = slowestOf(results.slowest);
    }
    if (type === 'test:fail' && !isRepeatedFailure(data)) {
      const message = beginningOf(data.details.error.cause ?? data.details.error);
      results.failures.push({ file, line: data.line ?? 0, name: data.name, message });
    }
  }
  yield '';
}
