/** The provider as a request handler for `node:http`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  createProviderCallHandler,
  type ProviderCallHandlerOptions,
  type ProviderResponse,
  problemAnswer,
  toResponse,
} from './call-handler.ts';

/**
 * The options of a handler.
 *
 * @example
 * const options: ProviderHttpHandlerOptions = { provider, secrets: ['whsec_…'], path: '/switchyard' };
 */
export type ProviderHttpHandlerOptions = ProviderCallHandlerOptions & {
  /** The path before the interface's addresses, from the address that the service declares. */
  readonly path?: string;
};

/**
 * A request listener for `node:http`.
 *
 * @example
 * const handler: ProviderHttpHandler = createProviderHttpHandler(options);
 * createServer(handler).listen(8585);
 */
export type ProviderHttpHandler = (request: IncomingMessage, response: ServerResponse) => void;

const bodyBytesMax = 65_536;

/** Returns undefined for a body that is too long and does not read the rest. */
function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= bodyBytesMax) chunks.push(chunk);
      else {
        request.pause();
        resolve(undefined);
      }
    });
    request.once('end', () => resolve(Buffer.concat(chunks)));
    request.once('error', reject);
    request.once('close', () => reject(new Error('the call was broken off')));
  });
}

function writeResponse(response: ServerResponse, reply: ProviderResponse, closes = false): void {
  response.writeHead(reply.status, {
    ...reply.headers,
    'content-length': Buffer.byteLength(reply.body),
    ...(closes ? { connection: 'close' } : {}),
  });
  response.end(reply.body);
}

/** The part of the path below the prefix; undefined for a path with another prefix. */
function pathBelow(url: string, prefix: string): string | undefined {
  if (!url.startsWith(prefix)) return undefined;
  const rest = url.slice(prefix.length);
  return rest === '' || rest.startsWith('/') ? rest : undefined;
}

/**
 * Makes a handler for the platform's calls, like {@link createProviderCallHandler}. It does not read
 * bodies of more than 64 KiB.
 *
 * @param options - the provider, its secrets and its path
 * @returns a listener for `createServer` of `node:http` or `node:https`
 * @example
 * ```ts
 * const handler = createProviderHttpHandler({ provider, secrets: [process.env.SIGNING_SECRET] });
 * createServer(handler).listen(8585);
 * ```
 */
export function createProviderHttpHandler(
  options: ProviderHttpHandlerOptions,
): ProviderHttpHandler {
  const prefix = (options.path ?? '').replace(/\/+$/, '');
  const answer = createProviderCallHandler(options);
  const tooLarge = toResponse(problemAnswer(413, 'body_too_large', 'The body is too long.'));
  const unknown = toResponse(problemAnswer(404, 'address_unknown', 'There is no such address.'));

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = pathBelow(request.url ?? '', prefix);
    if (path === undefined) return writeResponse(response, unknown, true);
    const body = await readBody(request);
    if (body === undefined) return writeResponse(response, tooLarge, true);
    const { method = '', headers } = request;
    writeResponse(response, await answer({ method, path, headers, body }));
  }

  return (request, response) => {
    // A connection that breaks during a request is closed without an answer.
    serve(request, response).catch(() => request.socket.destroy());
  };
}
