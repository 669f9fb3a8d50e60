// Derives the status of a provider's server from counted calls, and sums them by call and by hour.
import type { ServiceCalls } from '@switchyard/contract';
import type { CallCount } from './call-count-sql.ts';

const hourMs = 3_600_000;
/** The status depends only on this number of latest steps that contain calls. */
const judgedSteps = 3;
const failedLeast = 5;

type Sums = { answered: number; failed: number };

const none = (): Sums => ({ answered: 0, failed: 0 });

function add(sums: Sums, { answered, failed }: Sums): Sums {
  return { answered: sums.answered + answered, failed: sums.failed + failed };
}

function statusOf(counts: readonly CallCount[]): ServiceCalls['status'] {
  const steps = [...new Set(counts.map(({ at }) => at))].slice(-judgedSteps);
  const { answered, failed } = counts.filter(({ at }) => steps.includes(at)).reduce(add, none());
  if (answered + failed === 0) return 'Quiet';
  if (failed === 0) return 'Up';
  const isDown = answered === 0 || (failed >= failedLeast && failed >= answered);
  return isDown ? 'Down' : 'Degraded';
}

function byCall(counts: readonly CallCount[]): ServiceCalls['calls'] {
  return [...Map.groupBy(counts, ({ call }) => call)].map(([call, own]) => {
    const sums = own.reduce(add, none());
    const totalMs = own.reduce((sum, { totalMs: ms }) => sum + ms, 0);
    const last = own.findLast(({ faultAt }) => faultAt !== undefined);
    const known = last?.faultAt !== undefined && last.fault !== undefined;
    return {
      call,
      ...sums,
      meanMs: Math.round(totalMs / Math.max(1, sums.answered + sums.failed)),
      longestMs: Math.max(...own.map(({ longestMs }) => longestMs)),
      ...(known
        ? { lastFault: { at: new Date(Number(last.faultAt)).toISOString(), reason: last.fault } }
        : {}),
    };
  });
}

function byHour(counts: readonly CallCount[]): ServiceCalls['hours'] {
  const hours = Map.groupBy(counts, ({ at }) => Math.floor(at / hourMs) * hourMs);
  return [...hours].map(([at, own]) => ({
    at: new Date(at).toISOString(),
    ...own.reduce(add, none()),
  }));
}

/** `counts` begins with the oldest count. */
export function callsOf(
  serviceId: string,
  counts: readonly CallCount[],
  { from, to }: { readonly from: number; readonly to: number },
): ServiceCalls {
  return {
    serviceId,
    status: statusOf(counts),
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    calls: byCall(counts).sort((one, other) => (one.call < other.call ? -1 : 1)),
    hours: byHour(counts),
  };
}
