/** The API client of the commands: adds the token, retries where that is safe, and reads lists page by page. */

import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { defined } from '@switchyard/contract';
import type { Clock } from '../runtime/clock.ts';
import { CommandError } from '../runtime/command-error.ts';
import {
  type HttpResponse,
  type StreamedResponse,
  type Transport,
  UnreachableError,
} from './https-transport.ts';
import { membersOf, parseJson, problemError, unexpectedResponse } from './problem-details.ts';

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export type RequestOptions = {
  readonly query?: Query;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly raw?: { readonly type: string; readonly bytes: string | Uint8Array };
  readonly etag?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Ends a stream that sends nothing for this time. */
  readonly idleTimeoutMs?: number;
};

export type ApiResponse<Body> = {
  readonly body: Body;
  readonly etag: string | undefined;
  readonly status: number;
};

export type ApiClient = {
  readonly baseUrl: string;
  call<Body = unknown>(
    method: string,
    path: string,
    call?: RequestOptions,
  ): Promise<ApiResponse<Body>>;
  /** Returns the response of any status, also errors. */
  raw(method: string, path: string, call?: RequestOptions): Promise<HttpResponse>;
  open(path: string, call?: RequestOptions): Promise<StreamedResponse>;
  /** Reads a list page by page, up to `maxItems`. */
  list<Item>(path: string, query?: Query, maxItems?: number): AsyncGenerator<Item>;
  /** The same client, acting in an organisation below. */
  within(organizationId: string): ApiClient;
};

export type TokenSource = { get(forceRefresh: boolean): Promise<string | undefined> };

type ApiClientOptions = {
  readonly baseUrl: string;
  readonly transport: Transport;
  readonly tokens: TokenSource;
  readonly clock: Clock;
  readonly stopping: AbortSignal;
  readonly organizationId?: string | undefined;
};

const attemptsMax = 6;
const retryBaseMs = 250;
const retryDelayMaxMs = 30_000;
const pageSize = 200;
const busyStatuses = [429, 503];
const retryableMethods = ['GET', 'HEAD', 'OPTIONS'];

/**
 * A change is retried only if the platform itself answers NotProcessed: a proxy in front of it does not know
 * whether the platform processed the request.
 */
function canRetryResponse(method: string, { status, body }: HttpResponse): boolean {
  if (!busyStatuses.includes(status)) return false;
  return (
    retryableMethods.includes(method) || membersOf(parseJson(body))['outcome'] === 'NotProcessed'
  );
}

/** Retry-After, or an exponential delay; with jitter, so that many clients do not retry at the same time. */
function retryDelayMs(attempt: number, answer: HttpResponse | undefined): number {
  const header = Number(answer?.headers['retry-after']);
  if (Number.isFinite(header) && header >= 0)
    return Math.min(header * 1000 + randomInt(250), retryDelayMaxMs);
  return Math.min(retryBaseMs * 2 ** attempt + randomInt(retryBaseMs), retryDelayMaxMs);
}

function urlOf(baseUrl: string, path: string, query: Query): URL {
  const url = new URL(path, baseUrl);
  if (url.origin !== new URL(baseUrl).origin) {
    throw new CommandError(
      'usage',
      `${path} is the address of another server. Enter a path of the platform.`,
    );
  }
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  return url;
}

function encodeBody({ body, raw }: RequestOptions): { type?: string; bytes?: string | Uint8Array } {
  if (raw !== undefined) return raw;
  if (body === undefined) return {};
  return { type: 'application/json', bytes: JSON.stringify(body) };
}

