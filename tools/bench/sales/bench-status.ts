// `bench status`: the knee of sales, then that of reading finished ones, in the same run.

import type { BenchOptions } from '../bench-options.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import { openBenchEnvironment } from '../environment/bench-environment.ts';
import { type Profile, profileStep } from '../report/profile-step.ts';
import { perSecond } from '../report/report-table.ts';
import { describeStep, findKnee, type KneeResult, type PrintLine } from './knee-run.ts';
import type { MeasuredStep } from './load-client.ts';

export type StatusFigures = {
  salesPerSecond: number;
  reads: KneeResult;
  at70: MeasuredStep;
  residentHighestMib: number;
  profile?: Profile;
};

const warmUp = [
  { kind: 'sales', ratePerSecond: 150, seconds: 12 },
  { kind: 'sales', ratePerSecond: 400, seconds: 8 },
] as const;
const readsWarmUp = { kind: 'reads', ratePerSecond: 1000, seconds: 6 } as const;
const firstSales = 500;
const firstReads = 1500;
const shareOfKnee = 0.7;
const longStep = 3;

export async function benchStatus(
  closers: CloseStack,
  options: BenchOptions,
  printLine: PrintLine,
): Promise<StatusFigures> {
  const scene = await openBenchEnvironment(closers, options);
  const { load } = scene;
  for (const { kind, ratePerSecond, seconds } of warmUp) {
    printLine(describeStep(await load.step(kind, ratePerSecond, seconds)));
  }
  const { seconds } = options;
  const salesPerSecond =
    options.knee ||
    (await findKnee(load, { kind: 'sales', from: firstSales, seconds, printLine })).perSecond;
  printLine(`knee of sales: ${perSecond(salesPerSecond)}`);
  await scene.renewTokens();
  await load.step(readsWarmUp.kind, readsWarmUp.ratePerSecond, readsWarmUp.seconds);
  const reads = await findKnee(load, { kind: 'reads', from: firstReads, seconds, printLine });
  if (reads.perSecond === 0) throw new Error('no rate of reads was held: see the steps above');
  const rate = Math.round(reads.perSecond * shareOfKnee);
  const at70 = await load.step('reads', rate, seconds * longStep);
  printLine(`at 70 %  ${describeStep(at70)}`);
  const residentHighestMib = scene.memory.highest();
  const figures = { salesPerSecond, reads, at70, residentHighestMib };
  if (!options.profile) return figures;
  const profile = await profileStep(scene, () => load.step('reads', rate, seconds));
  return { ...figures, profile };
}
