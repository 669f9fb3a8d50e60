// The bench's end of the load generator: starts it, asks for steps, and prices what they cost.
import { fileURLToPath } from 'node:url';
import type { CloseStack } from '../close-in-reverse-order.ts';
import {
  type CpuTimes,
  cpuBetween,
  readCpu,
  type WatchedProcesses,
} from '../report/process-times.ts';
import type { StepResult } from './fixed-rate-load.ts';
import type { FromLoad, LoadKind, ToLoad } from './load-process-messages.ts';
import type { SellingDevice } from './request-text.ts';

export type CpuPerRequest = Record<keyof WatchedProcesses, number>;

export type MeasuredStep = StepResult & {
  kind: LoadKind;
  ratePerSecond: number;
  seconds: number;
  /** CPU time per answered request, µs. */
  cpuUs: CpuPerRequest;
  /** How much of the machine was busy, and how much with what is not ours; 1 is all of it. */
  busyShare: number;
  othersShare: number;
};

export type LoadClient = {
  pid: number;
  setTills(tills: SellingDevice[]): Promise<void>;
  step(kind: LoadKind, ratePerSecond: number, seconds: number): Promise<MeasuredStep>;
};

/** What a step may take beyond its own time before the generator counts as dead. */
const overtimeMs = 30_000;

const noCost: CpuPerRequest = { server: 0, postgres: 0, simulator: 0, load: 0 };

type Window = { cpu: CpuTimes; answered: number };

/** What each answer between two moments has cost. */
export function costBetween(begin: Window | undefined, end: Window | undefined) {
  if (begin === undefined || end === undefined || end.answered <= begin.answered) {
    return { cpuUs: noCost, busyShare: 0, othersShare: 0 };
  }
  const spent = cpuBetween(begin.cpu, end.cpu);
  const perRequest = (ms: number) => (ms * 1000) / (end.answered - begin.answered);
  const measuredMs = spent.server + spent.postgres + spent.simulator + spent.load;
  return {
    cpuUs: {
      server: perRequest(spent.server),
      postgres: perRequest(spent.postgres),
      simulator: perRequest(spent.simulator),
      load: perRequest(spent.load),
    },
    busyShare: (measuredMs + spent.others) / spent.totalMs,
    othersShare: Math.max(0, spent.others / spent.totalMs),
  };
}

/** @param watched the other processes of the run, read again at each step */
export async function startLoadGenerator(
  closers: CloseStack,
  open: Omit<Extract<ToLoad, { type: 'open' }>, 'type'>,
  watched: () => Omit<WatchedProcesses, 'load'>,
): Promise<LoadClient> {
  const script = fileURLToPath(new URL('./load-generator.ts', import.meta.url));
  const child = closers.fork(script, {
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const pid = child.pid ?? 0;

  function sendMessage(
    message: ToLoad,
    limitMs: number,
    onWindow: (at: 'begin' | 'end', answered: number) => void = () => {},
  ): Promise<StepResult | undefined> {
    return new Promise((resolve, reject) => {
      const limit = setTimeout(() => end(new Error('the load generator does not answer')), limitMs);
      const onExit = () => end(new Error('the load generator has died'));
      function end(fault: Error | undefined, result?: StepResult): void {
        clearTimeout(limit);
        child.off('message', onMessage);
        child.off('exit', onExit);
        if (fault === undefined) resolve(result);
        else reject(fault);
      }
      function onMessage(answer: FromLoad): void {
        if (answer.type === 'window') onWindow(answer.at, answer.answered);
        if (answer.type === 'ready') end(undefined);
        if (answer.type === 'result') end(undefined, answer.result);
        if (answer.type === 'fault') end(new Error(`load generator: ${answer.text}`));
      }
      child.on('message', onMessage);
      child.once('exit', onExit);
      child.send(message);
    });
  }

  await sendMessage({ type: 'open', ...open }, overtimeMs);
  return {
    pid,
    setTills: async (tills) => {
      await sendMessage({ type: 'tills', tills }, overtimeMs);
    },
    async step(kind, ratePerSecond, seconds) {
      const windows: Partial<Record<'begin' | 'end', Window>> = {};
      const result = await sendMessage(
        { type: 'step', kind, ratePerSecond, seconds },
        seconds * 1000 + overtimeMs,
        (at, answered) => {
          windows[at] = { cpu: readCpu({ ...watched(), load: pid }), answered };
        },
      );
      if (result === undefined) throw new Error('the load generator gave no result');
      return {
        ...result,
        kind,
        ratePerSecond,
        seconds,
        ...costBetween(windows.begin, windows.end),
      };
    },
  };
}
