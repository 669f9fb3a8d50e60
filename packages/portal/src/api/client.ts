/** Calls of the platform's own API with the session of this browser: no token is ever seen here. */
import { defined } from '@switchyard/contract';
import { ConnectionError, ProblemError, problemFrom, SignedOutError } from './api-errors.ts';
import { connection } from './connection-monitor.ts';

export type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;

export type CallOptions = {
  readonly query?: Query | undefined;
  readonly body?: unknown;
  /** In place of `body`: a file as it is, with its media type. */
  readonly file?: { readonly content: Blob; readonly type: string } | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Of a change that may be sent twice and is to be made once. */
  readonly idempotencyKey?: string | undefined;
  /** For instance `if-match`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** What the page does by itself does not keep the session awake. */
  readonly isBackground?: boolean | undefined;
  /** How long the whole answer may take. */
  readonly limitMs?: number | undefined;
  /** A refusal is an answer like another: for whoever wants to see it as it came. */
  readonly takesRefusals?: boolean | undefined;
};

export type Answered<Body> = {
  readonly body: Body;
  readonly status: number;
  readonly headers: Headers;
};

const answerLimitMs = 60_000;

type Watcher = {
  onSignedOut(): void;
  onUsed(): void;
  /** A right is lacking: it may have been there when the page was opened. */
  onForbidden(): void;
};
let watcher: Watcher = { onSignedOut: () => {}, onUsed: () => {}, onForbidden: () => {} };

/** The session hears of every call: one that was let in keeps it alive, one that was not ends it. */
export function watchCalls(next: Watcher): void {
  watcher = next;
}

export function addressWith(path: string, query: Query = {}): string {
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

/** The answer itself, for streams and files; refusals are thrown here, too. */
export async function callRaw(
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Response> {
  const { query, body, file, signal, idempotencyKey, headers, isBackground = false } = options;
  const limit = AbortSignal.timeout(options.limitMs ?? answerLimitMs);
  let response: Response;
  try {
    response = await fetch(addressWith(path, query), {
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
    connection.lost();
    throw new ConnectionError(fault);
  }
  connection.reportFound();
  if (response.status === 401) {
    watcher.onSignedOut();
    throw new SignedOutError();
  }
  if (!isBackground) watcher.onUsed();
  if (response.status === 403) watcher.onForbidden();
  if (!response.ok && options.takesRefusals !== true) {
    const requestId = response.headers.get('x-request-id') ?? '';
    throw new ProblemError(problemFrom(response.status, await readBody(response), requestId));
  }
  return response;
}

/** With the status and the headers, for instance an ETag. */
export async function call<Body>(
  method: string,
  path: string,
  options?: CallOptions,
): Promise<Answered<Body>> {
  const response = await callRaw(method, path, options);
  const body = (await readBody(response)) as Body;
  return { body, status: response.status, headers: response.headers };
}

async function bodyOf<Body>(method: string, path: string, options?: CallOptions): Promise<Body> {
  const { body } = await call<Body>(method, path, options);
  return body;
}

export const api = {
  get: <Body>(path: string, options?: CallOptions) => bodyOf<Body>('GET', path, options),
  post: <Body>(path: string, options?: CallOptions) => bodyOf<Body>('POST', path, options),
  put: <Body>(path: string, options?: CallOptions) => bodyOf<Body>('PUT', path, options),
  delete: <Body>(path: string, options?: CallOptions) => bodyOf<Body>('DELETE', path, options),
};
