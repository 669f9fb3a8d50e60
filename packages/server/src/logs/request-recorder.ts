// Keeps the lines of requests that were answered: gathered in memory, written many at a time, never waited for.
import { Refusal } from '@switchyard/contract';
import type { Answered, OnAnswered } from '../http/index.ts';
import { type Clock, createPoller, isoTime, type Log, type Metrics } from '../platform/index.ts';
import { type Line, lineOf } from './request-log-line.ts';
import type { Head, LineStore } from './request-log-sql.ts';

const flushMs = 250;
const batchLines = 1000;
/** At three thousand requests a second some seconds without a database; then lines are lost, and counted. */
const waitingMax = 10_000;
/** Whoever reads the log would read of himself, for ever. */
const unkept: ReadonlySet<string> = new Set(['listLoggedRequests']);

export type Recorder = {
  note: OnAnswered;
  start(): void;
  /** Writes what waits. */
  stop(): Promise<void>;
};

type Deps = {
  readonly store: Pick<LineStore, 'add'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly keeps: 'errors' | 'all';
  readonly rowsMax: number;
  /** Told how far the logs have come that have grown. */
  readonly grew: (heads: readonly Head[]) => void;
};

type Noted = { readonly answered: Answered; readonly at: number };

/** @example const recorder = createRecorder({ store, clock, log, metrics, keeps, rowsMax, grew }); */
export function createRecorder(deps: Deps): Recorder {
  const { store, clock, log, keeps, rowsMax, grew } = deps;
  const lines = deps.metrics.counter({
    name: 'switchyard_request_log_lines_total',
    help: 'Lines of the request log, and those that could not be kept',
    labelNames: ['outcome'],
  });
  let waiting: Noted[] = [];
  /** Made, and not written yet. */
  let batch: readonly Line[] = [];
  let lost = 0;

  function tellLost(): void {
    if (lost === 0) return;
    lines.inc({ outcome: 'lost' }, lost);
    log.warn({ lines: lost }, 'lines of the request log were lost');
    lost = 0;
  }

  async function turn(): Promise<boolean> {
    tellLost();
    if (batch.length === 0) {
      batch = waiting.slice(0, batchLines).map(({ answered, at }) => lineOf(answered, isoTime(at)));
      waiting = waiting.slice(batchLines);
    }
    if (batch.length === 0) return false;
    try {
      const grown = await store.add(batch, rowsMax);
      lines.inc({ outcome: 'kept' }, batch.length);
      batch = [];
      grew(grown);
    } catch (error) {
      // The database is away: it will come again. What it does not take now it never will.
      if (!(error instanceof Refusal)) {
        lost += batch.length;
        batch = [];
      }
      throw error;
    }
    return waiting.length >= batchLines;
  }

  const poller = createPoller({
    pollMs: flushMs,
    turn,
    onError: (error) => log.warn({ err: error }, 'the request log could not be written'),
  });

  async function writeRest(): Promise<void> {
    try {
      do await turn();
      while (waiting.length > 0);
    } catch (error) {
      lost += batch.length + waiting.length;
      log.warn({ err: error }, 'the request log could not be written');
    }
    tellLost();
  }

  return {
    note(answered) {
      if (keeps === 'errors' && answered.status < 400) return;
      if (unkept.has(answered.operationId)) return;
      if (waiting.length >= waitingMax) lost += 1;
      else waiting.push({ answered, at: clock.now() });
    },
    start: poller.start,
    async stop() {
      await poller.stop();
      await writeRest();
    },
  };
}
