// `npm test`: the static checks, then every test file in a few processes, then what failed, all of it.
// `npm test -- --whole` leaves no file out, as everything that lands is tried; `npm test -- <part of a path>` runs
// the files that match; `npm run check` runs the checks alone.
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { styleText } from 'node:util';
import { leftBehind } from './card-data-in-temporary-files.ts';
import { type Fault, runBatches, type TestRun } from './run-batches.ts';
import { type GateResult, gates, root, runGate } from './static-checks.ts';
import { byRun, planBatches, type TestFile } from './test-batches.ts';

const gatesAtOnce = 2;
/** Below the repository, where the packages are found from it; of this run alone. */
const bundleFolder = join(root, '.cache', `server-bundle-${process.pid}`);
const leasts = { everyRun: { files: 450, tests: 3500 }, wholeRun: { files: 550, tests: 4500 } };
const runLimitMs = Number(process.env['TEST_LIMIT_SECONDS'] ?? 1800) * 1000;
const ownOptions = ['--static', '--whole'];

type Choice = { patterns: string[]; isWhole: boolean };

/** Who names files gets all that match; `leftOut` tells how many a run of everything does not try. */
function testFiles({ patterns, isWhole }: Choice): { files: TestFile[]; leftOut: number } {
  const paths = globSync('{packages/*/{src,test},tools}/**/*.test.ts', { cwd: root }).sort();
  const isAsked = (path: string) =>
    patterns.some((part) => path.split(sep).join('/').includes(part));
  const asked = patterns.length === 0 ? paths : paths.filter(isAsked);
  const files = asked.map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
  if (isWhole || patterns.length > 0) return { files, leftOut: 0 };
  const { everyRun, wholeRun } = byRun(files);
  return { files: everyRun, leftOut: wholeRun.length };
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

/** A glob that matches nothing ends well, too. */
function tooFew(what: string, found: number, least: number): Fault[] {
  if (found >= least) return [];
  return [{ where: 'tests', text: `${found} ${what} ran, at least ${least} were expected` }];
}

async function staticPart(): Promise<Fault[]> {
  const results = await runGates();
  return results
    .filter(({ ok }) => !ok)
    .map(({ name }) => ({ where: name, text: 'see its output above' }));
}

/** For many processes, each of which would make and migrate a database, make keys and load the platform's files. */
async function madeOnce(folder: string): Promise<Record<string, string>> {
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

async function testPart(choice: Choice, options: string[]): Promise<TestRun & { leftOut: number }> {
  const { files, leftOut } = testFiles(choice);
  const ofAll = choice.isWhole ? leasts.wholeRun : leasts.everyRun;
  const least = choice.patterns.length === 0 ? ofAll : { files: 1, tests: 1 };
  const faults = tooFew('test files', files.length, least.files);
  if (files.length === 0) return { totals: {}, tests: 0, faults, leftOut };
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-secrets-'));
  const secretsFile = join(folder, 'sent.txt');
  const began = Date.now();
  try {
    const batches = planBatches(files);
    const made = batches.length > 1 ? await madeOnce(folder) : {};
    const env = { TEST_SECRETS_FILE: secretsFile, ...made };
    const run = await runBatches(batches, options, runLimitMs, env);
    const few = tooFew('tests', run.tests, options.length === 0 ? least.tests : 1);
    const left = leftBehind({ secretsFile, since: began, folder: tmpdir(), but: folder });
    return { ...run, leftOut, faults: [...faults, ...run.faults, ...few, ...left] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
    rmSync(bundleFolder, { recursive: true, force: true });
  }
}

async function main(args: string[]): Promise<number> {
  const began = performance.now();
  const options = args.filter((arg) => arg.startsWith('--') && !ownOptions.includes(arg));
  const patterns = args.filter((arg) => !arg.startsWith('--'));
  const broken = patterns.length === 0 ? await staticPart() : [];
  const run = args.includes('--static')
    ? undefined
    : await testPart({ patterns, isWhole: args.includes('--whole') }, options);
  const faults = [...broken, ...(run?.faults ?? [])];
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const verdict = faults.length === 0 ? styleText('green', 'All well') : styleText('red', 'Failed');
  console.log(`\n${verdict} after ${seconds} s`);
  for (const { where, text } of faults) console.log(`${styleText('red', '✗')} ${where}  ${text}`);
  for (const [name, count] of Object.entries(run?.totals ?? {})) console.log(`# ${name} ${count}`);
  const leftOut = run?.leftOut ?? 0;
  if (leftOut > 0)
    console.log(`${leftOut} files that take long were left out: npm test -- --whole`);
  return faults.length === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
