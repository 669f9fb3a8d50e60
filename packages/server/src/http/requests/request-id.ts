// The identifier of a request (X-Request-Id).
import type { IncomingMessage } from 'node:http';

/** Excludes card numbers, since the identifier is written to responses, logs and events. */
const requestIdPattern = /^(?!.*[0-9]{13})[A-Za-z0-9._:-]{1,128}$/;

export const requestIdHeader = 'x-request-id';

/** The X-Request-Id of the client when its format is accepted, otherwise a new identifier. */
export function createRequestIdReader(uuid: () => string): (raw: IncomingMessage) => string {
  return (raw) => {
    const header = raw.headers[requestIdHeader];
    return typeof header === 'string' && requestIdPattern.test(header) ? header : uuid();
  };
}
