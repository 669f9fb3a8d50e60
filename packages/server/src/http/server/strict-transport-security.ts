// Strict-Transport-Security (HSTS, RFC 6797): browsers use TLS only. Production sends it with every response.
import { type IncomingMessage, ServerResponse } from 'node:http';

const yearSeconds = 31_536_000;
const name = 'Strict-Transport-Security';
const value = `max-age=${yearSeconds}`;

/** The header line for a response that is written directly to a socket. */
export const hstsHeaderLines = (sendsHsts: boolean): string[] =>
  sendsHsts ? [`${name}: ${value}`] : [];

/** Called with `new`: every response gets the header, also the responses that Node sends itself. */
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
