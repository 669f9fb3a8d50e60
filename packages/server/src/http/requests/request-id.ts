// Names a request, and carries the trace that it belongs to (W3C Trace Context).
import type { IncomingMessage } from 'node:http';

/** Nothing that could be a card number: it goes into answers, logs and events. */
const requestIdPattern = /^(?!.*[0-9]{13})[A-Za-z0-9._:-]{1,128}$/;
/** Version 00 and its successors, but not ff; neither identifier all zeros. */
const traceparentPattern =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.{0,256})?$/;

export const requestIdHeader = 'x-request-id';

/** A client's own name for the request when it has an acceptable form, else a new one. */
export function createRequestIdReader(uuid: () => string): (raw: IncomingMessage) => string {
  return (raw) => {
    const header = raw.headers[requestIdHeader];
    return typeof header === 'string' && requestIdPattern.test(header) ? header : uuid();
  };
}

/** To be sent on with every call that serves the request; nothing where it is absent or malformed. */
export function traceparentOf(raw: IncomingMessage): string | undefined {
  const header = raw.headers['traceparent'];
  return typeof header === 'string' && traceparentPattern.test(header) ? header : undefined;
}

export function traceIdOf(raw: IncomingMessage): string | undefined {
  return traceparentOf(raw)?.slice(3, 35);
}
