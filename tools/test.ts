// `npm test`: the static checks, then every test file in a few processes, then what failed, all of it.
// `npm test -- <part of a path>` runs the files that match; `npm run check` runs the checks alone.
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { styleText } from 'node:util';
import { planBatches } from './batches.ts';
import { type GateResult, gates, root, runGate } from './gates.ts';
import { leftBehind } from './left-behind.ts';
import { type Fault, runBatches, type TestRun } from './test-run.ts';

const gatesAtOnce = 2;
/** Below the repository, where the packages are found from it; of this run alone. */
const bundleFolder = join(root, '.cache', `server-bundle-${process.pid}`);
const testFilesLeast = 300;
const testsLeast = 1650;
const runLimitMs = Number(process.env['TEST_LIMIT_SECONDS'] ?? 1200) * 1000;

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
    import('../packages/server/test/database-template.ts'),
    import('../packages/server/test/realm-key-pool.ts'),
    import('../packages/server/test/server-process.ts'),
    import('../packages/server/test/server-bundle.ts'),
  ]);
  const [template, keys] = [join(folder, 'template'), join(folder, 'realm-keys.json')];
  const [bundle] = await Promise.all([
    bundles.bundleServer(bundleFolder),
    databases.makeTemplate(template),
    realmKeys.writeRealmKeys(keys),
  ]);
  return {
    [databases.templateVariable]: template,
    [realmKeys.realmKeysVariable]: keys,
    [servers.bundleVariable]: bundle,
  };
}

async function testPart(patterns: string[], options: string[]): Promise<TestRun> {
  const files = testFiles(patterns);
  const whole = patterns.length === 0;
  const faults = tooFew('test files', files.length, whole ? testFilesLeast : 1);
  if (files.length === 0) return { totals: {}, tests: 0, faults };
  const texts = files.map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-secrets-'));
  const secretsFile = join(folder, 'sent.txt');
  const began = Date.now();
  try {
    const batches = planBatches(texts);
    const made = batches.length > 1 ? await madeOnce(folder) : {};
    const env = { TEST_SECRETS_FILE: secretsFile, ...made };
    const run = await runBatches(batches, options, runLimitMs, env);
    const few = tooFew('tests', run.tests, whole && options.length === 0 ? testsLeast : 1);
    const left = leftBehind({ secretsFile, since: began, folder: tmpdir(), but: folder });
    return { ...run, faults: [...faults, ...run.faults, ...few, ...left] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
    rmSync(bundleFolder, { recursive: true, force: true });
  }
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
  for (const [name, count] of Object.entries(run?.totals ?? {})) console.log(`# ${name} ${count}`);
  return faults.length === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
