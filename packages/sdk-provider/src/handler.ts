/** The provider as a handler of requests of `node:http`: verified, bounded, answered. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { providerCallText } from '@switchyard/contract';
import { answerCall, type Reply } from './call.ts';
import { type Clock, systemClock } from './clock.ts';
import type { Awaitable, QrProvider } from './provider.ts';
import { ProviderRefusal, problemOf } from './refusal.ts';
import { verifyCall } from './signatures.ts';

/**
 * What a handler needs.
 *
 * @example
 * const options: ProviderHandlerOptions = { provider, secrets: ['whsec_…'], path: '/switchyard' };
 */
export type ProviderHandlerOptions = {
  readonly provider: QrProvider;
  /** `whsec_…` of the service, while it is renewed the old one too; or who tells them at each call. */
  readonly secrets: readonly string[] | (() => Awaitable<readonly string[]>);
  /** What stands before the addresses: the path of the address that the service declares. */
  readonly path?: string;
  readonly clock?: Clock;
  /** Hears of what an operation threw that was no refusal; the answer is a 500 in any case. */
  onFault?(error: unknown, call: { readonly method: string; readonly path: string }): void;
};

/**
 * A listener of `node:http`.
 *
 * @example
 * const handler: ProviderHandler = createProviderHandler(options);
 * createServer(handler).listen(8585);
 */
export type ProviderHandler = (request: IncomingMessage, response: ServerResponse) => void;

const bodyBytesMax = 65_536;

/** Nothing where it is too long; the rest is left unread. */
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

function write(response: ServerResponse, reply: Reply, closes = false): void {
  const { status, body, retryAfterSeconds } = reply;
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': status >= 400 ? 'application/problem+json' : 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    ...(closes ? { connection: 'close' } : {}),
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
  });
  response.end(text);
}

const refusalOf = ({ facts }: ProviderRefusal): Reply => ({
  status: facts.status,
  body: problemOf(facts),
  ...(facts.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: facts.retryAfterSeconds }),
});

const problem = (status: number, code: string, detail: string): Reply => ({
  status,
  body: problemOf({ status, code, detail }),
});

/** The part of the path below the prefix; nothing where the prefix is another one. */
function below(url: string, prefix: string): string | undefined {
  if (!url.startsWith(prefix)) return undefined;
  const rest = url.slice(prefix.length);
  return rest === '' || rest.startsWith('/') ? rest : undefined;
}

/**
 * Makes a handler for the calls of the platform. It verifies each signature before anything else is
 * looked at, reads at most 64 KiB, checks the message, and calls the provider.
 *
 * @param options - the provider, its secrets, the path that it is reached at
 * @returns a listener for `createServer` of `node:http` or `node:https`
 * @example
 * ```ts
 * const handler = createProviderHandler({ provider, secrets: [process.env.SIGNING_SECRET] });
 * createServer(handler).listen(8585);
 * ```
 */
export function createProviderHandler(options: ProviderHandlerOptions): ProviderHandler {
  const { provider, secrets, clock = systemClock } = options;
  const prefix = (options.path ?? '').replace(/\/+$/, '');

  async function genuineCall(
    request: IncomingMessage,
    path: string,
    body: Buffer,
  ): Promise<boolean> {
    const method = request.method ?? '';
    const text = method === 'GET' ? providerCallText('GET', path) : body;
    const known = typeof secrets === 'function' ? await secrets() : secrets;
    const verdict = verifyCall({
      headers: request.headers,
      text,
      secrets: known,
      now: clock.now(),
    });
    return verdict.isGenuine;
  }

  async function reply(request: IncomingMessage, path: string, body: Buffer): Promise<Reply> {
    const method = request.method ?? '';
    try {
      if (!(await genuineCall(request, path, body))) {
        return problem(401, 'signature_invalid', 'The call is not signed by the platform.');
      }
      return await answerCall(provider, { method, path: path.split('?')[0] ?? '', body });
    } catch (error) {
      if (error instanceof ProviderRefusal) return refusalOf(error);
      options.onFault?.(error, { method, path });
      return problem(500, 'internal_error', 'The provider failed.');
    }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = below(request.url ?? '', prefix);
    if (path === undefined) {
      return write(response, problem(404, 'address_unknown', 'There is no such address.'), true);
    }
    const body = await readBody(request);
    if (body === undefined) {
      return write(response, problem(413, 'body_too_large', 'The body is too long.'), true);
    }
    write(response, await reply(request, path, body));
  }

  return (request, response) => {
    // What breaks off on the way was no call.
    serve(request, response).catch(() => request.socket.destroy());
  };
}
