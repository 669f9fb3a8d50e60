// `npm test` runs the static checks and the test files at the same time, then prints all failures. `--whole` runs
// every file at full length, as CI does before a merge. `--changed` runs the tests that import changed files,
// nearest first. Words select the files whose path contains one of them. `npm run check` runs the checks alone.
// Other options are passed to Node's test runner.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, styleText } from 'node:util';
import { defined } from '@switchyard/contract';
import { isSource, parseSource, readTexts } from '../architecture-rules/source-files.ts';
import { countLines, readTestFiles } from '../generate/spec-coverage.ts';
import { repositoryRoot } from '../repository-root.ts';
import { findCardDataInFiles } from './card-data-in-temporary-files.ts';
import { changedFiles } from './changed-files.ts';
import { readImporters, testsReachedBy } from './import-graph.ts';
import { nearestFirst, splitByRun, type TestFile, waitingFirst } from './order-test-files.ts';
import {
  emptyRun,
  filesInOneProcess,
  runTestFiles,
  type TestRun,
  type TestRunFault,
} from './run-test-files.ts';
import {
  type CheckResult,
  checksOfFiles,
  runStaticCheck,
  type StaticCheck,
  staticChecks,
} from './static-checks.ts';

/** Below the repository, where the packages are found from it; of this run alone. */
const bundleFolder = join(repositoryRoot, '.cache', `server-bundle-${process.pid}`);
const minimumCounts = {
  everyRun: { files: 450, tests: 3500 },
  wholeRun: { files: 550, tests: 4500 },
};
const runLimitMs = Number(process.env['TEST_LIMIT_SECONDS'] ?? 1800) * 1000;
/** `--changed` starts no test file later than this after the process start. */
const changedStartMs = 20_000;
/** If the preparation took longer, `--changed` still starts files for this time. */
const changedTestsMs = 10_000;
/** Each tool uses more than one core for part of its time. */
const concurrentChecks = 2;

type Choice = {
  patterns: string[];
  isWhole: boolean;
  /** The files that have changed, of `--changed`. */
  changed?: string[];
  /** Options of Node's test runner. */
  runnerOptions: string[];
};

type Plan = {
  files: string[];
  minimum: { files: number; tests: number };
  /** What stays out of this run, in words. */
  note?: string;
  /** Takes the first files only, for as long as `changedStartMs` allows. */
  isLimitedToChanges?: true;
};

function planRun({ patterns, isWhole, changed }: Choice): Plan {
  const files = readTestFiles(repositoryRoot);
  if (changed !== undefined) return planChanged(files, changed);
  if (patterns.length > 0) {
    const selected = files.filter(({ path }) => patterns.some((part) => path.includes(part)));
    return { files: waitingFirst(selected), minimum: { files: 1, tests: 1 } };
  }
  if (isWhole) return { files: waitingFirst(files), minimum: minimumCounts.wholeRun };
  const { everyRun, wholeRun } = splitByRun(files);
  const note = `${wholeRun.length} files that take long were left out: npm test -- --whole`;
  return { files: waitingFirst(everyRun), minimum: minimumCounts.everyRun, note };
}

function planChanged(all: readonly TestFile[], changed: readonly string[]): Plan {
  const sources = readTexts(repositoryRoot).filter(isSource).map(parseSource);
  const reached = testsReachedBy(changed, readImporters(sources, repositoryRoot));
  const files = nearestFirst(splitByRun(all).everyRun, reached);
  const note = `${changed.length} changed files reach ${reached.length} test files; npm test -- --whole runs them all`;
  return {
    files,
    minimum: { files: 1, tests: 1 },
    note,
    isLimitedToChanges: true,
  };
}

async function runStaticChecks(
  checks: readonly StaticCheck[],
  concurrency: number,
): Promise<TestRunFault[]> {
  const checksLeft = [...checks];
  const failed: CheckResult[] = [];
  async function runChecks(): Promise<void> {
    for (let check = checksLeft.shift(); check !== undefined; check = checksLeft.shift()) {
      const result = await runStaticCheck(check);
      if (!result.ok) failed.push(result);
      printCheck(result);
    }
  }
  await Promise.all(Array.from({ length: concurrency }, runChecks));
  return failed.map(({ name }) => ({ where: name, text: 'see its output above' }));
}

function printCheck({ name, ok, output, durationMs }: CheckResult): void {
  const symbol = ok ? styleText('green', '✓') : styleText('red', '✗');
  const time = styleText('dim', `${Math.round(durationMs)} ms`);
  console.log(`${symbol} ${name.padEnd(20)}${time}${ok ? '' : `\n${output}\n`}`);
}

/** A glob that matches no file is no error, so the counts have a minimum. */
function tooFewRan(kind: string, count: number, minimum: number): TestRunFault[] {
  if (count >= minimum) return [];
  return [{ where: 'tests', text: `${count} ${kind} ran, at least ${minimum} were expected` }];
}

