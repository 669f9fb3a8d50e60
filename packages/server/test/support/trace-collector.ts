// An OTLP/HTTP collector, written from opentelemetry-proto 1.x: it refuses what the definition does not allow.
import assert from 'node:assert/strict';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

type AttributeValue = string | number | boolean;

export type CollectedSpan = {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  /** SPAN_KIND_… of the definition, in lower case. */
  readonly kind: string;
  readonly startNano: bigint;
  readonly endNano: bigint;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly isError: boolean;
  readonly resource: Readonly<Record<string, AttributeValue>>;
};

type CollectorAnswer = { readonly status: number; readonly headers?: Record<string, string> };

export type TraceCollector = Awaited<ReturnType<typeof startTraceCollector>>;

// biome-ignore lint/suspicious/noExplicitAny: the decoder checks each member of the received JSON
type Json = any;

/** Enum SpanKind: 0 is unspecified, and an exporter must not send it. */
const kindNames = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'];

function requireMembers(value: Json, allowed: readonly string[]): void {
  const unknown = Object.keys(value).filter((name) => !allowed.includes(name));
  assert.deepEqual(unknown, [], 'members that the definition does not have');
}

function decodeValue(value: Json): AttributeValue {
  requireMembers(value, ['stringValue', 'boolValue', 'intValue', 'doubleValue']);
  assert.equal(Object.keys(value).length, 1, 'oneof value');
  if (value.stringValue !== undefined) return String(value.stringValue);
  if (value.boolValue !== undefined) return value.boolValue === true;
  if (value.doubleValue !== undefined) return Number(value.doubleValue);
  assert.match(value.intValue, /^-?\d+$/, 'a 64-bit integer is a string');
  return Number(value.intValue);
}

function decodeAttributes(attributes: Json): Record<string, AttributeValue> {
  assert.ok(Array.isArray(attributes));
  const entries = attributes.map((each: Json): [string, AttributeValue] => {
    requireMembers(each, ['key', 'value']);
    return [each.key, decodeValue(each.value)];
  });
  assert.equal(new Set(entries.map(([key]) => key)).size, entries.length, 'a key twice');
  return Object.fromEntries(entries);
}

const decodeId = (text: Json, bytes: number): string => {
  assert.match(text, new RegExp(`^(?!0+$)[0-9a-f]{${bytes * 2}}$`), 'identifiers are hexadecimal');
  return text;
};

function decodeLink(link: Json) {
  requireMembers(link, ['traceId', 'spanId', 'traceState', 'attributes', 'flags']);
  return { traceId: decodeId(link.traceId, 16), spanId: decodeId(link.spanId, 8) };
}

function decodeNano(text: Json): bigint {
  assert.match(text, /^\d{19}$/, 'fixed64 nanoseconds of this century');
  return BigInt(text);
}

function decodeSpan(span: Json, resource: CollectedSpan['resource']): CollectedSpan {
  requireMembers(span, [
    'traceId',
    'spanId',
    'traceState',
    'parentSpanId',
    'flags',
    'name',
    'kind',
    'events',
    'startTimeUnixNano',
    'endTimeUnixNano',
    'attributes',
    'links',
    'status',
  ]);
  const kind = kindNames[span.kind] ?? 'unspecified';
  assert.notEqual(kind, 'unspecified');
  assert.ok(span.name.length > 0);
  requireMembers(span.status, ['code', 'message']);
  const [startNano, endNano] = [
    decodeNano(span.startTimeUnixNano),
    decodeNano(span.endTimeUnixNano),
  ];
  assert.ok(endNano >= startNano);
  return {
    traceId: decodeId(span.traceId, 16),
    spanId: decodeId(span.spanId, 8),
    parentSpanId: span.parentSpanId === undefined ? undefined : decodeId(span.parentSpanId, 8),
    name: span.name,
    kind,
    startNano,
    endNano,
    attributes: decodeAttributes(span.attributes),
    links: (span.links ?? []).map(decodeLink),
    isError: span.status.code === 2,
    resource,
  };
}

function decodeRequest(body: string): CollectedSpan[] {
  const request: Json = JSON.parse(body);
  requireMembers(request, ['resourceSpans']);
  return request.resourceSpans.flatMap((resourceSpans: Json) => {
    requireMembers(resourceSpans, ['resource', 'scopeSpans', 'schemaUrl']);
    const resource = decodeAttributes(resourceSpans.resource.attributes);
    return resourceSpans.scopeSpans.flatMap((scopeSpans: Json) => {
      requireMembers(scopeSpans, ['scope', 'spans', 'schemaUrl']);
      return scopeSpans.spans.map((span: Json) => decodeSpan(span, resource));
    });
  });
}

/** @param create default: plain HTTP */
export async function startTraceCollector(create: () => Server = createServer) {
  const spans: CollectedSpan[] = [];
  const bodies: string[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const waiting = new Set<ServerResponse>();
  const faults: unknown[] = [];
  let answer: CollectorAnswer | 'silence' = { status: 200 };

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    headers.push(request.headers);
    if (answer === 'silence') {
      waiting.add(response);
      return;
    }
    const { status, headers: answerHeaders = {} } = answer;
    if (status === 200) {
      bodies.push(body);
      assert.equal(request.method, 'POST');
      assert.equal(request.url, '/v1/traces');
      assert.equal(request.headers['content-type'], 'application/json');
      spans.push(...decodeRequest(body));
    }
    const responseHeaders = { 'content-type': 'application/json', ...answerHeaders };
    response.writeHead(status, responseHeaders).end('{}');
  }

  const server = create().on('request', (request, response) => {
    receive(request, response).catch((error: unknown) => {
      faults.push(error);
      response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    endpoint: `http://127.0.0.1:${port}`,
    spans,
    /** All accepted bytes. */
    bodies,
    /** Of each request, also of refused ones. */
    headers,
    respondWith(next: CollectorAnswer | 'silence') {
      answer = next;
    },
    /** @throws if a request did not follow the definition */
    async stop() {
      for (const response of waiting) response.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      assert.deepEqual(faults, []);
    },
  };
}
