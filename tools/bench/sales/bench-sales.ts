// `bench sales`: the baselines and the knee alternate, then 70 % of the knee, full tables, memory.
import { defined } from '@switchyard/contract';
import { bestRuns, type CallersRun } from '../baseline/measure-callers.ts';
import type { BenchOptions } from '../bench-options.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import { measureStartTimes } from '../environment/measure-npm-start.ts';
import type { Platform } from '../environment/platform.ts';
import { profileStep } from '../report/profile-step.ts';
import type { BenchResult } from '../report/report.ts';
import { perSecond, seconds } from '../report/report-table.ts';
import { readWalBytes } from '../report/statement-costs.ts';
import { compareProcesses } from './compare-processes.ts';
import { fillTransactions } from './fill-transactions.ts';
import { median } from './find-knee.ts';
import {
  describeSalesStep,
  type KneeResult,
  longStep,
  runKneeSearch,
  shareOfKnee,
} from './knee-run.ts';
import type { MeasuredStep, SalesLoad } from './load-generator.ts';
import type { PrintLine } from './measured-step.ts';
import {
  openPlatformIndependentBaselines,
  type PlatformIndependentBaselines,
} from './platform-independent-baselines.ts';
import {
  openSalesEnvironment,
  refundSales,
  type SalesEnvironment,
  warmUpSales,
} from './sales-environment.ts';
import { type FullTablesFigures, reportSales, type SoakFigures } from './sales-report.ts';

type Run = {
  environment: SalesEnvironment;
  fixed: PlatformIndependentBaselines;
  options: BenchOptions;
  printLine: PrintLine;
};

const bareSeconds = 4;
const bareWarmUpSeconds = 1.5;
/** The first search begins here; the later ones a little below the result of the first one. */
const firstRate = 500;
const laterFrom = 0.75;
const laterGrowth = 1.1;
/** On empty and on full tables; of their p99 the median counts, since one hiccup of the machine doubles that of a step. */
const comparedSteps = 5;
const modelRefunds = 20;
const soakPartSeconds = 60;

async function runLine(
  name: string,
  run: Promise<CallersRun[]>,
  printLine: PrintLine,
): Promise<CallersRun[]> {
  const runs = await run;
  const rates = runs.map(
    ({ callers, salesPerSecond }) => `${callers}: ${perSecond(salesPerSecond)}`,
  );
  printLine(`${name} by callers  ${rates.join('  ')}`);
  return runs;
}

/** @param earlier the knees of earlier rounds, of which the first one shortens this search */
async function searchKnee(
  { options, printLine }: Run,
  name: string,
  load: SalesLoad,
  earlier: readonly KneeResult[],
): Promise<KneeResult> {
  const firstKnee = earlier[0]?.perSecond ?? 0;
  const search =
    firstKnee > 0
      ? { from: Math.round(firstKnee * laterFrom), growth: laterGrowth }
      : { from: firstRate };
  const { seconds: length } = options;
  const knee = await runKneeSearch(load, printLine, { ...search, kind: 'sales', seconds: length });
  printLine(`${name} ${earlier.length + 1}: ${perSecond(knee.perSecond)}`);
  return knee;
}

async function runRounds(run: Run) {
  const { environment, fixed, options, printLine } = run;
  const baselineRuns: CallersRun[][] = [];
  const fixedRuns: CallersRun[][] = [];
  const bareServerKnees: KneeResult[] = [];
  const knees: KneeResult[] = [];
  for (let round = 1; round <= options.rounds; round += 1) {
    const bareRun = environment.baseline.call('run', bareSeconds);
    baselineRuns.push(await runLine('baseline', bareRun, printLine));
    fixedRuns.push(await runLine('fixed line', fixed.runFixedLine(bareSeconds), printLine));
    if (options.knee > 0) continue;
    const { bareServerLoad } = fixed;
    bareServerKnees.push(
      await searchKnee(run, 'knee of the bare server', bareServerLoad, bareServerKnees),
    );
    await environment.renewTokens();
    knees.push(await searchKnee(run, 'knee', environment.load, knees));
  }
  return { baselineRuns, fixedRuns, bareServerKnees, knees };
}

/** A step, and the bytes of log that PostgreSQL wrote for each answer. */
async function runWithLogBytes({ database }: Platform, run: () => Promise<MeasuredStep>) {
  const before = await readWalBytes(database);
  const step = await run();
  const written = (await readWalBytes(database)) - before;
  return { at70: step, walBytesPerSale: written / step.answered };
}

