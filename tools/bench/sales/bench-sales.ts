// `bench sales`: the knee and the bare line by turns, then 70 % of the knee, full tables, memory.
import { defined } from '@switchyard/contract';
import { type BaselineRun, bestRun } from '../baseline/sale-baseline-client.ts';
import type { BenchOptions } from '../bench-options.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import { type BenchEnvironment, openBenchEnvironment } from '../environment/bench-environment.ts';
import { fillTables } from '../environment/fill-tables.ts';
import { measureStartTimes, type StartTimes } from '../environment/start-times.ts';
import { type Profile, profileStep } from '../report/profile-step.ts';
import { perSecond, seconds } from '../report/report-table.ts';
import { median } from './find-knee.ts';
import { describeStep, findKnee, type KneeResult, type PrintLine } from './knee-run.ts';
import type { MeasuredStep } from './load-client.ts';

export type SoakFigures = { minute: number; residentMib: number; step: MeasuredStep }[];

export type SalesFigures = {
  starts?: StartTimes;
  warmUp: MeasuredStep[];
  baselineRuns: BaselineRun[];
  knees: KneeResult[];
  /** Medians, sales a second. */
  kneePerSecond: number;
  barePerSecond: number;
  at70: MeasuredStep;
  residentAt70Mib: number;
  residentHighestMib: number;
  /** The same steps before the tables were filled, and after. */
  full?: { rows: number; fillSeconds: number; before: MeasuredStep[]; after: MeasuredStep[] };
  soak?: SoakFigures;
  profile?: Profile;
};

/** Every device has to get its terminal id, every card its token, and the code to be compiled. */
const warmUp = [
  { ratePerSecond: 150, seconds: 12 },
  { ratePerSecond: 400, seconds: 8 },
];
const bareSeconds = 4;
const bareWarmUpSeconds = 1.5;
/** The first search begins here; the later ones a little below what the first one found. */
const firstRate = 500;
const laterFrom = 0.75;
const laterGrowth = 1.1;
const shareOfKnee = 0.7;
/** The step at 70 % is this many times longer than one of a search. */
const longStep = 3;
/** On empty and on full tables; of their p99 the median counts, since one hiccup of the machine doubles that of a step. */
const comparedSteps = 5;
const modelRefunds = 20;
const soakPartSeconds = 60;

async function warm(scene: BenchEnvironment, printLine: PrintLine): Promise<MeasuredStep[]> {
  printLine('warming up …');
  const steps: MeasuredStep[] = [];
  for (const { ratePerSecond, seconds: length } of warmUp) {
    const step = await scene.load.step('sales', ratePerSecond, length);
    printLine(describeStep(step));
    steps.push(step);
  }
  await scene.baseline.run(bareWarmUpSeconds);
  return steps;
}

async function runBare(scene: BenchEnvironment, printLine: PrintLine): Promise<BaselineRun> {
  const run = await scene.baseline.run(bareSeconds);
  const rates = run.map(
    ({ callers, salesPerSecond }) => `${callers}: ${perSecond(salesPerSecond)}`,
  );
  printLine(`bare line by callers  ${rates.join('  ')}`);
  return run;
}

async function runRounds(scene: BenchEnvironment, options: BenchOptions, printLine: PrintLine) {
  const baselineRuns: BaselineRun[] = [];
  const knees: KneeResult[] = [];
  for (let round = 1; round <= options.rounds; round += 1) {
    baselineRuns.push(await runBare(scene, printLine));
    if (options.knee > 0) continue;
    await scene.renewTokens();
    const firstKnee = knees[0]?.perSecond ?? 0;
    const search =
      firstKnee > 0
        ? { from: Math.round(firstKnee * laterFrom), growth: laterGrowth }
        : { from: firstRate };
    const knee = await findKnee(scene.load, {
      ...search,
      kind: 'sales',
      seconds: options.seconds,
      printLine,
    });
    printLine(`knee ${round}: ${perSecond(knee.perSecond)}`);
    knees.push(knee);
  }
  return { baselineRuns, knees };
}

