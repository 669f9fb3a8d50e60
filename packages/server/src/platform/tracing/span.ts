// A span: one operation of a sampled trace. An operation that is not sampled has none, so callers write `span?.`.
import { systemClock } from '../time/clock.ts';
import { createSpanId, createTraceId } from './trace-context.ts';

/**
 * The closed list of attributes: names of the OpenTelemetry semantic conventions, and names of the platform. None may
 * contain card data, a token, a URL or a value that a client chooses.
 */
export type SpanAttributes = {
  'db.operation.batch.size'?: number;
  'db.operation.name'?: string;
  'db.system.name'?: 'postgresql';
  'error.type'?: string;
  'http.request.method'?: string;
  'http.response.status_code'?: number;
  'http.route'?: string;
  'messaging.operation.type'?: 'process';
  'network.protocol.name'?: 'http' | 'iso8583' | 'websocket';
  'switchyard.acquirer_link_id'?: string;
  'switchyard.job.attempts'?: number;
  'switchyard.job.kind'?: string;
  'switchyard.message.kind'?: string;
  'switchyard.operation_id'?: string;
  'switchyard.organization_id'?: string;
  'switchyard.outcome'?: string;
  'switchyard.response_code'?: string;
  'switchyard.transaction_id'?: string;
  'switchyard.webhook.attempts'?: number;
  'switchyard.webhook.endpoint_id'?: string;
  'switchyard.websocket.close_code'?: number;
};

export type SpanKind = 'internal' | 'server' | 'client' | 'consumer';

export type SpanContext = { readonly traceId: string; readonly spanId: string };

/** Receives each span at its end. */
export type RecordSpan = (span: Span) => void;

type SpanOptions = {
  readonly kind?: SpanKind;
  readonly attributes?: SpanAttributes;
  readonly links?: readonly SpanContext[];
  /** How long ago the span began. */
  readonly startedBeforeMs?: number;
};

let originMs = performance.timeOrigin;
const clockDifferenceMs = 20;

/** Follows corrections of the system clock, which the monotonic clock does not have. */
export function alignWithSystemClock(): void {
  const currentMs = systemClock.now() - performance.now();
  if (Math.abs(currentMs - originMs) > clockDifferenceMs) originMs = currentMs;
}

/** Epoch milliseconds with fractions. */
const nowMs = (): number => originMs + performance.now();

export class Span implements SpanContext {
  readonly traceId: string;
  readonly spanId = createSpanId();
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: SpanAttributes;
  readonly links: SpanContext[];
  readonly startMs: number;
  endMs: number | undefined;
  isFailed = false;
  readonly #record: RecordSpan;

  /** @param parent without it the span begins a trace */
  constructor(
    record: RecordSpan,
    parent: SpanContext | undefined,
    name: string,
    { kind = 'internal', attributes = {}, links = [], startedBeforeMs = 0 }: SpanOptions = {},
  ) {
    this.#record = record;
    this.traceId = parent?.traceId ?? createTraceId();
    this.parentSpanId = parent?.spanId;
    this.name = name;
    this.kind = kind;
    this.attributes = attributes;
    this.links = [...links];
    this.startMs = nowMs() - startedBeforeMs;
  }

  child(name: string, kind: SpanKind = 'internal', attributes: SpanAttributes = {}): Span {
    return new Span(this.#record, this, name, { kind, attributes });
  }

  /** Begins the trace of a batch, which is about several spans. Both sides have a link to the other. */
  static startBatch(spans: readonly Span[], name: string, attributes: SpanAttributes): Span {
    const [first] = spans;
    if (first === undefined) throw new Error('a batch has at least one span');
    const batch = new Span(first.#record, undefined, name, {
      kind: 'client',
      attributes,
      links: spans,
    });
    for (const span of spans) span.links.push(batch);
    return batch;
  }

  /** Without this call the span is not exported. */
  end(attributes?: SpanAttributes): void {
    if (this.endMs !== undefined) return;
    if (attributes !== undefined) Object.assign(this.attributes, attributes);
    this.endMs = Math.max(this.startMs, nowMs());
    this.#record(this);
  }

  /** @param errorType of a closed list, such as a problem code; never a message */
  fail(errorType: string, attributes?: SpanAttributes): void {
    this.isFailed = true;
    this.attributes['error.type'] = errorType;
    this.end(attributes);
  }

  /** The header for the next server, and the cause in stored jobs and events. */
  get traceparent(): string {
    return `00-${this.traceId}-${this.spanId}-01`;
  }

  /** The names of the OpenTelemetry log data model in formats other than OTLP. */
  get logMembers(): { trace_id: string; span_id: string } {
    return { trace_id: this.traceId, span_id: this.spanId };
  }
}
