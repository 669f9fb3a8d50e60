// `bench status`: the knee of sales, then that of reading finished ones, in the same run.
import { defined } from '@switchyard/contract';
import type { BenchOptions } from '../bench-options.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import { profileStep } from '../report/profile-step.ts';
import type { BenchResult } from '../report/report.ts';
import { perSecond } from '../report/report-table.ts';
import { describeSalesStep, longStep, runKneeSearch, shareOfKnee } from './knee-run.ts';
import type { PrintLine } from './measured-step.ts';
import { openSalesEnvironment, warmUpSales } from './sales-environment.ts';
import { reportStatus } from './sales-report.ts';

const readsWarmUp = { ratePerSecond: 1000, seconds: 6 };
const firstSales = 500;
const firstReads = 1500;

export async function benchStatus(
  closers: CloseStack,
  options: BenchOptions,
  printLine: PrintLine,
): Promise<BenchResult> {
  const { seconds } = options;
  const { load, server, platform, renewTokens } = await openSalesEnvironment(closers, options);
  await warmUpSales(load, printLine);
  const salesPerSecond =
    options.knee ||
    (await runKneeSearch(load, printLine, { kind: 'sales', from: firstSales, seconds })).perSecond;
  printLine(`knee of sales: ${perSecond(salesPerSecond)}`);
  await renewTokens();
  await load.step('reads', readsWarmUp.ratePerSecond, readsWarmUp.seconds);
  const reads = await runKneeSearch(load, printLine, { kind: 'reads', from: firstReads, seconds });
  if (reads.perSecond === 0) throw new Error('no rate of reads was held: see the steps above');
  const rate = Math.round(reads.perSecond * shareOfKnee);
  const at70 = await load.step('reads', rate, seconds * longStep);
  printLine(`at 70 %  ${describeSalesStep(at70)}`);
  const residentHighestMib = server.memory.highest();
  const profile = options.profile
    ? await profileStep(platform, server.pid, () => load.step('reads', rate, seconds))
    : undefined;
  return reportStatus({ salesPerSecond, reads, at70, residentHighestMib, ...defined({ profile }) });
}
