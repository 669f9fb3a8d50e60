// Counts the calls to the servers of providers, so that a provider sees the health of its server.
import {
  type CleanupJob,
  type Clock,
  createPoller,
  type Database,
  dayMs,
  hourMs,
  type Log,
} from '../../platform/index.ts';
import {
  addCallCounts,
  type CallCount,
  deleteOldCallCounts,
  type LastFault,
} from './call-count-sql.ts';

/** The length of the time steps in which calls are counted. */
export const countIntervalMs = 300_000;
/** The retention time of the counts. */
export const countRetentionMs = 7 * dayMs;
const writeEveryMs = 2_000;
const deleteEveryMs = hourMs;
const deletedCountsMax = 10_000;
/**
 * With this many counts waiting, the server drops new ones until the next write, to limit memory.
 */
const pendingCountsMax = 5_000;
const faultMaxChars = 100;

export type CompletedProviderCall = {
  readonly serviceId: string;
  /** The kind of call: `create`, `activation`. */
  readonly call: string;
  /** True for a refusal too. */
  readonly isAnswered: boolean;
  readonly ms: number;
  /** The kind of the fault, as one of the platform's own terms. */
  readonly fault?: string | undefined;
};

export type ProviderCallCounter = {
  record(call: CompletedProviderCall): void;
  readonly cleanupJob: CleanupJob;
  start(): void;
  /** Stops the poller and writes the remaining counts. */
  stop(): Promise<void>;
};

type Deps = { readonly database: Database; readonly clock: Clock; readonly log: Log };

const emptyCount = (call: CompletedProviderCall, at: number): CallCount => ({
  serviceId: call.serviceId,
  call: call.call,
  at,
  answered: 0,
  failed: 0,
  totalMs: 0,
  longestMs: 0,
  fault: undefined,
  faultAt: undefined,
});

const countKey = ({ serviceId, call, at }: Pick<CallCount, 'serviceId' | 'call' | 'at'>): string =>
  `${serviceId} ${call} ${at}`;

/** Adds two counts of the same step; the fault of the later count is the last fault. */
function addCounts(count: CallCount, later: CallCount): CallCount {
  const { fault, faultAt } = later.faultAt === undefined ? count : later;
  return {
    ...count,
    answered: count.answered + later.answered,
    failed: count.failed + later.failed,
    totalMs: count.totalMs + later.totalMs,
    longestMs: Math.max(count.longestMs, later.longestMs),
    fault,
    faultAt,
  };
}

/** Adds one call to a count. */
export function addCall(count: CallCount, call: CompletedProviderCall, now: number): CallCount {
  const ms = Math.max(0, Math.round(call.ms));
  const lastFault: LastFault = call.isAnswered
    ? { fault: count.fault, faultAt: count.faultAt }
    : { fault: (call.fault ?? 'unknown').slice(0, faultMaxChars), faultAt: now };
  return {
    ...count,
    answered: count.answered + (call.isAnswered ? 1 : 0),
    failed: count.failed + (call.isAnswered ? 0 : 1),
    totalMs: count.totalMs + ms,
    longestMs: Math.max(count.longestMs, ms),
    ...lastFault,
  };
}

/** @example const counter = createProviderCallCounter({ database, clock, log }); counter.record({ serviceId, call, isAnswered, ms }); */
export function createProviderCallCounter({ database, clock, log }: Deps): ProviderCallCounter {
  let pending = new Map<string, CallCount>();

  /** Adds counts that the server could not write to the counts that arrived since then. */
  function returnToPending(counts: readonly CallCount[]): void {
    for (const count of counts) {
      const key = countKey(count);
      const later = pending.get(key);
      if (later === undefined && pending.size >= pendingCountsMax) continue;
      pending.set(key, later === undefined ? count : addCounts(count, later));
    }
  }

  async function writePending(): Promise<void> {
    if (pending.size === 0) return;
    const counts = [...pending.values()];
    pending = new Map();
    try {
      await addCallCounts(database, counts);
    } catch (error) {
      returnToPending(counts);
      throw error;
    }
  }

  const poller = createPoller({
    pollMs: writeEveryMs,
    async poll() {
      await writePending();
      return false;
    },
    onError: (error) =>
      log.warn({ err: error }, 'counts of calls to providers could not be written'),
  });

  return {
    record(call) {
      const now = clock.now();
      const at = Math.floor(now / countIntervalMs) * countIntervalMs;
      const key = countKey({ ...call, at });
      const existing = pending.get(key);
      if (existing === undefined && pending.size >= pendingCountsMax) return;
      pending.set(key, addCall(existing ?? emptyCount(call, at), call, now));
    },
    cleanupJob: {
      data: 'counts of calls to providers',
      intervalMs: deleteEveryMs,
      async deleteBatch() {
        const before = clock.now() - countRetentionMs;
        const deleted = await deleteOldCallCounts(database, before, deletedCountsMax);
        return deleted >= deletedCountsMax;
      },
    },
    start: poller.start,
    async stop() {
      await poller.stop();
      await writePending().catch((error: unknown) =>
        log.warn({ err: error }, 'counts of calls to providers could not be written'),
      );
    },
  };
}
