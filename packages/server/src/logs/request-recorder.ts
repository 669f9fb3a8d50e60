// Keeps the lines of requests that were answered: gathered in memory, written many at a time, never waited for.
import { Refusal } from '@switchyard/contract';
import type { OnResponse, ResponseLogEntry } from '../http/index.ts';
import { type Clock, createPoller, isoTime, type Log, type Metrics } from '../platform/index.ts';
import { type RequestLogLine, requestLogLine } from './request-log-line.ts';
import type { Head, RequestLogStore } from './request-log-sql.ts';

const flushMs = 250;
const batchLines = 1000;
/** At three thousand requests a second some seconds without a database; then lines are lost, and counted. */
const maxWaiting = 10_000;
/** Whoever reads the log would read of himself, for ever. */
const excludedOperations: ReadonlySet<string> = new Set(['listLoggedRequests']);

export type RequestRecorder = {
  record: OnResponse;
  start(): void;
  /** Writes what waits. */
  stop(): Promise<void>;
};

type Deps = {
  readonly store: Pick<RequestLogStore, 'add'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly recorded: 'errors' | 'all';
  readonly maxRows: number;
  /** Told how far the logs have come that have grown. */
  readonly onAppended: (heads: readonly Head[]) => void;
};

type PendingEntry = { readonly entry: ResponseLogEntry; readonly recordedAt: number };

/** @example const recorder = createRecorder({ store, clock, log, metrics, keeps, rowsMax, grew }); */
export function createRequestRecorder(deps: Deps): RequestRecorder {
  const { store, clock, log, recorded, maxRows, onAppended } = deps;
  const lines = deps.metrics.counter({
    name: 'switchyard_request_log_lines_total',
    help: 'Lines of the request log, and those that could not be kept',
    labelNames: ['outcome'],
  });
  let waiting: PendingEntry[] = [];
  /** Made, and not written yet. */
  let batch: readonly RequestLogLine[] = [];
  let lost = 0;

  function reportLost(): void {
    if (lost === 0) return;
    lines.inc({ outcome: 'lost' }, lost);
    log.warn({ lines: lost }, 'lines of the request log were lost');
    lost = 0;
  }

  async function writeBatch(): Promise<boolean> {
    reportLost();
    if (batch.length === 0) {
      batch = waiting
        .slice(0, batchLines)
        .map(({ entry, recordedAt }) => requestLogLine(entry, isoTime(recordedAt)));
      waiting = waiting.slice(batchLines);
    }
    if (batch.length === 0) return false;
    try {
      const heads = await store.add(batch, maxRows);
      lines.inc({ outcome: 'kept' }, batch.length);
      batch = [];
      onAppended(heads);
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
    turn: writeBatch,
    onError: (error) => log.warn({ err: error }, 'the request log could not be written'),
  });

  async function writeRest(): Promise<void> {
    try {
      do await writeBatch();
      while (waiting.length > 0);
    } catch (error) {
      lost += batch.length + waiting.length;
      log.warn({ err: error }, 'the request log could not be written');
    }
    reportLost();
  }

  return {
    record(entry) {
      if (recorded === 'errors' && entry.status < 400) return;
      if (excludedOperations.has(entry.operationId)) return;
      if (waiting.length >= maxWaiting) lost += 1;
      else waiting.push({ entry, recordedAt: clock.now() });
    },
    start: poller.start,
    async stop() {
      await poller.stop();
      await writeRest();
    },
  };
}
