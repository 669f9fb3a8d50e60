// HSTS (RFC 6797): browsers come to the platform's hosts by TLS alone. Production sends it with every response.
import { type IncomingMessage, ServerResponse } from 'node:http';

const yearSeconds = 31_536_000;
const name = 'Strict-Transport-Security';
const value = `max-age=${yearSeconds}`;

/** A line of the head of a response that is written by hand. */
export const strictTransportLines = (isStrict: boolean): string[] =>
  isStrict ? [`${name}: ${value}`] : [];

/** `new` gives what a function returns: each response has the header, also those that Node sends by itself. */
function createStrictResponse(
  ...given: ConstructorParameters<typeof ServerResponse<IncomingMessage>>
): ServerResponse {
  return new ServerResponse(...given).setHeader(name, value);
}

export const responseOptions = (
  isStrict: boolean,
): { ServerResponse?: typeof ServerResponse<IncomingMessage> } =>
  isStrict
    ? {
        ServerResponse: createStrictResponse as unknown as typeof ServerResponse<IncomingMessage>,
      }
    : {};
