// `npm test`: the static checks, then every test file in one process, then what failed, all of it.
// `npm test -- <part of a path>` runs the files that match; `npm run check` runs the checks alone.
import { spawn } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, sep } from 'node:path';
import { styleText } from 'node:util';
import { type GateResult, gates, root, runGate } from './gates.ts';
import { exitCodes } from './reporter.ts';
import type { Results } from './results-reporter.ts';

const gatesAtOnce = 2;
const testFilesLeast = 60;
const testsLeast = 550;
const runLimitMs = Number(process.env['TEST_LIMIT_SECONDS'] ?? 600) * 1000;
const setupFile = 'packages/server/test/setup.ts';

type Fault = { where: string; text: string };
type TestRun = { totals: string[]; tests: number; faults: Fault[] };

function testFiles(patterns: string[]): string[] {
  const all = globSync('{packages/*/{src,test},tools}/**/*.test.ts', { cwd: root }).sort();
  if (patterns.length === 0) return all;
  return all.filter((file) => patterns.some((part) => file.split(sep).join('/').includes(part)));
}

/** Two at a time: each tool uses more than one core for part of its time. */
async function runGates(): Promise<GateResult[]> {
  const waiting = [...gates];
  const results: GateResult[] = [];
  async function lane(): Promise<void> {
    for (let gate = waiting.shift(); gate !== undefined; gate = waiting.shift()) {
      const result = await runGate(gate);
      results.push(result);
      printGate(result);
    }
  }
  await Promise.all(Array.from({ length: gatesAtOnce }, lane));
  return results;
}

function printGate({ name, ok, output, durationMs }: GateResult): void {
  const mark = ok ? styleText('green', '✓') : styleText('red', '✗');
  const time = styleText('dim', `${Math.round(durationMs)} ms`);
  console.log(`${mark} ${name.padEnd(12)}${time}${ok ? '' : `\n${output}\n`}`);
}

/** Runs the files in one process of their own group, so that a run that hangs leaves nothing. */
async function runTests(files: string[], options: string[]): Promise<TestRun> {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-test-'));
  const resultsFile = join(folder, 'results.json');
  const setup = existsSync(join(root, setupFile)) ? ['--import', `./${setupFile}`] : [];
  const args = [
    ...['--test', '--test-isolation=none', ...setup, ...options],
    ...['--test-reporter=./tools/reporter.ts', '--test-reporter-destination=stdout'],
    ...[
      '--test-reporter=./tools/results-reporter.ts',
      `--test-reporter-destination=${resultsFile}`,
    ],
    ...files,
  ];
  try {
    const { code, tooLong } = await runNode(args);
    const text = existsSync(resultsFile) ? readFileSync(resultsFile, 'utf8') : '';
    if (text === '')
      return { totals: [], tests: 0, faults: [fault('tests', ending(code, tooLong))] };
    const results = JSON.parse(text) as Results;
    return { ...results, faults: judge(results, files, code) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runNode(args: string[]): Promise<{ code: number; tooLong: boolean }> {
  const child = spawn(process.execPath, args, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true,
    env: { ...process.env, ...(process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}) },
  });
  function killGroup(signal: NodeJS.Signals): void {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, signal);
  }
  let tooLong = false;
  const limit = setTimeout(() => {
    tooLong = true;
    killGroup('SIGKILL');
  }, runLimitMs);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => killGroup(signal));
  const code = await new Promise<number>((done) => {
    child.on('error', () => done(1));
    child.on('exit', (exitCode) => done(exitCode ?? 1));
  });
  clearTimeout(limit);
  return { code, tooLong };
}

function ending(code: number, tooLong: boolean): string {
  if (tooLong) return `stopped: the run took more than ${runLimitMs / 1000} s`;
  if (code === exitCodes.handlesLeftOpen) return 'hung after the last test: a handle was left open';
  if (code === exitCodes.nothingHappens) return 'hung: a test neither ended nor failed';
  return `the test process ended with ${code} before its results were written`;
}

/** A file whose tests were never reached ends as well as one whose tests passed. */
function judge(results: Results, files: string[], code: number): Fault[] {
  const failed = results.failures.map(({ file, line, name }) =>
    fault(`${relative(root, file)}:${line}`, name),
  );
  const idle = files.filter((file) => results.files[join(root, file)] === undefined);
  const faults = [...failed, ...idle.map((file) => fault(file, 'not one test of this file ran'))];
  if (code !== 0 && faults.length === 0) return [fault('tests', `node ended with ${code}`)];
  return faults;
}

function fault(where: string, text: string): Fault {
  return { where, text };
}

/** A glob that matches nothing ends well, too. */
function tooFew(what: string, found: number, least: number): Fault[] {
  if (found >= least) return [];
  return [fault('tests', `${found} ${what} ran, at least ${least} were expected`)];
}

async function staticPart(): Promise<Fault[]> {
  const results = await runGates();
  return results.filter(({ ok }) => !ok).map(({ name }) => fault(name, 'see its output above'));
}

async function testPart(patterns: string[], options: string[]): Promise<TestRun> {
  const files = testFiles(patterns);
  const whole = patterns.length === 0;
  const faults = tooFew('test files', files.length, whole ? testFilesLeast : 1);
  if (files.length === 0) return { totals: [], tests: 0, faults };
  const run = await runTests(files, options);
  const few = tooFew('tests', run.tests, whole && options.length === 0 ? testsLeast : 1);
  return { ...run, faults: [...faults, ...run.faults, ...few] };
}

async function main(args: string[]): Promise<number> {
  const began = performance.now();
  const options = args.filter((arg) => arg.startsWith('--') && arg !== '--static');
  const patterns = args.filter((arg) => !arg.startsWith('--'));
  const broken = patterns.length === 0 ? await staticPart() : [];
  const run = args.includes('--static') ? undefined : await testPart(patterns, options);
  const faults = [...broken, ...(run?.faults ?? [])];
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const verdict = faults.length === 0 ? styleText('green', 'All well') : styleText('red', 'Failed');
  console.log(`\n${verdict} after ${seconds} s`);
  for (const { where, text } of faults) console.log(`${styleText('red', '✗')} ${where}  ${text}`);
  for (const line of run?.totals ?? []) console.log(`# ${line}`);
  return faults.length === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
