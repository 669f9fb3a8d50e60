// The state of a certification run: finished cases and used trace numbers, for the next run.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fail } from '../../../packages/cli/src/runtime/command-error.ts';
import type { CaseResult } from './run-case.ts';

/** If one of them differs, the finished cases do not belong to this run. */
export type RunSubject = {
  readonly link: string;
  readonly plan: string;
  readonly table: string;
  readonly version: string;
};

type StoredState = {
  readonly subject: RunSubject;
  readonly results: readonly CaseResult[];
};

const stateFile = 'state.json';
/** The last trace number of each terminal. */
const numbersFile = 'trace-numbers.json';
const secondsPerDay = 86_400;
const msPerSecond = 1000;
/** Spreads the first numbers of a day, so that two runs without a common state rarely overlap. */
const numbersPerSecond = 11;
const maxTraceNumber = 999_999;

const changeTexts: Readonly<Record<keyof RunSubject, string>> = {
  link: 'the link has changed',
  plan: 'the plan has changed',
  table: 'the host table has changed',
  version: 'the version of the platform has changed',
};

function readJson(file: string): unknown {
  if (!existsSync(file)) return undefined;
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return fail(
      'usage',
      `${file} is not valid JSON. Delete it, or name another directory with --report.`,
    );
  }
}

/** The rename is atomic, so the file is complete even if the process is killed. */
function writeJson(file: string, value: unknown): void {
  writeFileSync(`${file}.new`, `${JSON.stringify(value)}\n`);
  renameSync(`${file}.new`, file);
}

/**
 * @throws CommandError if the finished cases belong to another plan, table, link or version
 * @example const state = openRunState(directory, subject, { restart: false, now: Date.now() });
 */
export function openRunState(
  directory: string,
  subject: RunSubject,
  { restart, now }: { restart: boolean; now: number },
) {
  const file = join(directory, stateFile);
  const pathOfNumbers = join(directory, numbersFile);
  const stored = readJson(file) as StoredState | undefined;
  const results = new Map(restart ? [] : stored?.results.map((result) => [result.id, result]));
  // A new run of the same day continues the numbers, because a host compares them with those of the day.
  const traceNumbers = new Map(
    Object.entries((readJson(pathOfNumbers) ?? {}) as Record<string, number>),
  );
  const changed = (Object.keys(subject) as (keyof RunSubject)[]).find(
    (member) => stored !== undefined && stored.subject[member] !== subject[member],
  );
  if (changed !== undefined && results.size > 0)
    fail(
      'usage',
      `${file}: ${changeTexts[changed]} since the finished cases were run. Run all cases with --restart, or name another directory with --report.`,
    );
  const secondOfDay = Math.floor(now / msPerSecond) % secondsPerDay;

  return {
    findResult: (id: string): CaseResult | undefined => results.get(id),
    addResult(result: CaseResult): void {
      results.set(result.id, result);
      writeJson(file, { subject, results: [...results.values()] } satisfies StoredState);
    },
    forgetResults(): void {
      results.clear();
    },
    /** 1 to 999999, different for each message of a terminal. */
    takeTraceNumber(terminalId: string): number {
      const last = traceNumbers.get(terminalId) ?? secondOfDay * numbersPerSecond;
      const next = (last % maxTraceNumber) + 1;
      traceNumbers.set(terminalId, next);
      // Stored before the message is sent, so that a killed run repeats no number.
      writeJson(pathOfNumbers, Object.fromEntries(traceNumbers));
      return next;
    },
  };
}

export type RunState = ReturnType<typeof openRunState>;
