// Records responses in the request log: collects lines in memory and writes them in batches in the background.
import { ProblemError } from '@switchyard/contract';
import type { OnResponse, ResponseLogEntry } from '../http/index.ts';
import { type Clock, createPoller, isoTime, type Log, type Metrics } from '../platform/index.ts';
import { type RequestLogLine, requestLogLine } from './request-log-line.ts';
import type { Head, RequestLogStore } from './request-log-sql.ts';

const flushMs = 250;
const batchLines = 1000;
/** A few seconds without a database at 3,000 requests a second; further lines are lost and counted. */
const maxWaiting = 10_000;
/** A client that follows the log would otherwise see its own requests for ever. */
const excludedOperations: ReadonlySet<string> = new Set(['listLoggedRequests']);

export type RequestRecorder = {
  record: OnResponse;
  start(): void;
  /** Writes the pending lines. */
  stop(): Promise<void>;
};

type Deps = {
  readonly store: Pick<RequestLogStore, 'add'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly recorded: 'errors' | 'all';
  readonly maxRows: number;
  /** Called with the new heads of the logs that have grown. */
  readonly onAppended: (heads: readonly Head[]) => void;
};

type PendingEntry = { readonly entry: ResponseLogEntry; readonly recordedAt: number };

/** @example const recorder = createRequestRecorder({ store, clock, log, metrics, recorded, maxRows, onAppended }); */
export function createRequestRecorder(deps: Deps): RequestRecorder {
  const { store, clock, log, recorded, maxRows, onAppended } = deps;
  const lines = deps.metrics.counter({
    name: 'switchyard_request_log_lines_total',
    help: 'Lines of the request log, by whether they were stored',
    labelNames: ['outcome'],
  });
  let waiting: PendingEntry[] = [];
  /** The lines that are not written yet. */
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
      // A ProblemError means that the database is unavailable, so the batch is retried; any other error would repeat.
      if (!(error instanceof ProblemError)) {
        lost += batch.length;
        batch = [];
      }
      throw error;
    }
    return waiting.length >= batchLines;
  }

  const poller = createPoller({
    pollMs: flushMs,
    poll: writeBatch,
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
