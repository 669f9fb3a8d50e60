// A step of load at a fixed rate, with the CPU time that each answer cost.
import { type CpuTimes, cpuBetween, readCpu, type WatchedPids } from '../report/process-times.ts';
import { microseconds, milliseconds, perSecond } from '../report/report-table.ts';
import { type LoadStep, runStep, type StepResult } from './fixed-rate-load.ts';
import type { HttpsConnections } from './https-connections.ts';

export type StepCost = {
  /** CPU time per answered request, µs. */
  cpuUs: Record<'server' | 'postgres' | 'simulator' | 'load', number>;
  /** How much of the machine was busy, and how much with other work; 1 is all of it. */
  busyShare: number;
  othersShare: number;
};

export type CostedStep = StepResult & StepCost & { ratePerSecond: number; seconds: number };

const noCost = { server: 0, postgres: 0, simulator: 0, load: 0 };

export type Moment = { cpu: CpuTimes; answered: number };

/** The cost of each answer between two moments. */
export function costBetween(begin: Moment | undefined, end: Moment | undefined): StepCost {
  if (begin === undefined || end === undefined || end.answered <= begin.answered) {
    return { cpuUs: noCost, busyShare: 0, othersShare: 0 };
  }
  const spent = cpuBetween(begin.cpu, end.cpu);
  const perAnswer = (ms: number) => (ms * 1000) / (end.answered - begin.answered);
  const measuredMs = spent.server + spent.postgres + spent.simulator + spent.load;
  return {
    cpuUs: {
      server: perAnswer(spent.server),
      postgres: perAnswer(spent.postgres),
      simulator: perAnswer(spent.simulator),
      load: perAnswer(spent.load),
    },
    busyShare: (measuredMs + spent.others) / spent.totalMs,
    othersShare: Math.max(0, spent.others / spent.totalMs),
  };
}

/** @param watched the processes of the run, beside the one that calls this */
export async function runMeasuredStep(
  connections: HttpsConnections,
  watched: WatchedPids,
  step: Omit<LoadStep, 'onWindow'>,
): Promise<CostedStep> {
  const moments: Partial<Record<'begin' | 'end', Moment>> = {};
  const result = await runStep(connections, {
    ...step,
    onWindow(at, answered) {
      moments[at] = { cpu: readCpu(watched), answered };
    },
  });
  const { ratePerSecond, seconds } = step;
  return { ...result, ratePerSecond, seconds, ...costBetween(moments.begin, moments.end) };
}

export type PrintLine = (line: string) => void;

/** One line of progress. */
export function describeStep(name: string, step: CostedStep): string {
  return [
    name.padEnd(26),
    `achieved ${perSecond(step.achievedPerSecond)}`.padEnd(17),
    `p50 ${milliseconds(step.p50Us)}`.padEnd(13),
    `p99 ${milliseconds(step.p99Us)}`.padEnd(14),
    `server ${microseconds(step.cpuUs.server)}`.padEnd(14),
    `PostgreSQL ${microseconds(step.cpuUs.postgres)}`,
    ...Object.entries(step.errors).map(([kind, count]) => `${count} × ${kind}`),
  ].join('  ');
}
