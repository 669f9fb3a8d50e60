// The bench's end of the bare line: starts its process and finds the best number of callers.
import { fileURLToPath } from 'node:url';
import type { Closers } from '../close-in-reverse-order.ts';
import type { FromBare, ToBare } from './sale-baseline-messages.ts';

export const callersTried = [8, 16, 32, 64];

export type BareRun = { callers: number; salesPerSecond: number }[];

export type BareLine = {
  /** One run: every number of callers for so many seconds. */
  run(seconds: number): Promise<BareRun>;
};

const overtimeMs = 60_000;

/** @param url a database of the same server, for the bare line alone */
export async function startBareLine(closers: Closers, url: string): Promise<BareLine> {
  const script = fileURLToPath(new URL('./sale-baseline-process.ts', import.meta.url));
  const child = closers.fork(script, {
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });

  function ask(message: ToBare, limitMs: number): Promise<FromBare> {
    return new Promise((resolve, reject) => {
      const onExit = () => end(new Error('the process of the bare line has died'));
      const onMessage = (answer: FromBare) =>
        end(answer.type === 'fault' ? new Error(`bare line: ${answer.text}`) : undefined, answer);
      const limit = setTimeout(() => end(new Error('the bare line does not answer')), limitMs);
      function end(fault: Error | undefined, answer?: FromBare): void {
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

  await ask({ type: 'open', url }, overtimeMs);
  return {
    async run(seconds) {
      const figures: BareRun = [];
      for (const callers of callersTried) {
        const answer = await ask({ type: 'run', callers, seconds }, seconds * 1000 + overtimeMs);
        if (answer.type === 'result') {
          figures.push({ callers, salesPerSecond: answer.salesPerSecond });
        }
      }
      return figures;
    },
  };
}

export function bestOf(run: BareRun): { callers: number; salesPerSecond: number } {
  return run.reduce((best, each) => (each.salesPerSecond > best.salesPerSecond ? each : best), {
    callers: 0,
    salesPerSecond: 0,
  });
}