async function runCompared(run: Run, rate: number, tables: string): Promise<MeasuredStep[]> {
  const { environment, options, printLine } = run;
  const steps: MeasuredStep[] = [];
  for (let count = 0; count < comparedSteps; count += 1) {
    await environment.renewTokens();
    const step = await environment.load.step('sales', rate, options.seconds);
    printLine(`on ${tables} tables  ${describeSalesStep(step)}`);
    steps.push(step);
  }
  return steps;
}

async function runFull(run: Run, rate: number): Promise<FullTablesFigures> {
  const { environment, options, printLine } = run;
  const before = await runCompared(run, rate, 'empty');
  const startedMs = performance.now();
  await refundSales(environment, modelRefunds);
  await fillTransactions(environment.platform.database, {
    organizationId: environment.organization.organizationId,
    rows: options.rows,
    onProgress: (rows) =>
      printLine(`filling the tables: ${rows.toLocaleString('en')} transactions`),
  });
  const fillSeconds = (performance.now() - startedMs) / 1000;
  printLine(`filled, indexed, analysed and written out in ${seconds(fillSeconds)}`);
  await environment.renewTokens();
  // The same time to settle as before the first measurement.
  await environment.load.step('sales', rate, options.seconds);
  const after = await runCompared(run, rate, 'full');
  return { rows: options.rows, fillSeconds, before, after };
}

async function runSoak(
  { environment, options, printLine }: Run,
  rate: number,
): Promise<SoakFigures> {
  const soak: SoakFigures = [];
  for (let minute = 1; minute <= options.minutes; minute += 1) {
    await environment.renewTokens();
    const step = await environment.load.step('sales', rate, soakPartSeconds);
    const residentMib = environment.server.memory.now();
    soak.push({ minute, residentMib, step });
    const memory = `server holds ${residentMib.toFixed(0)} MiB`;
    printLine(`minute ${minute}: ${memory}  ${describeSalesStep(step)}`);
  }
  return soak;
}

export async function benchSales(
  closers: CloseStack,
  options: BenchOptions,
  printLine: PrintLine,
): Promise<BenchResult> {
  const starts = options.starts ? await measureStartTimes(closers) : undefined;
  if (starts !== undefined) {
    printLine(`start: ${seconds(starts.firstSeconds)}, again: ${seconds(starts.secondSeconds)}`);
  }
  const environment = await openSalesEnvironment(closers, options);
  const { load, server, platform } = environment;
  const warmUp = await warmUpSales(load, printLine);
  const fixed = await openPlatformIndependentBaselines(closers, environment, options);
  const run = { environment, fixed, options, printLine };
  await environment.baseline.call('run', bareWarmUpSeconds);
  await fixed.runFixedLine(bareWarmUpSeconds);
  await warmUpSales(fixed.bareServerLoad, printLine);
  const { baselineRuns, fixedRuns, bareServerKnees, knees } = await runRounds(run);
  const kneePerSecond = options.knee || median(knees.map((knee) => knee.perSecond));
  if (kneePerSecond === 0) throw new Error('no rate was held: see the steps above');
  const rate = Math.round(kneePerSecond * shareOfKnee);
  const longSeconds = options.seconds * longStep;
  const bareServer = await runWithLogBytes(platform, () =>
    fixed.bareServerLoad.step('sales', rate, longSeconds),
  );
  printLine(`bare server, same rate  ${describeSalesStep(bareServer.at70)}`);
  await environment.renewTokens();
  const long = await runWithLogBytes(platform, () => load.step('sales', rate, longSeconds));
  printLine(`at 70 %  ${describeSalesStep(long.at70)}`);
  const residentAt70Mib = server.memory.now();
  const profile = options.profile
    ? await profileStep(platform, server.pid, () => load.step('sales', rate, options.seconds))
    : undefined;
  const processes = options.processes > 1 ? await compareProcesses(closers, run, rate) : undefined;
  const full = options.rows > 0 ? await runFull(run, rate) : undefined;
  const soak = options.minutes > 0 ? await runSoak(run, rate) : undefined;
  const figures = {
    warmUp,
    baselineRuns,
    fixedRuns,
    bareServer: { ...bareServer, knees: bareServerKnees },
    knees,
    kneePerSecond,
    barePerSecond: median(bestRuns(baselineRuns).map(({ salesPerSecond }) => salesPerSecond)),
    ...long,
    residentAt70Mib,
    residentHighestMib: server.memory.highest(),
    ...defined({ starts, processes, full, soak, profile }),
  };
  return reportSales(figures, options);
}
