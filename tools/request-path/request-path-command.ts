// `npm run request-path -- sale`: lists the files of the payments module that one request passes.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readSettings } from '../../packages/server/src/platform/index.ts';
import { startPlatform } from '../../packages/server/src/start.ts';
import { freePorts } from '../../packages/server/test/support/free-ports.ts';
import { repositoryRoot } from '../repository-root.ts';
import { type CalledFunctions, createCallRecorder } from './function-call-recorder.ts';
import { acquirerTimeoutMs, createDemoClient, requestPaths } from './recorded-requests.ts';

const help = `npm run request-path -- ${Object.keys(requestPaths).join(' | ')} | all

Starts a demo platform in this process, sends one request of the selected kind, and lists the files
of packages/server/src/payments that processed it until the transaction was final. Functions that
also run without a request are not listed.

  sale      a card sale that the acquirer approves
  refund    a refund of a captured sale
  timeout   a sale without a response from the acquirer, until its reversal has succeeded
  reversal  the same sale, but only the files that run after the time-out
  offline   the upload of an offline sale, until the acquirer has answered

  --functions   list the functions as well`;

const folder = 'packages/server/src/payments/';
/** Pure rules and values, which any step may look up. */
const valuesFolder = 'transaction/';
const measuredRuns = 3;
const idleMs = 6000;

async function main(): Promise<number> {
  const args = process.argv.slice(2);
  const showsFunctions = args.includes('--functions');
  const [name = '', ...others] = args.filter((each) => each !== '--functions');
  const names = name === 'all' ? Object.keys(requestPaths) : [name];
  if (others.length > 0 || names.some((each) => !(each in requestPaths))) {
    console.error(help);
    return name === '--help' ? 0 : 2;
  }
  const dataDir = mkdtempSync(join(tmpdir(), 'switchyard-request-path-'));
  try {
    const platform = await startDemo(dataDir);
    await measureAll(names, { dataDir, showsFunctions });
    await platform.stop();
    return 0;
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function startDemo(dataDir: string): Promise<{ stop(): Promise<void> }> {
  const [port, devicePort, acquirerPort, qrProviderPort, metricsPort] = await freePorts(5);
  await startPlatform(
    readSettings({
      SWITCHYARD_ENVIRONMENT: 'demo',
      SWITCHYARD_DATA_DIR: dataDir,
      SWITCHYARD_PORT: String(port),
      SWITCHYARD_DEVICE_PORT: String(devicePort),
      SWITCHYARD_ACQUIRER_PORT: String(acquirerPort),
      SWITCHYARD_QR_PROVIDER_PORT: String(qrProviderPort),
      SWITCHYARD_METRICS_PORT: String(metricsPort),
      SWITCHYARD_ACQUIRER_TIMEOUT_MS: String(acquirerTimeoutMs),
      SWITCHYARD_LOG_LEVEL: 'silent',
    }),
  );
  return { stop: stopPlatform };
}

/** The platform closes everything in order on a signal, as an operator stops it. */
function stopPlatform(): Promise<void> {
  return new Promise((resolve) => {
    process.once('beforeExit', () => resolve());
    process.kill(process.pid, 'SIGTERM');
  });
}

async function measureAll(
  names: string[],
  { dataDir, showsFunctions }: { dataDir: string; showsFunctions: boolean },
): Promise<void> {
  const client = await createDemoClient(
    JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8')),
  );
  const recorder = await createCallRecorder(join(repositoryRoot, folder));
  const idle = await recorder.record(() => new Promise((resolve) => setTimeout(resolve, idleMs)));
  for (const name of names) {
    const measure = requestPaths[name];
    if (measure === undefined) throw new Error(`${name} is not a request path`);
    // The first run also loads what is loaded once.
    await measure(client, recorder);
    const runs: CalledFunctions[] = [];
    for (let run = 0; run < measuredRuns; run += 1) runs.push(await measure(client, recorder));
    printPath(name, calledInEvery(runs, idle), showsFunctions);
  }
  client.close();
  await recorder.close();
}

/** The functions that every run called and the idle platform did not. */
function calledInEvery(runs: CalledFunctions[], idle: CalledFunctions): CalledFunctions {
  const [first = new Map<string, Set<string>>(), ...others] = runs;
  const called: CalledFunctions = new Map();
  for (const [file, functions] of first) {
    const calledInAll = [...functions].filter(
      (each) =>
        others.every((run) => run.get(file)?.has(each)) && idle.get(file)?.has(each) !== true,
    );
    if (calledInAll.length > 0) called.set(file, new Set(calledInAll));
  }
  return called;
}

function printPath(name: string, called: CalledFunctions, showsFunctions: boolean): void {
  const files = [...called.keys()].toSorted();
  const steps = files.filter((file) => !file.startsWith(valuesFolder));
  console.log(
    `\n${name}: ${files.length} files of payments, ${steps.length} without ${valuesFolder}`,
  );
  for (const file of files) {
    const functions = showsFunctions ? `  ${[...(called.get(file) ?? [])].join(', ')}` : '';
    console.log(`  ${file}${functions}`);
  }
}

process.exitCode = await main();
