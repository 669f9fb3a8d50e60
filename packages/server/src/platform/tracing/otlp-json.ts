// Encodes spans as ExportTraceServiceRequest in the JSON mapping of OTLP 1.x.
import { defined } from '@switchyard/contract';
import type { Span, SpanKind } from './span.ts';

type Value = string | number | boolean;

/** Numbers of `SpanKind` in opentelemetry/proto/trace/v1/trace.proto. */
const kindNumbers: Readonly<Record<SpanKind, number>> = {
  internal: 1,
  server: 2,
  client: 3,
  consumer: 5,
};
const errorStatusCode = 2;

const toAttributes = (values: Readonly<Record<string, Value>>) =>
  Object.entries(values).map(([key, value]) => ({ key, value: toAnyValue(value) }));

/** 64-bit integers are strings in the JSON mapping of Protocol Buffers. */
function toAnyValue(value: Value) {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** Microseconds: a double has no more digits for an epoch time. */
const toUnixNano = (epochMs: number): string => `${Math.round(epochMs * 1000)}000`;

function toOtlpSpan(span: Span) {
  const { traceId, spanId, parentSpanId, name, kind, links } = span;
  return {
    traceId,
    spanId,
    ...defined({ parentSpanId }),
    flags: 1,
    name,
    kind: kindNumbers[kind],
    startTimeUnixNano: toUnixNano(span.startMs),
    endTimeUnixNano: toUnixNano(span.endMs ?? span.startMs),
    attributes: toAttributes(span.attributes as Record<string, Value>),
    links: links.map((link) => ({ traceId: link.traceId, spanId: link.spanId, flags: 1 })),
    status: span.isFailed ? { code: errorStatusCode } : {},
  };
}

/** @param resource attributes of the process, such as `service.name` */
export function createOtlpEncoder(
  resource: Readonly<Record<string, string>>,
  version: string,
): (spans: readonly Span[]) => string {
  const attributes = toAttributes(resource);
  const scope = { name: 'switchyard', version };
  return (spans) =>
    JSON.stringify({
      resourceSpans: [
        { resource: { attributes }, scopeSpans: [{ scope, spans: spans.map(toOtlpSpan) }] },
      ],
    });
}
