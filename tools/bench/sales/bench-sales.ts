// `bench sales`: the knee and the baseline alternate, then 70 % of the knee, full tables, memory.
import { defined } from '@switchyard/contract';
import type { BaselineRun } from '../baseline/sale-baseline-process.ts';
import type { BenchOptions } from '../bench-options.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import { measureStartTimes } from '../environment/measure-npm-start.ts';
import { profileStep } from '../report/profile-step.ts';
import type { BenchResult } from '../report/report.ts';
import { perSecond, seconds } from '../report/report-table.ts';
import { fillTransactions } from './fill-transactions.ts';
import { median } from './find-knee.ts';
import { describeSalesStep, findKnee, type KneeResult, longStep, shareOfKnee } from './knee-run.ts';
import type { MeasuredStep } from './load-generator.ts';
import type { PrintLine } from './measured-step.ts';
import {
  openSalesEnvironment,
  refundSales,
  type SalesEnvironment,
  warmUpSales,
} from './sales-environment.ts';
import { bestRun, type FullTablesFigures, reportSales, type SoakFigures } from './sales-report.ts';

type Run = { environment: SalesEnvironment; options: BenchOptions; printLine: PrintLine };

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

async function runBaseline({ environment, printLine }: Run): Promise<BaselineRun> {
  const run = await environment.baseline.call('run', bareSeconds);
  const rates = run.map(
    ({ callers, salesPerSecond }) => `${callers}: ${perSecond(salesPerSecond)}`,
  );
  printLine(`baseline by callers  ${rates.join('  ')}`);
  return run;
}

async function runRounds(run: Run) {
  const { environment, options, printLine } = run;
  const baselineRuns: BaselineRun[] = [];
  const knees: KneeResult[] = [];
  for (let round = 1; round <= options.rounds; round += 1) {
    baselineRuns.push(await runBaseline(run));
    if (options.knee > 0) continue;
    await environment.renewTokens();
    const firstKnee = knees[0]?.perSecond ?? 0;
    const search =
      firstKnee > 0
        ? { from: Math.round(firstKnee * laterFrom), growth: laterGrowth }
        : { from: firstRate };
    const { seconds: length } = options;
    const knee = await findKnee(environment.load, printLine, {
      ...search,
      kind: 'sales',
      seconds: length,
    });
    printLine(`knee ${round}: ${perSecond(knee.perSecond)}`);
    knees.push(knee);
  }
  return { baselineRuns, knees };
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
  const run = { environment, options, printLine };
  const warmUp = await warmUpSales(load, printLine);
  await environment.baseline.call('run', bareWarmUpSeconds);
  const { baselineRuns, knees } = await runRounds(run);
  const kneePerSecond = options.knee || median(knees.map((knee) => knee.perSecond));
  if (kneePerSecond === 0) throw new Error('no rate was held: see the steps above');
  const rate = Math.round(kneePerSecond * shareOfKnee);
  await environment.renewTokens();
  const at70 = await load.step('sales', rate, options.seconds * longStep);
  printLine(`at 70 %  ${describeSalesStep(at70)}`);
  const residentAt70Mib = server.memory.now();
  const profile = options.profile
    ? await profileStep(platform, server.pid, () => load.step('sales', rate, options.seconds))
    : undefined;
  const full = options.rows > 0 ? await runFull(run, rate) : undefined;
  const soak = options.minutes > 0 ? await runSoak(run, rate) : undefined;
  const figures = {
    warmUp,
    baselineRuns,
    knees,
    kneePerSecond,
    barePerSecond: median(baselineRuns.map((each) => bestRun(each).salesPerSecond)),
    at70,
    residentAt70Mib,
    residentHighestMib: server.memory.highest(),
    ...defined({ starts, full, soak, profile }),
  };
  return reportSales(figures, options);
}
