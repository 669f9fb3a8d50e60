// Counts the calls to the servers of providers, so that a provider sees the health of its server.
import { type Clock, createPoller, type Database, type Log } from '../../platform/index.ts';
import { type CallCount, deleteCalls, type Seen, writeCalls } from './call-count-sql.ts';

/** The length of the time steps in which calls are counted. */
export const stepMs = 300_000;
/** The retention time of the counts. */
export const keptMs = 7 * 86_400_000;
const writeEveryMs = 2_000;
const sweepEveryMs = 3_600_000;
const sweptMax = 10_000;
/**
 * With this many counts waiting, the server drops new ones until the next write, to limit memory.
 */
const waitingMax = 5_000;
const faultCharsMax = 100;

export type NotedCall = {
  readonly serviceId: string;
  /** The kind of call: `create`, `activation`. */
  readonly call: string;
  /** True for a refusal too. */
  readonly isAnswered: boolean;
  readonly ms: number;
  /** The kind of the fault, as one of the platform's own terms. */
  readonly fault?: string | undefined;
};

export type CallBook = {
  note(call: NotedCall): void;
  start(): void;
  /** Stops the poller and writes the remaining counts. */
  stop(): Promise<void>;
};

type Deps = { readonly database: Database; readonly clock: Clock; readonly log: Log };

const emptyAt = (call: NotedCall, at: number): CallCount => ({
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

const keyOf = ({ serviceId, call, at }: Pick<CallCount, 'serviceId' | 'call' | 'at'>): string =>
  `${serviceId} ${call} ${at}`;

/** Adds two counts of the same step; the fault of the later count is the last fault. */
function added(count: CallCount, later: CallCount): CallCount {
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
export function counted(count: CallCount, call: NotedCall, now: number): CallCount {
  const ms = Math.max(0, Math.round(call.ms));
  const seen: Seen = call.isAnswered
    ? { fault: count.fault, faultAt: count.faultAt }
    : { fault: (call.fault ?? 'unknown').slice(0, faultCharsMax), faultAt: now };
  return {
    ...count,
    answered: count.answered + (call.isAnswered ? 1 : 0),
    failed: count.failed + (call.isAnswered ? 0 : 1),
    totalMs: count.totalMs + ms,
    longestMs: Math.max(count.longestMs, ms),
    ...seen,
  };
}

/** @example const book = createCallBook({ database, clock, log }); book.note({ serviceId, call, isAnswered, ms }); */
export function createCallBook({ database, clock, log }: Deps): CallBook {
  let waiting = new Map<string, CallCount>();
  let sweptAt = 0;

  /** Adds counts that the server could not write to the counts that arrived since then. */
  function keep(counts: readonly CallCount[]): void {
    for (const count of counts) {
      const key = keyOf(count);
      const later = waiting.get(key);
      if (later === undefined && waiting.size >= waitingMax) continue;
      waiting.set(key, later === undefined ? count : added(count, later));
    }
  }

  async function write(): Promise<void> {
    if (waiting.size === 0) return;
    const counts = [...waiting.values()];
    waiting = new Map();
    try {
      await writeCalls(database, counts);
    } catch (error) {
      keep(counts);
      throw error;
    }
  }

  /** Deletes old counts in bounded batches; returns true while more may remain. */
  async function sweep(): Promise<boolean> {
    const now = clock.now();
    if (now - sweptAt < sweepEveryMs) return false;
    const deleted = await deleteCalls(database, now - keptMs, sweptMax);
    if (deleted >= sweptMax) return true;
    sweptAt = now;
    return false;
  }

  const poller = createPoller({
    pollMs: writeEveryMs,
    async poll() {
      await write();
      return sweep();
    },
    onError: (error) => log.warn({ err: error }, 'calls to providers were not counted'),
  });

  return {
    note(call) {
      const now = clock.now();
      const at = Math.floor(now / stepMs) * stepMs;
      const key = keyOf({ ...call, at });
      const known = waiting.get(key);
      if (known === undefined && waiting.size >= waitingMax) return;
      waiting.set(key, counted(known ?? emptyAt(call, at), call, now));
    },
    start: poller.start,
    async stop() {
      await poller.stop();
      await write().catch((error: unknown) =>
        log.warn({ err: error }, 'calls to providers were not counted'),
      );
    },
  };
}