/** @example const api = createApiClient({ baseUrl, transport, tokens, clock, stopping }); */
export function createApiClient(options: ApiClientOptions): ApiClient {
  const { baseUrl, transport, tokens, stopping, organizationId } = options;

  async function requestOf(
    method: string,
    path: string,
    call: RequestOptions,
    forceRefresh: boolean,
  ) {
    const token = await tokens.get(forceRefresh);
    const { type, bytes } = encodeBody(call);
    return {
      method,
      url: urlOf(baseUrl, path, { organizationId, ...call.query }),
      headers: {
        accept: 'application/json, application/problem+json, application/jsonl, */*;q=0.1',
        'user-agent': 'switchyard-cli',
        ...defined({
          authorization: token === undefined ? undefined : `Bearer ${token}`,
          'content-type': type,
          'if-match': call.etag,
        }),
        ...call.headers,
      },
      ...defined({ body: bytes, idleTimeoutMs: call.idleTimeoutMs }),
    };
  }

  /**
   * Retries a busy server that processed nothing, and reads that were interrupted. After a 401 it requests a
   * new token once.
   */
  async function attempt(
    method: string,
    path: string,
    call: RequestOptions,
  ): Promise<HttpResponse> {
    let isFresh = false;
    for (let count = 0; ; count += 1) {
      const last = count === attemptsMax - 1;
      let answer: HttpResponse | undefined;
      try {
        answer = await transport.send(await requestOf(method, path, call, isFresh));
      } catch (error) {
        const canRetry =
          error instanceof UnreachableError && error.wasSent && retryableMethods.includes(method);
        if (!canRetry || count >= 2) throw error;
      }
      if (answer?.status === 401 && !isFresh) {
        isFresh = true;
        continue;
      }
      if (answer !== undefined && (last || !canRetryResponse(method, answer))) return answer;
      await pause(retryDelayMs(count, answer), undefined, { signal: stopping }).catch(() => {
        throw new CommandError('interrupted', 'Interrupted.');
      });
    }
  }

  async function call<Body>(
    method: string,
    path: string,
    requestOptions: RequestOptions = {},
  ): Promise<ApiResponse<Body>> {
    const answer = await attempt(method, path, requestOptions);
    const { status, headers } = answer;
    if (status < 200 || status > 299) throw problemError(answer);
    const body = answer.body.length === 0 ? undefined : parseJson(answer.body);
    if (body === undefined && answer.body.length > 0)
      throw unexpectedResponse(answer, new URL(baseUrl).host);
    const etag = headers['etag'];
    return { status, body: body as Body, etag: typeof etag === 'string' ? etag : undefined };
  }

  async function* list<Item>(path: string, query: Query = {}, maxItems = Number.POSITIVE_INFINITY) {
    let remaining = maxItems;
    let cursor: string | undefined;
    while (remaining > 0) {
      const limit = Math.min(pageSize, remaining);
      const { body } = await call<unknown>('GET', path, { query: { ...query, limit, cursor } });
      const { items, nextCursor } = membersOf(body);
      if (!Array.isArray(items))
        throw new CommandError(
          'fault',
          `${path} did not answer with a list. Check that the path is a list of the API.`,
        );
      yield* (items as Item[]).slice(0, remaining);
      remaining -= items.length;
      if (typeof nextCursor !== 'string') return;
      // A cursor that repeats would never end the list.
      if (nextCursor === cursor)
        throw new CommandError(
          'fault',
          `${path} returned the same cursor twice; the list was not read to its end.`,
        );
      cursor = nextCursor;
    }
  }

  return {
    baseUrl,
    call,
    list,
    raw: (method, path, requestOptions = {}) => attempt(method, path, requestOptions),
    async open(path, requestOptions = {}) {
      let streamed = await transport.open(await requestOf('GET', path, requestOptions, false));
      if (streamed.status === 401) {
        streamed.stream.resume();
        streamed = await transport.open(await requestOf('GET', path, requestOptions, true));
      }
      if (streamed.status === 200 || streamed.status === 204) return streamed;
      const parts: Buffer[] = [];
      for await (const part of streamed.stream as AsyncIterable<Buffer>) parts.push(part);
      throw problemError({ ...streamed, body: Buffer.concat(parts) });
    },
    within: (subOrganizationId) =>
      createApiClient({ ...options, organizationId: subOrganizationId }),
  };
}
