// The bench's end of the bare line: starts its process and finds the best number of callers.
import { fileURLToPath } from 'node:url';
import type { CloseStack } from '../close-in-reverse-order.ts';
import type { FromSaleBaseline, ToSaleBaseline } from './sale-baseline-messages.ts';

export const callersTried = [8, 16, 32, 64];

export type BaselineRun = { callers: number; salesPerSecond: number }[];

export type SaleBaseline = {
  /** One run: every number of callers for so many seconds. */
  run(seconds: number): Promise<BaselineRun>;
};

const overtimeMs = 60_000;

/** @param url a database of the same server, for the bare line alone */
export async function startSaleBaseline(closers: CloseStack, url: string): Promise<SaleBaseline> {
  const script = fileURLToPath(new URL('./sale-baseline-process.ts', import.meta.url));
  const child = closers.fork(script, {
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });

  function sendMessage(message: ToSaleBaseline, limitMs: number): Promise<FromSaleBaseline> {
    return new Promise((resolve, reject) => {
      const onExit = () => end(new Error('the process of the bare line has died'));
      const onMessage = (answer: FromSaleBaseline) =>
        end(answer.type === 'fault' ? new Error(`bare line: ${answer.text}`) : undefined, answer);
      const limit = setTimeout(() => end(new Error('the bare line does not answer')), limitMs);
      function end(fault: Error | undefined, answer?: FromSaleBaseline): void {
        clearTimeout(limit);
        child.off('message', onMessage);
        child.off('exit', onExit);
        if (fault !== undefined || answer === undefined) reject(fault);
        else resolve(answer);
      }
      child.on('message', onMessage);
      child.once('exit', onExit);
      child.send(message);
    });
  }

  await sendMessage({ type: 'open', url }, overtimeMs);
  return {
    async run(seconds) {
      const figures: BaselineRun = [];
      for (const callers of callersTried) {
        const answer = await sendMessage(
          { type: 'run', callers, seconds },
          seconds * 1000 + overtimeMs,
        );
        if (answer.type === 'result') {
          figures.push({ callers, salesPerSecond: answer.salesPerSecond });
        }
      }
      return figures;
    },
  };
}

export function bestRun(run: BaselineRun): { callers: number; salesPerSecond: number } {
  return run.reduce((best, each) => (each.salesPerSecond > best.salesPerSecond ? each : best), {
    callers: 0,
    salesPerSecond: 0,
  });
}
