// Runs test files in a few processes, each of which takes the next file when it has finished one.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { styleText } from 'node:util';
import { repositoryRoot } from '../repository-root.ts';
import { exitCodes } from './console-reporter.ts';
import { nextFileRequest, nextFileTest } from './next-file.ts';
import { type Results, resultsVariable, slowestOf } from './results-file-reporter.ts';

/** More than this gain little: the tests compute for three quarters of their time. */
const processesMax = 4;
const processesMin = 3;
/** So few files run in one process: each process starts a database and loads the platform. */
export const filesInOneProcess = 12;
/** What a process wrote before its end is read after it. */
const outputWaitMs = 1000;
const progressEvery = 25;
/** Tests make and drop many objects: a larger young generation halves the time of garbage collections. */
const youngGeneration = '--max-semi-space-size=64';

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
  /** Of Node's own test runner, for every process. */
  runnerOptions: readonly string[];
  /** After it every test process is ended, which is a fault. */
  limitMs: number;
  /** After it no further file is begun. */
  startLimitMs: number;
  /** Every process takes the first file that is left; otherwise every second process takes the last. */
  isInOrder?: boolean;
  /** Variables in addition to those of this process. */
  env: Readonly<Record<string, string>>;
};

export async function runTestFiles(
  files: readonly string[],
  { runnerOptions, limitMs, startLimitMs, isInOrder = false, env }: RunOptions,
): Promise<TestRun> {
  const began = performance.now();
  const waiting = [...files];
  const all = emptyRun();
  const limit = setTimeout(
    () => stopAll('SIGKILL', `stopped: the run took more than ${limitMs / 1000} s`),
    limitMs,
  );
  const mayBegin = () => stopped === undefined && performance.now() - began < startLimitMs;
  function takeFile(takesFirst: boolean): string | undefined {
    if (!mayBegin()) return undefined;
    const file = takesFirst ? waiting.shift() : waiting.pop();
    const begun = files.length - waiting.length;
    if (file !== undefined && begun % progressEvery === 0)
      printProgress(begun, files.length, began);
    return file;
  }
  /**
   * Starts a new process after one that ended early. One that failed before its first file is not replaced,
   * because the next would fail too.
   */
  async function runProcesses(takesFirst: boolean): Promise<void> {
    let takesFiles = true;
    while (takesFiles && waiting.length > 0 && mayBegin()) {
      takesFiles = false;
      const takeNext = () => {
        const file = takeFile(takesFirst);
        takesFiles ||= file !== undefined;
        return file;
      };
      add(all, await runProcess(takeNext, runnerOptions, env));
    }
  }
  const processes =
    files.length <= filesInOneProcess
      ? 1
      : Math.min(processesMax, Math.max(processesMin, availableParallelism()));
  await Promise.all(
    Array.from({ length: processes }, (_, at) => runProcesses(isInOrder || at % 2 === 0)),
  );
  clearTimeout(limit);
  const isTimeUp = performance.now() - began >= startLimitMs;
  if (stopped === undefined && isTimeUp) all.notBegun = waiting.length;
  else for (const file of waiting) all.faults.push({ where: file, text: 'this file was not run' });
  return all;
}

function printProgress(begun: number, total: number, began: number): void {
  const seconds = Math.round((performance.now() - began) / 1000);
  console.log(styleText('dim', `${begun} of ${total} test files begun after ${seconds} s`));
}

function add(all: TestRun, run: TestRun): void {
  all.tests += run.tests;
  all.faults.push(...run.faults);
  all.slowest = slowestOf([...all.slowest, ...run.slowest]);
  for (const [name, count] of Object.entries(run.totals)) {
    all.totals[name] = (all.totals[name] ?? 0) + count;
  }
}

/** A chosen name must not leave out the test that waits for the next file. */
function argumentsOf(runnerOptions: readonly string[]): string[] {
  const isByName = runnerOptions.some((option) => option.startsWith('--test-name-pattern'));
  return [
    youngGeneration,
    ...runnerOptions,
    ...(isByName ? [`--test-name-pattern=^${nextFileTest}$`] : []),
    '--test-reporter=./tools/test-runner/console-reporter.ts',
    '--test-reporter-destination=stdout',
    '--test-reporter=./tools/test-runner/results-file-reporter.ts',
    '--test-reporter-destination=stdout',
    'tools/test-runner/test-process.ts',
  ];
}

async function runProcess(
  takeFile: () => string | undefined,
  runnerOptions: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<TestRun> {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-results-'));
  const resultsFile = join(folder, 'results.json');
  const files: string[] = [];
  function nextFile(): string {
    const file = takeFile();
    if (file !== undefined) files.push(file);
    return file ?? '';
  }
  try {
    const variables = { ...env, [resultsVariable]: resultsFile };
    const ending = await runNode(argumentsOf(runnerOptions), variables, nextFile);
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
  nextFile: () => string,
): Promise<ProcessEnd> {
  const child = spawn(process.execPath, args, {
    cwd: repositoryRoot,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    detached: true,
    env: { ...process.env, ...(process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}), ...env },
  });
  running.add(child);
  child.on('message', (message) => {
    // A process that has already ended gets no answer; the exit handler reports how it ended.
    if (message === nextFileRequest) child.send(nextFile(), () => {});
  });
  if (child.stdout !== null) printLines(child.stdout, process.stdout);
  if (child.stderr !== null) printLines(child.stderr, process.stderr);
  const closed = new Promise((done) => child.on('close', done));
  const code = await new Promise<number>((done) => {
    child.on('error', () => done(1));
    child.on('exit', (exitCode) => done(exitCode ?? 1));
  });
  running.delete(child);
  // A server that it left behind may hold the pipes for ever.
  await Promise.race([closed, pause(outputWaitMs, undefined, { ref: false })]);
  child.stdout?.destroy();
  child.stderr?.destroy();
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

/** The file during which a process ended, or after which it hung. */
const lastOf = (files: readonly string[]) =>
  files.length === 0
    ? 'a process without files'
    : `${files.at(-1)} (file ${files.length} of its process)`;

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
    return { ...emptyRun(), faults: [{ where: lastOf(files), text }] };
  }
  const { tests, totals, failures, slowest, files: ran } = JSON.parse(written) as Results;
  const faults = failures.map(({ file, line, name, message }) => ({
    where: `${relative(repositoryRoot, file)}:${line}`,
    text: `${name}\n    ${message}`,
  }));
  // A process that was ended from outside did not reach all of its files.
  const isWhole = stopped === undefined && code !== exitCodes.nothingHappens;
  for (const file of isWhole ? files : []) {
    if (ran[join(repositoryRoot, file)] !== undefined) continue;
    faults.push({ where: file, text: 'no test of this file ran' });
  }
  const hung = Object.values<number>(exitCodes).includes(code);
  if (isWhole && code === 0 && Object.keys(totals).length === 0) {
    const text = 'the process ended before its last test: something called process.exit';
    faults.push({ where: lastOf(files), text });
  }
  if (stopped !== undefined || hung || (code !== 0 && faults.length === 0)) {
    faults.push({ where: lastOf(files), text: stopped ?? howItEnded(code) });
  }
  const located = slowest.map(({ file, ...test }) => ({
    where: relative(repositoryRoot, file),
    ...test,
  }));
  return { totals, tests, faults, slowest: located, notBegun: 0 };
}

function howItEnded(code: number): string {
  if (code === exitCodes.handlesLeftOpen) return 'hung after the last test: a handle was left open';
  if (code === exitCodes.nothingHappens) return 'hung: a test neither ended nor failed';
  return `the test process ended with exit code ${code}, and no test failed`;
}
