// A span: one operation of a sampled trace. An operation that is not sampled has none.
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

export type Span = SpanContext & {
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: SpanAttributes;
  readonly links: SpanContext[];
  readonly startMs: number;
  /** Undefined until the end. */
  endMs: number | undefined;
  isFailed: boolean;
  readonly record: RecordSpan;
  /** The header for the next server, and the cause in stored jobs and events. */
  readonly traceparent: string;
  /** The names of the OpenTelemetry log data model in formats other than OTLP. */
  readonly logMembers: { readonly trace_id: string; readonly span_id: string };
};

/** @param parent without it the span begins a trace */
export function startSpan(
  record: RecordSpan,
  parent: SpanContext | undefined,
  name: string,
  { kind = 'internal', attributes = {}, links = [], startedBeforeMs = 0 }: SpanOptions = {},
): Span {
  const traceId = parent?.traceId ?? createTraceId();
  const spanId = createSpanId();
  return {
    traceId,
    spanId,
    parentSpanId: parent?.spanId,
    name,
    kind,
    attributes,
    links: [...links],
    startMs: nowMs() - startedBeforeMs,
    endMs: undefined,
    isFailed: false,
    record,
    traceparent: `00-${traceId}-${spanId}-01`,
    logMembers: { trace_id: traceId, span_id: spanId },
  };
}

/** @example const child = span && startChildSpan(span, 'acquirer Sale', 'client'); */
export const startChildSpan = (
  parent: Span,
  name: string,
  kind: SpanKind = 'internal',
  attributes: SpanAttributes = {},
): Span => startSpan(parent.record, parent, name, { kind, attributes });

/** Without this call the span is not exported. */
export function endSpan(span: Span | undefined, attributes?: SpanAttributes): void {
  if (span === undefined || span.endMs !== undefined) return;
  if (attributes !== undefined) Object.assign(span.attributes, attributes);
  span.endMs = Math.max(span.startMs, nowMs());
  span.record(span);
}

/** @param errorType of a closed list, such as a problem code; never a message */
export function failSpan(
  span: Span | undefined,
  errorType: string,
  attributes?: SpanAttributes,
): void {
  if (span === undefined) return;
  span.isFailed = true;
  span.attributes['error.type'] = errorType;
  endSpan(span, attributes);
}

/**
 * Begins the trace of a batch, which is about several spans. Both sides have a link to the other.
 *
 * @returns undefined without spans
 */
export function startBatchSpan(
  spans: readonly Span[],
  name: string,
  attributes: SpanAttributes,
): Span | undefined {
  const [first] = spans;
  if (first === undefined) return undefined;
  const batch = startSpan(first.record, undefined, name, {
    kind: 'client',
    attributes,
    links: spans,
  });
  for (const span of spans) span.links.push(batch);
  return batch;
}
