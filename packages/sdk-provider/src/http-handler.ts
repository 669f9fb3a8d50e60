/** The provider as a request handler for `node:http`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  createProviderCalls,
  type ProviderCallsOptions,
  type ProviderReply,
  problem,
  written,
} from './call-handler.ts';

/**
 * The options of a handler.
 *
 * @example
 * const options: ProviderHandlerOptions = { provider, secrets: ['whsec_…'], path: '/switchyard' };
 */
export type ProviderHandlerOptions = ProviderCallsOptions & {
  /** The path before the interface's addresses, from the address that the service declares. */
  readonly path?: string;
};

/**
 * A request listener for `node:http`.
 *
 * @example
 * const handler: ProviderHandler = createProviderHandler(options);
 * createServer(handler).listen(8585);
 */
export type ProviderHandler = (request: IncomingMessage, response: ServerResponse) => void;

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

function write(response: ServerResponse, reply: ProviderReply, closes = false): void {
  response.writeHead(reply.status, {
    ...reply.headers,
    'content-length': Buffer.byteLength(reply.body),
    ...(closes ? { connection: 'close' } : {}),
  });
  response.end(reply.body);
}

/** The part of the path below the prefix; undefined for a path with another prefix. */
function below(url: string, prefix: string): string | undefined {
  if (!url.startsWith(prefix)) return undefined;
  const rest = url.slice(prefix.length);
  return rest === '' || rest.startsWith('/') ? rest : undefined;
}

/**
 * Makes a handler for the platform's calls, like {@link createProviderCalls}. It does not read
 * bodies of more than 64 KiB.
 *
 * @param options - the provider, its secrets and its path
 * @returns a listener for `createServer` of `node:http` or `node:https`
 * @example
 * ```ts
 * const handler = createProviderHandler({ provider, secrets: [process.env.SIGNING_SECRET] });
 * createServer(handler).listen(8585);
 * ```
 */
export function createProviderHandler(options: ProviderHandlerOptions): ProviderHandler {
  const prefix = (options.path ?? '').replace(/\/+$/, '');
  const answer = createProviderCalls(options);
  const tooLarge = written(problem(413, 'body_too_large', 'The body is too long.'));
  const unknown = written(problem(404, 'address_unknown', 'There is no such address.'));

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = below(request.url ?? '', prefix);
    if (path === undefined) return write(response, unknown, true);
    const body = await readBody(request);
    if (body === undefined) return write(response, tooLarge, true);
    const { method = '', headers } = request;
    write(response, await answer({ method, path, headers, body }));
  }

  return (request, response) => {
    // A connection that breaks during a request is closed without an answer.
    serve(request, response).catch(() => request.socket.destroy());
  };
}
