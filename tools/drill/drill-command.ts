// `npm run drill -- citus`: tests the platform on a temporary cluster.
import { createCloseStack } from '../bench/close-in-reverse-order.ts';
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

async function run(options: DrillOptions): Promise<number> {
  const binDir = findBinDir(options.binDir);
  const closers = createCloseStack();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      console.log(`${signal}: cleaning up …`);
      void closers.close().finally(() => process.exit(exitCodes.interrupted));
    });
  }
  const faults: string[] = [];
  try {
    const cluster = openCluster(closers, binDir);
    for (const step of options.steps) {
      console.log(`\n${step}`);
      const stepFaults = await runStep[step](cluster, options);
      for (const fault of stepFaults) console.log(`✗ ${fault}`);
      faults.push(...stepFaults.map((fault) => `${step}: ${fault}`));
    }
  } finally {
    await closers.close();
  }
  console.log(faults.length === 0 ? '\nAll well' : `\nFailed: ${faults.length} faults`);
  return faults.length === 0 ? 0 : exitCodes.faultFound;
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
