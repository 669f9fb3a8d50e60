// `npm run drill -- citus`: tests the platform on a temporary cluster.
import { type CloseStack, createCloseStack } from '../bench/close-in-reverse-order.ts';
import { UsageError } from '../parse-options.ts';
import { checkRouting } from './citus/check-routing.ts';
import { type Cluster, openCluster } from './citus/cluster.ts';
import { ExtensionMissingError, findBinDir } from './citus/find-bin-dir.ts';
import { measureFigures } from './citus/measure-figures.ts';
import { moveShards } from './citus/move-shards.ts';
import { runTests } from './citus/run-tests.ts';
import { killWorker } from './citus/worker-failure.ts';
import { type DrillOptions, readDrillOptions, type Step, usage } from './drill-options.ts';

const exitCodes = { faultFound: 1, wrongUsage: 2, extensionMissing: 3, interrupted: 130 };

type RunStep = (cluster: Cluster, options: DrillOptions) => Promise<string[]>;

const runStep: Record<Step, RunStep> = {
  tests: runTests,
  routing: checkRouting,
  failure: killWorker,
  move: moveShards,
  figures: measureFigures,
};

/** The nodes are processes of their own, which would outlive the drill. */
function closeBeforeEarlyEnd(closers: CloseStack): void {
  let isEnding = false;
  function end(reason: string, exitCode: number): void {
    if (isEnding) return;
    isEnding = true;
    console.error(`drill: ${reason}; stopping the nodes …`);
    void closers.close().finally(() => process.exit(exitCode));
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => end(signal, exitCodes.interrupted));
  process.stdout.on('error', () => end('standard output was closed', exitCodes.interrupted));
  process.on('uncaughtException', (error) => end(String(error.stack), exitCodes.faultFound));
}

async function run(options: DrillOptions): Promise<number> {
  const binDir = findBinDir(options.binDir);
  const closers = createCloseStack();
  closeBeforeEarlyEnd(closers);
  let faultCount = 0;
  try {
    const cluster = openCluster(closers, binDir);
    for (const step of options.steps) {
      console.log(`\n${step}`);
      const stepFaults = await runStep[step](cluster, options);
      for (const fault of stepFaults) console.log(`✗ ${fault}`);
      faultCount += stepFaults.length;
    }
  } finally {
    await closers.close();
  }
  console.log(faultCount === 0 ? '\nAll well' : `\nFailed, faults: ${faultCount}`);
  return faultCount === 0 ? 0 : exitCodes.faultFound;
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}\n  ${describe(error.cause)}`;
}

async function main(args: string[]): Promise<number> {
  try {
    const options = readDrillOptions(args);
    if (options === undefined) process.stdout.write(usage);
    else return await run(options);
    return 0;
  } catch (error) {
    process.stderr.write(`drill: ${describe(error)}\n`);
    if (error instanceof ExtensionMissingError) return exitCodes.extensionMissing;
    if (!(error instanceof UsageError)) return exitCodes.faultFound;
    process.stderr.write(`\n${usage}`);
    return exitCodes.wrongUsage;
  }
}

process.exitCode = await main(process.argv.slice(2));