async function runCompared(
  scene: BenchEnvironment,
  { seconds: length }: BenchOptions,
  rate: number,
  printLine: PrintLine,
) {
  const steps: MeasuredStep[] = [];
  for (let count = 0; count < comparedSteps; count += 1) {
    await scene.renewTokens();
    const step = await scene.load.step('sales', rate, length);
    printLine(describeStep(step));
    steps.push(step);
  }
  return steps;
}

async function runFull(
  scene: BenchEnvironment,
  options: BenchOptions,
  rate: number,
  printLine: PrintLine,
) {
  const before = await runCompared(scene, options, rate, (text) =>
    printLine(`on empty tables  ${text}`),
  );
  const startedMs = performance.now();
  await scene.refundSome(modelRefunds);
  await fillTables(scene.database, {
    organizationId: scene.organization.organizationId,
    rows: options.rows,
    onProgress: (rows) =>
      printLine(`filling the tables: ${rows.toLocaleString('en')} transactions`),
  });
  const fillSeconds = (performance.now() - startedMs) / 1000;
  printLine(`filled, indexed, analysed and written out in ${seconds(fillSeconds)}`);
  await scene.renewTokens();
  // The same time to come to rest as before the first measurement.
  await scene.load.step('sales', rate, options.seconds);
  const after = await runCompared(scene, options, rate, (text) =>
    printLine(`on full tables  ${text}`),
  );
  return { rows: options.rows, fillSeconds, before, after };
}

async function runSoak(
  scene: BenchEnvironment,
  options: BenchOptions,
  rate: number,
  printLine: PrintLine,
): Promise<SoakFigures> {
  const soak: SoakFigures = [];
  for (let minute = 1; minute <= options.minutes; minute += 1) {
    await scene.renewTokens();
    const step = await scene.load.step('sales', rate, soakPartSeconds);
    const residentMib = scene.memory.now();
    soak.push({ minute, residentMib, step });
    printLine(
      `minute ${minute}: server holds ${residentMib.toFixed(0)} MiB  ${describeStep(step)}`,
    );
  }
  return soak;
}

export async function benchSales(
  closers: CloseStack,
  options: BenchOptions,
  printLine: PrintLine,
): Promise<SalesFigures> {
  const starts = options.starts ? await measureStartTimes(closers) : undefined;
  if (starts !== undefined) {
    printLine(`start: ${seconds(starts.firstSeconds)}, again: ${seconds(starts.secondSeconds)}`);
  }
  const scene = await openBenchEnvironment(closers, options);
  const warmedUp = await warm(scene, printLine);
  const { baselineRuns, knees } = await runRounds(scene, options, printLine);
  const kneePerSecond = options.knee || median(knees.map((knee) => knee.perSecond));
  if (kneePerSecond === 0) throw new Error('no rate was held: see the steps above');
  const rate = Math.round(kneePerSecond * shareOfKnee);
  await scene.renewTokens();
  const at70 = await scene.load.step('sales', rate, options.seconds * longStep);
  printLine(`at 70 %  ${describeStep(at70)}`);
  const residentAt70Mib = scene.memory.now();
  const profile = options.profile
    ? await profileStep(scene, () => scene.load.step('sales', rate, options.seconds))
    : undefined;
  const full = options.rows > 0 ? await runFull(scene, options, rate, printLine) : undefined;
  const soak = options.minutes > 0 ? await runSoak(scene, options, rate, printLine) : undefined;
  return {
    warmUp: warmedUp,
    baselineRuns,
    knees,
    kneePerSecond,
    barePerSecond: median(baselineRuns.map((run) => bestRun(run).salesPerSecond)),
    at70,
    residentAt70Mib,
    residentHighestMib: scene.memory.highest(),
    ...defined({ starts, full, soak, profile }),
  };
}
