// Runs the baseline of sales with different numbers of callers.
import { startProcess } from '../bench-process.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import type { SaleBaselineFunctions } from './sale-baseline-process.ts';

const callersTried = [8, 16, 32, 64];

export type BaselineRun = { callers: number; salesPerSecond: number }[];

export type SaleBaseline = {
  /** One run: every number of callers for so many seconds. */
  run(seconds: number): Promise<BaselineRun>;
};

/** @param url a database of the same PostgreSQL server, for the baseline alone */
export async function startSaleBaseline(closers: CloseStack, url: string): Promise<SaleBaseline> {
  const script = new URL('./sale-baseline-process.ts', import.meta.url);
  const baseline = startProcess<SaleBaselineFunctions>(closers, script);
  await baseline.call('open', url);
  return {
    async run(seconds) {
      const runs: BaselineRun = [];
      for (const callers of callersTried) {
        runs.push({ callers, salesPerSecond: await baseline.call('run', { callers, seconds }) });
      }
      return runs;
    },
  };
}

export function bestRun(run: BaselineRun): { callers: number; salesPerSecond: number } {
  return run.reduce((best, each) => (each.salesPerSecond > best.salesPerSecond ? each : best), {
    callers: 0,
    salesPerSecond: 0,
  });
}
