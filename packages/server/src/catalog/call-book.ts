// Counts the calls to the servers of providers, so that a provider sees how its own one answered.
import { type Clock, createPoller, type Database, type Log } from '../platform/index.ts';
import { type CallCount, deleteCalls, type Seen, writeCalls } from './call-store.ts';

/** The steps that calls are counted in. */
export const stepMs = 300_000;
/** How long they are kept. */
export const keptMs = 7 * 86_400_000;
const writeEveryMs = 2_000;
const sweepEveryMs = 3_600_000;
const sweptMax = 10_000;
/** Beyond that nobody counts until the next write: a count is worth no memory. */
const waitingMax = 5_000;
const faultCharsMax = 100;

export type NotedCall = {
  readonly serviceId: string;
  /** What was asked: `create`, `activation`. */
  readonly call: string;
  /** A refusal is an answer. */
  readonly isAnswered: boolean;
  readonly ms: number;
  /** The kind of the fault, in words of ours. */
  readonly fault?: string | undefined;
};

export type CallBook = {
  note(call: NotedCall): void;
  start(): void;
  /** Writes what it has counted. */
  stop(): Promise<void>;
};

type Deps = { readonly database: Database; readonly clock: Clock; readonly log: Log };

const emptyAt = (call: NotedCall, at: number): CallCount => ({
  ...{ serviceId: call.serviceId, call: call.call, at, answered: 0, failed: 0 },
  ...{ totalMs: 0, longestMs: 0, fault: undefined, faultAt: undefined },
});

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

  async function write(): Promise<void> {
    if (waiting.size === 0) return;
    const counts = [...waiting.values()];
    waiting = new Map();
    await writeCalls(database, counts);
    if (clock.now() - sweptAt < sweepEveryMs) return;
    sweptAt = clock.now();
    await deleteCalls(database, clock.now() - keptMs, sweptMax);
  }

  const poller = createPoller({
    pollMs: writeEveryMs,
    async turn() {
      await write();
      return false;
    },
    onError: (error) => log.warn({ err: error }, 'calls to providers were not counted'),
  });

  return {
    note(call) {
      const now = clock.now();
      const at = Math.floor(now / stepMs) * stepMs;
      const key = `${call.serviceId} ${call.call} ${at}`;
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
