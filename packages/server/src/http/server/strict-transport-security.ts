// HSTS (RFC 6797): browsers come to the platform's hosts by TLS alone. Production sends it with every response.
import { type IncomingMessage, ServerResponse } from 'node:http';

const yearSeconds = 31_536_000;
const name = 'Strict-Transport-Security';
const value = `max-age=${yearSeconds}`;

/** A line of the head of a response that is written by hand. */
export const hstsHeaderLines = (sendsHsts: boolean): string[] =>
  sendsHsts ? [`${name}: ${value}`] : [];

/** `new` gives what a function returns: each response has the header, also those that Node sends by itself. */
function createHstsResponse(
  ...given: ConstructorParameters<typeof ServerResponse<IncomingMessage>>
): ServerResponse {
  return new ServerResponse(...given).setHeader(name, value);
}

export const hstsServerOptions = (
  sendsHsts: boolean,
): { ServerResponse?: typeof ServerResponse<IncomingMessage> } =>
  sendsHsts
    ? {
        ServerResponse: createHstsResponse as unknown as typeof ServerResponse<IncomingMessage>,
      }
    : {};
