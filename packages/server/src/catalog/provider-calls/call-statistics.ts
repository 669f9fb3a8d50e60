// Derives the status of a provider's server from counted calls, and sums them by call and by hour.
import type { ServiceCalls } from '@switchyard/contract';
import { hourMs, isoTime } from '../../platform/index.ts';
import type { CallCount } from './call-count-sql.ts';

/** The status depends only on this number of latest steps that contain calls. */
const statusIntervals = 3;
const downFailuresMin = 5;

type Sums = { answered: number; failed: number };

const zeroSums = (): Sums => ({ answered: 0, failed: 0 });

function addSums(sums: Sums, { answered, failed }: Sums): Sums {
  return { answered: sums.answered + answered, failed: sums.failed + failed };
}

function computeStatus(counts: readonly CallCount[]): ServiceCalls['status'] {
  const intervals = [...new Set(counts.map(({ at }) => at))].slice(-statusIntervals);
  const { answered, failed } = counts
    .filter(({ at }) => intervals.includes(at))
    .reduce(addSums, zeroSums());
  if (answered + failed === 0) return 'Quiet';
  if (failed === 0) return 'Up';
  const isDown = answered === 0 || (failed >= downFailuresMin && failed >= answered);
  return isDown ? 'Down' : 'Degraded';
}

function sumByCall(counts: readonly CallCount[]): ServiceCalls['calls'] {
  return [...Map.groupBy(counts, ({ call }) => call)].map(([call, callCounts]) => {
    const sums = callCounts.reduce(addSums, zeroSums());
    const totalMs = callCounts.reduce((sum, { totalMs: ms }) => sum + ms, 0);
    const last = callCounts.findLast(({ faultAt }) => faultAt !== undefined);
    const hasFault = last?.faultAt !== undefined && last.fault !== undefined;
    return {
      call,
      ...sums,
      meanMs: Math.round(totalMs / Math.max(1, sums.answered + sums.failed)),
      longestMs: Math.max(...callCounts.map(({ longestMs }) => longestMs)),
      ...(hasFault ? { lastFault: { at: isoTime(Number(last.faultAt)), reason: last.fault } } : {}),
    };
  });
}

function sumByHour(counts: readonly CallCount[]): ServiceCalls['hours'] {
  const hours = Map.groupBy(counts, ({ at }) => Math.floor(at / hourMs) * hourMs);
  return [...hours].map(([at, hourCounts]) => ({
    at: isoTime(at),
    ...hourCounts.reduce(addSums, zeroSums()),
  }));
}

/** `counts` begins with the oldest count. */
export function summarizeCalls(
  serviceId: string,
  counts: readonly CallCount[],
  { from, to }: { readonly from: number; readonly to: number },
): ServiceCalls {
  return {
    serviceId,
    status: computeStatus(counts),
    from: isoTime(from),
    to: isoTime(to),
    calls: sumByCall(counts).sort((one, other) => (one.call < other.call ? -1 : 1)),
    hours: sumByHour(counts),
  };
}
