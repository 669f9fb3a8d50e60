// Runs batches of test files, each in a process of its own, so many at a time, and adds up what they did.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { styleText } from 'node:util';
import { exitCodes } from './console-reporter.ts';
import { type Results, resultsVariable, slowestOf } from './results-file-reporter.ts';
import { root } from './static-checks.ts';

/** More than this gain little: the tests compute for three quarters of their time. */
const workersMax = 4;
const workersMin = 3;
/** What a process wrote before its end is read after it. */
const outputWaitMs = 1000;

export type TestRunFault = { where: string; text: string };
export type SlowTest = { where: string; name: string; durationMs: number };
export type TestRun = {
  totals: Record<string, number>;
  tests: number;
  faults: TestRunFault[];
  /** The slowest first, at most `slowestMax`. */
  slowest: SlowTest[];
  /** How many files were not begun, because `startLimitMs` was over. */
  notBegun: number;
};

export function emptyRun(): TestRun {
  return { totals: {}, tests: 0, faults: [], slowest: [], notBegun: 0 };
}

/** How a process ended; `stopped` says why we ended it ourselves. */
export type ProcessEnd = { code: number; stopped?: string };

/** Each process is the first of its own group, so that a run that hangs leaves nothing. */
const running = new Set<ChildProcess>();
let stopped: string | undefined;

function stopAll(signal: NodeJS.Signals, why: string): void {
  stopped ??= why;
  for (const { pid, exitCode } of running) {
    if (pid !== undefined && exitCode === null) process.kill(-pid, signal);
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => stopAll(signal, signal));
}

type RunOptions = {
  /** Of Node's own test runner, for every batch. */
  runnerOptions: readonly string[];
  /** After it every test process is ended, which is a fault. */
  limitMs: number;
  /** After it no further batch is begun. */
  startLimitMs: number;
  /** Variables in addition to those of this process. */
  env: Readonly<Record<string, string>>;
};

/** Takes the batches from both ends until none is left. */
export async function runBatches(
  batches: readonly string[][],
  { runnerOptions, limitMs, startLimitMs, env }: RunOptions,
): Promise<TestRun> {
  const began = performance.now();
  const waiting = [...batches];
  const all = emptyRun();
  let files = 0;
  const limit = setTimeout(
    () => stopAll('SIGKILL', `stopped: the run took more than ${limitMs / 1000} s`),
    limitMs,
  );
  async function runWorker(takesFirst: boolean): Promise<void> {
    while (
      waiting.length > 0 &&
      stopped === undefined &&
      performance.now() - began < startLimitMs
    ) {
      const batch = (takesFirst ? waiting.shift() : waiting.pop()) ?? [];
      add(all, await runBatch(batch, runnerOptions, env));
      files += batch.length;
      if (batches.length > 1) printProgress(files, batches.flat().length, began);
    }
  }
  const workers = Math.min(workersMax, Math.max(workersMin, availableParallelism()));
  await Promise.all(Array.from({ length: workers }, (_, at) => runWorker(at % 2 === 0)));
  clearTimeout(limit);
  if (stopped === undefined) all.notBegun = waiting.flat().length;
  else
    for (const batch of waiting) all.faults.push({ where: nameOf(batch), text: 'was never begun' });
  return all;
}

function printProgress(done: number, total: number, began: number): void {
  const seconds = Math.round((performance.now() - began) / 1000);
  console.log(styleText('dim', `${done} of ${total} test files after ${seconds} s`));
}

function add(all: TestRun, run: TestRun): void {
  all.tests += run.tests;
  all.faults.push(...run.faults);
  all.slowest = slowestOf([...all.slowest, ...run.slowest]);
  for (const [name, count] of Object.entries(run.totals)) {
    all.totals[name] = (all.totals[name] ?? 0) + count;
  }
}

async function runBatch(
  files: readonly string[],
  options: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<TestRun> {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-results-'));
  const resultsFile = join(folder, 'results.json');
  const args = [
    '--test',
    '--test-isolation=none',
    ...options,
    '--test-reporter=./tools/test-runner/console-reporter.ts',
    '--test-reporter-destination=stdout',
    '--test-reporter=./tools/test-runner/results-file-reporter.ts',
    '--test-reporter-destination=stdout',
    ...files,
  ];
  try {
    const ending = await runNode(args, { ...env, [resultsVariable]: resultsFile });
    return faultsOfProcess(
      existsSync(resultsFile) ? readFileSync(resultsFile, 'utf8') : '',
      files,
      ending,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runNode(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<ProcessEnd> {
  const child = spawn(process.execPath, args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    env: { ...process.env, ...(process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}), ...env },
  });
  running.add(child);
  printLines(child.stdout, process.stdout);
  printLines(child.stderr, process.stderr);
  const closed = new Promise((done) => child.on('close', done));
  const code = await new Promise<number>((done) => {
    child.on('error', () => done(1));
    child.on('exit', (exitCode) => done(exitCode ?? 1));
  });
  running.delete(child);
  // A server that it left behind may hold the pipes for ever.
  await Promise.race([closed, pause(outputWaitMs, undefined, { ref: false })]);
  child.stdout.destroy();
  child.stderr.destroy();
  return stopped === undefined ? { code } : { code, stopped };
}

/** Whole lines at a time, so that two processes do not write into each other's. */
function printLines(from: Readable, to: NodeJS.WriteStream): void {
  let rest = '';
  from.setEncoding('utf8');
  from.on('data', (text: string) => {
    const end = (rest + text).lastIndexOf('\n') + 1;
    const whole = (rest + text).slice(0, end);
    rest = (rest + text).slice(end);
    if (whole !== '') to.write(whole);
  });
  from.on('end', () => rest !== '' && to.write(`${rest}\n`));
}

const nameOf = (batch: readonly string[]) => `${batch[0]} (${batch.length} files)`;

/**
 * A file whose tests were never reached ends as well as one whose tests passed.
 *
 * @param written the results as the process wrote them; empty where it could not
 */
export function faultsOfProcess(
  written: string,
  files: readonly string[],
  { code, stopped }: ProcessEnd,
): TestRun {
  if (written === '') {
    const text = stopped ?? howItEnded(code);
    return { ...emptyRun(), faults: [{ where: nameOf(files), text }] };
  }
  const { tests, totals, failures, slowest, files: ran } = JSON.parse(written) as Results;
  const faults = failures.map(({ file, line, name, message }) => ({
    where: `${relative(root, file)}:${line}`,
    text: `${name}\n    ${message}`,
  }));
  // A process that was ended from outside did not reach all of its files.
  const isWhole = stopped === undefined && code !== exitCodes.nothingHappens;
  for (const file of isWhole ? files : []) {
    if (ran[join(root, file)] !== undefined) continue;
    faults.push({ where: file, text: 'not one test of this file ran' });
  }
  const hung = Object.values<number>(exitCodes).includes(code);
  if (stopped !== undefined || hung || (code !== 0 && faults.length === 0)) {
    faults.push({ where: nameOf(files), text: stopped ?? howItEnded(code) });
  }
  const located = slowest.map(({ file, ...test }) => ({ where: relative(root, file), ...test }));
  return { totals, tests, faults, slowest: located, notBegun: 0 };
}

function howItEnded(code: number): string {
  if (code === exitCodes.handlesLeftOpen) return 'hung after the last test: a handle was left open';
  if (code === exitCodes.nothingHappens) return 'hung: a test neither ended nor failed';
  return `the test process ended with ${code}, and no test says why`;
}
