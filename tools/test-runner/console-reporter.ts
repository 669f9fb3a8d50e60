// Prints each failure when it happens, and a line for each test file. Ends the process if nothing happens for too
// long: tests share one process, so one open handle would hang the whole run.
import { AssertionError } from 'node:assert';
import { writeSync } from 'node:fs';
import { relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';
import { inspect, styleText } from 'node:util';
import { repositoryRoot } from '../repository-root.ts';
import { nextFileTest } from './next-file.ts';
import { openTimers } from './open-timers.ts';

/** Those of the machine: a test that puts its own in their place would keep this watch from being set back. */
const { setTimeout, clearTimeout } = globalThis;

/** On a busy machine the next file takes its time to load, and so do the search and the closings behind the last one. */
const drainLimitMs = 240_000;
/** The fault tests at full size are long in one test. */
const silenceLimitMs = Number(process.env['TEST_SILENCE_SECONDS'] ?? 280) * 1000;

/** The runner's exit codes, so that the wrapper can say what happened. */
export const exitCodes = { handlesLeftOpen: 7, nothingHappens: 8 } as const;

type Tally = { passed: number; failed: number; skipped: number; durationMs: number };

export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const hangDetector = createHangDetector();
  let file: string | undefined;
  let tally = emptyTally();
  for await (const event of source) {
    hangDetector.onEvent(event);
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
    if (event.data.name === nextFileTest) {
      if (file !== undefined) yield fileLine(file, tally);
      file = undefined;
      continue;
    }
    if (event.data.file !== undefined && event.data.file !== file) {
      if (file !== undefined) yield fileLine(file, tally);
      file = event.data.file;
      tally = emptyTally();
    }
    count(tally, event);
    if (event.type === 'test:fail') yield failure(event.data);
  }
  if (file !== undefined) yield fileLine(file, tally);
}

function emptyTally(): Tally {
  return { passed: 0, failed: 0, skipped: 0, durationMs: 0 };
}

type Ended = Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>;

function count(tally: Tally, { type, data }: Ended): void {
  if (data.nesting === 0) tally.durationMs += data.details.duration_ms;
  if (data.details.type === 'suite') return;
  if (data.skip !== undefined || data.todo !== undefined) tally.skipped += 1;
  else if (type === 'test:pass') tally.passed += 1;
  else tally.failed += 1;
}

function fileLine(file: string, { passed, failed, skipped, durationMs }: Tally): string {
  const symbol = failed > 0 ? styleText('red', '✗') : styleText('green', '✓');
  const parts = [
    `${passed} passed`,
    failed > 0 ? `${failed} failed` : '',
    skipped > 0 ? `${skipped} skipped` : '',
  ].filter((part) => part !== '');
  const time = styleText('dim', `${Math.round(durationMs)} ms`);
  return `${symbol} ${relative(repositoryRoot, file)}  ${parts.join(', ')}  ${time}\n`;
}

type Failure = Extract<TestEvent, { type: 'test:fail' }>['data'];

/** A suite fails because of its tests, which have been shown already. */
export function isRepeatedFailure(failed: Failure): boolean {
  return (
    'failureType' in failed.details.error && failed.details.error.failureType === 'subtestsFailed'
  );
}

function failure(failed: Failure): string {
  if (isRepeatedFailure(failed)) return '';
  const where = `${relative(repositoryRoot, failed.file ?? '')}:${failed.line ?? 0}`;
  const text = explain(failed.details.error.cause ?? failed.details.error);
  return `\n${styleText('red', '✗')} ${failed.name}  ${styleText('dim', where)}\n${text}\n\n`;
}

/** The message of an assertion holds its difference already; of the stack, our own frames matter. */
function explain(cause: unknown): string {
  const asserted = cause instanceof AssertionError;
  const text = asserted
    ? String(cause.stack)
    : inspect(cause, { colors: process.stdout.isTTY, depth: 4 });
  return text
    .split('\n')
    .filter((line) => !/^\s+at .*node:(?:internal|async_hooks)/.test(line))
    .join('\n');
}

/** Ends a run whose tests are all done but whose process lives on, or in which nothing moves. */
function createHangDetector(): { onEvent(event: TestEvent): void } {
  const running = new Map<string, string>();
  let waiting = 0;
  let timer: NodeJS.Timeout | undefined;

  function end(code: number, text: string): never {
    const handles = process.getActiveResourcesInfo().join(', ') || 'none';
    const timers = openTimers().map((timer) => `\n    ${timer}`);
    const open = `open handles: ${handles}${timers.join('')}`;
    writeSync(2, `\n${styleText('red', '✗')} ${text}\n  ${open}\n`);
    process.exit(code);
  }

  function endHungRun(): never {
    if (waiting === 0) {
      end(exitCodes.handlesLeftOpen, 'every test has ended, but something keeps the process alive');
    }
    const names = [...running.values()].join('\n    ');
    end(
      exitCodes.nothingHappens,
      `nothing has happened for ${silenceLimitMs / 1000} s in\n    ${names}`,
    );
  }

  return {
    onEvent({ type, data }) {
      const key =
        data !== undefined && 'name' in data ? `${data.file}:${data.line}:${data.name}` : '';
      if (type === 'test:enqueue') waiting += 1;
      if (type === 'test:dequeue') running.set(key, key);
      if (type === 'test:complete') {
        waiting -= 1;
        running.delete(key);
      }
      clearTimeout(timer);
      timer = setTimeout(endHungRun, waiting === 0 ? drainLimitMs : silenceLimitMs);
      timer.unref();
    },
  };
}