/** For many processes, each of which would make and migrate a database, make keys and load the platform's files. */
async function prepareSharedFiles(folder: string): Promise<Record<string, string>> {
  const [databases, realmKeys, servers, bundles] = await Promise.all([
    import('../../packages/server/test/support/database/migrated-database-template.ts'),
    import('../../packages/server/test/support/processes/realm-key-pool.ts'),
    import('../../packages/server/test/support/processes/server-process.ts'),
    import('../sites/bundle-server.ts'),
  ]);
  const keys = join(folder, 'realm-keys.json');
  const [bundle, template] = await Promise.all([
    bundles.bundleServer(repositoryRoot, bundleFolder),
    databases.findTemplateCluster(join(repositoryRoot, '.cache')),
    realmKeys.writeRealmKeys(keys),
  ]);
  return {
    [databases.templateFolderVariable]: template,
    [realmKeys.realmKeysVariable]: keys,
    [servers.bundleVariable]: bundle.file,
  };
}

async function runTests(plan: Plan, { isWhole, runnerOptions }: Choice): Promise<TestRun> {
  const { files } = plan;
  const faults = tooFewRan('test files', files.length, plan.minimum.files);
  if (files.length === 0) return { ...emptyRun(), faults };
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-secrets-'));
  const secretsFile = join(folder, 'sent.txt');
  const startedAt = Date.now();
  try {
    const shared = files.length > filesInOneProcess ? await prepareSharedFiles(folder) : {};
    const size = isWhole ? { TEST_SIZE: 'whole' } : {};
    const run = await runTestFiles(files, {
      runnerOptions,
      limitMs: runLimitMs,
      startLimitMs: plan.isLimitedToChanges
        ? Math.max(changedStartMs - performance.now(), changedTestsMs)
        : runLimitMs,
      isInOrder: plan.isLimitedToChanges ?? false,
      env: { TEST_SECRETS_FILE: secretsFile, ...size, ...shared },
    });
    const minimumTests = runnerOptions.length === 0 ? plan.minimum.tests : 1;
    const cardDataFaults = findCardDataInFiles({
      secretsFile,
      since: startedAt,
      folder: tmpdir(),
      exceptFolder: folder,
    });
    const few = tooFewRan('tests', run.tests, minimumTests);
    return { ...run, faults: [...faults, ...run.faults, ...few, ...cardDataFaults] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
    rmSync(bundleFolder, { recursive: true, force: true });
  }
}

function readChoice(args: string[]): Choice & { isStatic: boolean } {
  const isRunnerOption = (arg: string) => arg.startsWith('--test-');
  const { values, positionals } = parseArgs({
    args: args.filter((arg) => !isRunnerOption(arg)),
    allowPositionals: true,
    options: {
      static: { type: 'boolean', default: false },
      whole: { type: 'boolean', default: false },
      changed: { type: 'boolean', default: false },
      since: { type: 'string' },
    },
  });
  const isLimitedToChanges = values.changed || values.since !== undefined;
  return {
    isStatic: values.static,
    isWhole: values.whole,
    patterns: positionals,
    runnerOptions: args.filter(isRunnerOption),
    ...defined({
      changed: isLimitedToChanges
        ? changedFiles(repositoryRoot, values.since ?? 'main')
        : undefined,
    }),
  };
}

/** The checks and the tests that belong to the choice, at the same time. */
async function runAll(choice: Choice): Promise<TestRun & { note?: string }> {
  const { patterns, changed } = choice;
  const plan = planRun(choice);
  const checks = changed === undefined ? staticChecks : checksOfFiles(changed);
  const chosen = patterns.length > 0 ? [] : checks;
  if (plan.files.length > 1)
    console.log(`${plan.files.length} test files, ${chosen.length} checks …`);
  const [checkFaults, run] = await Promise.all([
    runStaticChecks(chosen, 1),
    runTests(plan, choice),
  ]);
  return { ...run, ...defined({ note: plan.note }), faults: [...checkFaults, ...run.faults] };
}

async function main(args: string[]): Promise<number> {
  const startedAt = performance.now();
  const { isStatic, ...choice } = readChoice(args);
  const run = isStatic
    ? { ...emptyRun(), faults: await runStaticChecks(staticChecks, concurrentChecks) }
    : await runAll(choice);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const { faults, slowest, totals } = run;
  if (slowest.length > 1) console.log('\nThe slowest tests:');
  for (const { where, name, durationMs } of slowest.length > 1 ? slowest : [])
    console.log(
      `${Math.round(durationMs).toString().padStart(7)} ms  ${name}  ${styleText('dim', where)}`,
    );
  const outcome = faults.length === 0 ? styleText('green', 'Passed') : styleText('red', 'Failed');
  console.log(`\n${outcome} after ${seconds} s`);
  for (const { where, text } of faults) console.log(`${styleText('red', '✗')} ${where}  ${text}`);
  for (const [name, count] of Object.entries(totals)) console.log(`# ${name} ${count}`);
  if (run.notBegun > 0) console.log(`${run.notBegun} test files were not begun`);
  if ('note' in run && run.note !== undefined) console.log(run.note);
  const lines = countLines(readFileSync(join(repositoryRoot, 'docs/spec-coverage.md'), 'utf8'));
  console.log(
    `${lines.proved} lines of the specification and the contract have a test, ${lines.unproved} not yet`,
  );
  return faults.length === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
