/** Calls the platform's API with the session cookie of this browser. The page never has a token. */
import { defined } from '@switchyard/contract';
import { ConnectionError, ProblemError, parseProblem, SignedOutError } from './api-errors.ts';
import { connectionMonitor } from './connection-monitor.ts';

export type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;

export type CallOptions = {
  readonly query?: Query | undefined;
  readonly body?: unknown;
  /** A file to send instead of `body`, with its media type. */
  readonly file?: { readonly content: Blob; readonly type: string } | undefined;
  readonly signal?: AbortSignal | undefined;
  /** With this key, the platform executes a repeated request only once. */
  readonly idempotencyKey?: string | undefined;
  /** For instance `if-match`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Requests that the page sends by itself do not extend the session. */
  readonly isBackground?: boolean | undefined;
  /** The time limit for the complete response. */
  readonly limitMs?: number | undefined;
};

export type ApiResponse<Body> = {
  readonly body: Body;
  readonly status: number;
  readonly headers: Headers;
};

const answerLimitMs = 60_000;

type CallObserver = {
  onSignedOut(): void;
  onUsed(): void;
  /**
   * The user has no permission for the request; it may have been removed after the page was opened.
   */
  onForbidden(): void;
};
let callObserver: CallObserver = { onSignedOut: () => {}, onUsed: () => {}, onForbidden: () => {} };

/** Registers the session monitor: an accepted call extends the session, a 401 ends it. */
export function observeCalls(next: CallObserver): void {
  callObserver = next;
}

export function urlWithQuery(path: string, query: Query = {}): string {
  const present = Object.entries(query).filter(
    ([, value]) => value !== undefined && value !== null && value !== '',
  );
  if (present.length === 0) return path;
  return `${path}?${new URLSearchParams(present.map(([name, value]) => [name, String(value)]))}`;
}

async function readBody(response: Response): Promise<unknown> {
  const text = await response.text();
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Returns the fetch response, for streams and files. Throws for error responses too. */
export async function fetchResponse(
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Response> {
  const { query, body, file, signal, idempotencyKey, headers, isBackground = false } = options;
  const limit = AbortSignal.timeout(options.limitMs ?? answerLimitMs);
  let response: Response;
  try {
    response = await fetch(urlWithQuery(path, query), {
      method,
      credentials: 'same-origin',
      cache: 'no-store',
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
      headers: {
        accept: 'application/json, application/problem+json',
        'x-switchyard-portal': isBackground ? 'background' : '1',
        ...defined({
          'content-type': file?.type ?? (body === undefined ? undefined : 'application/json'),
          'idempotency-key': idempotencyKey,
        }),
        ...headers,
      },
      ...defined({
        body: file?.content ?? (body === undefined ? undefined : JSON.stringify(body)),
      }),
    });
  } catch (fault) {
    if (signal?.aborted) throw fault;
    connectionMonitor.reportLost();
    throw new ConnectionError(fault);
  }
  connectionMonitor.reportFound();
  if (response.status === 401) {
    callObserver.onSignedOut();
    throw new SignedOutError();
  }
  if (!isBackground) callObserver.onUsed();
  if (response.status === 403) callObserver.onForbidden();
  if (!response.ok) {
    const requestId = response.headers.get('x-request-id') ?? '';
    throw new ProblemError(parseProblem(response.status, await readBody(response), requestId));
  }
  return response;
}

/** Returns the body with the status and the headers, for example for an ETag. */
export async function callApi<Body>(
  method: string,
  path: string,
  options?: CallOptions,
): Promise<ApiResponse<Body>> {
  const response = await fetchResponse(method, path, options);
  const body = (await readBody(response)) as Body;
  return { body, status: response.status, headers: response.headers };
}

async function bodyOf<Body>(method: string, path: string, options?: CallOptions): Promise<Body> {
  const { body } = await callApi<Body>(method, path, options);
  return body;
}

export const api = {
  get: <Body>(path: string, options?: CallOptions) => bodyOf<Body>('GET', path, options),
  post: <Body>(path: string, options?: CallOptions) => bodyOf<Body>('POST', path, options),
  put: <Body>(path: string, options?: CallOptions) => bodyOf<Body>('PUT', path, options),
  delete: <Body>(path: string, options?: CallOptions) => bodyOf<Body>('DELETE', path, options),
};
