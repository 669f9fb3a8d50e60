// Sends spans to an OTLP collector in batches, with a bounded queue. The callers never wait.
import { Agent as PlainAgent, request as plainRequest } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import type { SecureContext } from 'node:tls';
import { withJitter } from '../identifiers/ids.ts';
import { type CallResult, sendRequest, staleConnection } from '../net/outgoing-request.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import { pause, systemClock, waitAtMost } from '../time/clock.ts';
import { alignWithSystemClock, type Span } from './span.ts';

/** The defaults of the OpenTelemetry SDK for its batch processor. */
const maxQueuedSpans = 2048;
const maxBatchSpans = 512;
/** OTLP/HTTP: the other statuses say that a repetition cannot succeed. */
const retryableStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const firstRetryMs = 1000;
const maxRetryMs = 30_000;
/** After this time a batch is dropped, so that newer spans are exported. */
const retryLimitMs = 120_000;
const stopLimitMs = 3000;
const maxResponseBytes = 65_536;

export type ExporterOptions = {
  /** With the path `/v1/traces`. */
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly exportIntervalMs: number;
  /** Undefined for a URL with `http`. */
  readonly secureContext: SecureContext | undefined;
  readonly encode: (spans: readonly Span[]) => string;
  readonly log: Pick<Log, 'warn' | 'info'>;
  readonly metrics: Pick<Metrics, 'counter'>;
  /** For tests. */
  readonly retryTimes?:
    | { readonly firstRetryMs: number; readonly retryLimitMs: number }
    | undefined;
};

export type SpanExporter = {
  record(span: Span): void;
  /** Exports the queued spans, for at most {@link stopLimitMs}. */
  stop(): Promise<void>;
};

type DropReason = 'queue_full' | 'unreachable' | 'refused' | 'stopped';

/** @example const exporter = createOtlpExporter(options); startSpan(exporter.record, undefined, 'name').end(); */
export function createOtlpExporter(options: ExporterOptions): SpanExporter {
  const { url, secureContext, timeoutMs, encode, log } = options;
  const times = options.retryTimes ?? { firstRetryMs, retryLimitMs };
  const isTls = secureContext !== undefined;
  const agent = isTls
    ? new TlsAgent({ keepAlive: true, maxSockets: 1, secureContext })
    : new PlainAgent({ keepAlive: true, maxSockets: 1 });
  const counters = createCounters(options.metrics);
  const stopping = new AbortController();
  let queue: Span[] = [];
  let exporting: Promise<void> | undefined;
  let isFailing = false;
  const timer = setInterval(exportSoon, options.exportIntervalMs);
  timer.unref();

  function exportSoon(): void {
    alignWithSystemClock();
    if (queue.length === 0 || exporting !== undefined) return;
    exporting = exportQueue().finally(() => {
      exporting = undefined;
    });
  }

  async function exportQueue(): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.slice(0, maxBatchSpans);
      queue = queue.slice(maxBatchSpans);
      await exportBatch(batch);
    }
  }

  async function exportBatch(batch: readonly Span[]): Promise<void> {
    const body = encode(batch);
    const giveUpAtMs = performance.now() + times.retryLimitMs;
    for (let attempts = 1; ; attempts += 1) {
      const result = await post(body);
      const isStopping = stopping.signal.aborted;
      if (result.fault === undefined && result.status >= 200 && result.status < 300) {
        recordSuccess(batch.length, result.body);
        return;
      }
      const isRetryable = result.fault !== undefined || retryableStatuses.has(result.status);
      // `Retry-After: 0` alone would repeat without a pause.
      const retryMs = Math.max(retryAfterMs(result), backoffMs(times.firstRetryMs, attempts));
      if (!isRetryable || isStopping || performance.now() + retryMs > giveUpAtMs) {
        const reason = result.fault === undefined ? 'refused' : 'unreachable';
        recordFailure(result);
        counters.dropped.inc({ reason: isStopping ? 'stopped' : reason }, batch.length);
        return;
      }
      recordFailure(result);
      // The stop ends the pause, for the last attempt.
      await pause(retryMs, stopping.signal);
    }
  }

  async function post(body: string): Promise<CallResult> {
    const limits = { timeoutMs, maxResponseBytes, acceptsTruncatedBody: true };
    const attempt = () => {
      const headers = {
        ...options.headers,
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
      };
      const requestOptions = { method: 'POST', headers, agent };
      return sendRequest((isTls ? tlsRequest : plainRequest)(url, requestOptions), body, limits);
    };
    const first = await attempt();
    const result = first === staleConnection ? await attempt() : first;
    return result === staleConnection
      ? { fault: 'unreachable', ms: 0, possiblySent: true }
      : result;
  }

  function recordSuccess(spanCount: number, body: string): void {
    const rejectedCount = Math.min(spanCount, countRejectedSpans(body));
    counters.exported.inc(spanCount - rejectedCount);
    if (rejectedCount > 0) counters.dropped.inc({ reason: 'refused' }, rejectedCount);
    if (isFailing) log.info('the trace collector accepts spans again');
    isFailing = false;
  }

  /** Once for each outage: every batch would repeat the line. */
  function recordFailure(result: CallResult): void {
    if (isFailing) return;
    isFailing = true;
    const reason = result.fault ?? `status ${result.status}`;
    log.warn({ host: url.host, reason }, 'spans could not be sent to the trace collector');
  }

  return {
    record(span) {
      if (queue.length >= maxQueuedSpans) {
        counters.dropped.inc({ reason: 'queue_full' });
        return;
      }
      queue.push(span);
      if (queue.length >= maxBatchSpans) exportSoon();
    },
    async stop() {
      clearInterval(timer);
      stopping.abort();
      exportSoon();
      if (exporting !== undefined) await waitAtMost(stopLimitMs, exporting);
      const remaining = queue.length;
      queue = [];
      if (remaining > 0) counters.dropped.inc({ reason: 'stopped' }, remaining);
      agent.destroy();
    },
  };
}

function createCounters(metrics: ExporterOptions['metrics']) {
  const exported = metrics.counter({
    name: 'switchyard_trace_spans_exported_total',
    help: 'Spans that the trace collector accepted',
  });
  const dropped = metrics.counter({
    name: 'switchyard_trace_spans_dropped_total',
    help: 'Spans that were not exported, by reason',
    labelNames: ['reason'],
  });
  const reasons: readonly DropReason[] = ['queue_full', 'unreachable', 'refused', 'stopped'];
  for (const reason of reasons) dropped.inc({ reason }, 0);
  return { exported, dropped };
}

const maxDoublings = 10;

const backoffMs = (firstMs: number, attempts: number): number =>
  withJitter(Math.min(maxRetryMs, firstMs * 2 ** Math.min(attempts - 1, maxDoublings)));

/** Seconds or an HTTP date (RFC 9110, 10.2.3); a longer pause than the limit is not followed. */
function retryAfterMs(result: CallResult): number {
  const text = (result.fault === undefined && result.headers['retry-after']) || '0';
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - systemClock.now();
  return Number.isNaN(ms) ? 0 : ms;
}

/** `partialSuccess` of the response: the collector has dropped some spans. */
function countRejectedSpans(body: string): number {
  try {
    const count = Number(JSON.parse(body)?.partialSuccess?.rejectedSpans ?? 0);
    return Number.isSafeInteger(count) && count > 0 ? count : 0;
  } catch {
    return 0;
  }
}
