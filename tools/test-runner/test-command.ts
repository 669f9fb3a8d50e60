// `npm test`: the static checks, then every test file in a few processes, then what failed, all of it.
// `npm test -- --whole` leaves no file out, as everything that lands is tried; `npm test -- <part of a path>` runs
// the files that match; `npm run check` runs the checks alone.
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { styleText } from 'node:util';
import { findCardDataInFiles } from './card-data-in-temporary-files.ts';
import { runBatches, type TestRun, type TestRunFault } from './run-batches.ts';
import { type CheckResult, root, runStaticCheck, staticChecks } from './static-checks.ts';
import { planBatches, splitByRun, type TestFile } from './test-batches.ts';

const concurrentChecks = 2;
/** Below the repository, where the packages are found from it; of this run alone. */
const bundleFolder = join(root, '.cache', `server-bundle-${process.pid}`);
const minimumCounts = {
  everyRun: { files: 450, tests: 3500 },
  wholeRun: { files: 550, tests: 4500 },
};
const runLimitMs = Number(process.env['TEST_LIMIT_SECONDS'] ?? 1800) * 1000;
const ownOptions = ['--static', '--whole'];

type TestSelection = { patterns: string[]; isWhole: boolean };

/** Patterns select all files that match; `leftOut` counts the files that only a whole run includes. */
function testFiles({ patterns, isWhole }: TestSelection): { files: TestFile[]; leftOut: number } {
  const paths = globSync('{packages/*/{src,test},tools}/**/*.test.ts', { cwd: root }).sort();
  const isSelected = (path: string) =>
    patterns.some((part) => path.split(sep).join('/').includes(part));
  const selectedPaths = patterns.length === 0 ? paths : paths.filter(isSelected);
  const files = selectedPaths.map((path) => ({
    path,
    text: readFileSync(join(root, path), 'utf8'),
  }));
  if (isWhole || patterns.length > 0) return { files, leftOut: 0 };
  const { everyRun, wholeRun } = splitByRun(files);
  return { files: everyRun, leftOut: wholeRun.length };
}

/** Two at a time: each tool uses more than one core for part of its time. */
async function runStaticChecks(): Promise<CheckResult[]> {
  const checksLeft = [...staticChecks];
  const results: CheckResult[] = [];
  async function runChecks(): Promise<void> {
    for (let check = checksLeft.shift(); check !== undefined; check = checksLeft.shift()) {
      const result = await runStaticCheck(check);
      results.push(result);
      printCheck(result);
    }
  }
  await Promise.all(Array.from({ length: concurrentChecks }, runChecks));
  return results;
}

function printCheck({ name, ok, output, durationMs }: CheckResult): void {
  const symbol = ok ? styleText('green', '✓') : styleText('red', '✗');
  const time = styleText('dim', `${Math.round(durationMs)} ms`);
  console.log(`${symbol} ${name.padEnd(12)}${time}${ok ? '' : `\n${output}\n`}`);
}

/** A glob that matches no file is no error, so the counts have a minimum. */
function tooFewRan(kind: string, count: number, minimum: number): TestRunFault[] {
  if (count >= minimum) return [];
  return [{ where: 'tests', text: `${count} ${kind} ran, at least ${minimum} were expected` }];
}

async function runStaticPart(): Promise<TestRunFault[]> {
  const results = await runStaticChecks();
  return results
    .filter(({ ok }) => !ok)
    .map(({ name }) => ({ where: name, text: 'see its output above' }));
}

/** For many processes, each of which would make and migrate a database, make keys and load the platform's files. */
async function prepareSharedFiles(folder: string): Promise<Record<string, string>> {
  const [databases, realmKeys, servers, bundles] = await Promise.all([
    import('../../packages/server/test/support/database/migrated-database-template.ts'),
    import('../../packages/server/test/support/processes/realm-key-pool.ts'),
    import('../../packages/server/test/support/processes/server-process.ts'),
    import('../../packages/server/test/support/processes/server-bundle.ts'),
  ]);
  const [template, keys] = [join(folder, 'template'), join(folder, 'realm-keys.json')];
  const [bundle] = await Promise.all([
    bundles.bundleServer(bundleFolder),
    databases.createTemplateCluster(template),
    realmKeys.writeRealmKeys(keys),
  ]);
  return {
    [databases.templateFolderVariable]: template,
    [realmKeys.realmKeysVariable]: keys,
    [servers.bundleVariable]: bundle,
  };
}

async function runTestPart(
  choice: TestSelection,
  options: string[],
): Promise<TestRun & { leftOut: number }> {
  const { files, leftOut } = testFiles(choice);
  const ofAll = choice.isWhole ? minimumCounts.wholeRun : minimumCounts.everyRun;
  const minimum = choice.patterns.length === 0 ? ofAll : { files: 1, tests: 1 };
  const faults = tooFewRan('test files', files.length, minimum.files);
  if (files.length === 0) return { totals: {}, tests: 0, faults, leftOut };
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-secrets-'));
  const secretsFile = join(folder, 'sent.txt');
  const startedAt = Date.now();
  try {
    const batches = planBatches(files);
    const made = batches.length > 1 ? await prepareSharedFiles(folder) : {};
    const env = { TEST_SECRETS_FILE: secretsFile, ...made };
    const run = await runBatches(batches, options, runLimitMs, env);
    const few = tooFewRan('tests', run.tests, options.length === 0 ? minimum.tests : 1);
    const cardDataFaults = findCardDataInFiles({
      secretsFile,
      since: startedAt,
      folder: tmpdir(),
      but: folder,
    });
    return { ...run, leftOut, faults: [...faults, ...run.faults, ...few, ...cardDataFaults] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
    rmSync(bundleFolder, { recursive: true, force: true });
  }
}

async function main(args: string[]): Promise<number> {
  const startedAt = performance.now();
  const options = args.filter((arg) => arg.startsWith('--') && !ownOptions.includes(arg));
  const patterns = args.filter((arg) => !arg.startsWith('--'));
  const staticFaults = patterns.length === 0 ? await runStaticPart() : [];
  const run = args.includes('--static')
    ? undefined
    : await runTestPart({ patterns, isWhole: args.includes('--whole') }, options);
  const faults = [...staticFaults, ...(run?.faults ?? [])];
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const outcome = faults.length === 0 ? styleText('green', 'All well') : styleText('red', 'Failed');
  console.log(`\n${outcome} after ${seconds} s`);
  for (const { where, text } of faults) console.log(`${styleText('red', '✗')} ${where}  ${text}`);
  for (const [name, count] of Object.entries(run?.totals ?? {})) console.log(`# ${name} ${count}`);
  const leftOut = run?.leftOut ?? 0;
  if (leftOut > 0)
    console.log(`${leftOut} files that take long were left out: npm test -- --whole`);
  return faults.length === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
