// The identifier of a request (X-Request-Id) and of its trace (W3C Trace Context).
import type { IncomingMessage } from 'node:http';

/** Excludes card numbers, since the identifier is written to responses, logs and events. */
const requestIdPattern = /^(?!.*[0-9]{13})[A-Za-z0-9._:-]{1,128}$/;
/** Version 00 and its successors, but not ff; neither identifier all zeros. */
const traceparentPattern =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.{0,256})?$/;

export const requestIdHeader = 'x-request-id';

/** The X-Request-Id of the client when its format is accepted, otherwise a new identifier. */
export function createRequestIdReader(uuid: () => string): (raw: IncomingMessage) => string {
  return (raw) => {
    const header = raw.headers[requestIdHeader];
    return typeof header === 'string' && requestIdPattern.test(header) ? header : uuid();
  };
}

/** Undefined when the header is absent or malformed. */
export function traceparentOf(raw: IncomingMessage): string | undefined {
  const header = raw.headers['traceparent'];
  return typeof header === 'string' && traceparentPattern.test(header) ? header : undefined;
}

export function traceIdOf(raw: IncomingMessage): string | undefined {
  return traceparentOf(raw)?.slice(3, 35);
}
