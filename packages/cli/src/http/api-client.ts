/** The API as the commands use it: signed in, patient with a busy server, lists as one stream. */

import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { defined } from '@switchyard/contract';
import type { Clock } from '../runtime/clock.ts';
import { CommandFault } from '../runtime/command-error.ts';
import {
  type Incoming,
  type Streamed,
  type Transport,
  UnreachableFault,
} from './https-transport.ts';
import { membersOf, problemFault, readJson, strangeAnswer } from './problem-details.ts';

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export type Call = {
  readonly query?: Query;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly raw?: { readonly type: string; readonly bytes: string | Uint8Array };
  readonly etag?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Of a stream: how long it may say nothing. */
  readonly silenceMs?: number;
};

export type Answer<Body> = {
  readonly body: Body;
  readonly etag: string | undefined;
  readonly status: number;
};

export type Api = {
  readonly baseUrl: string;
  call<Body = unknown>(method: string, path: string, call?: Call): Promise<Answer<Body>>;
  /** Whatever the answer is, refusals too. */
  raw(method: string, path: string, call?: Call): Promise<Incoming>;
  open(path: string, call?: Call): Promise<Streamed>;
  /** Every item of a list, page by page; `most` ends it early. */
  list<Item>(path: string, query?: Query, most?: number): AsyncGenerator<Item>;
  /** The same API, acting in an organisation below. */
  within(organizationId: string): Api;
};

export type Tokens = { get(fresh: boolean): Promise<string | undefined> };

type Deps = {
  readonly baseUrl: string;
  readonly transport: Transport;
  readonly tokens: Tokens;
  readonly clock: Clock;
  readonly stopping: AbortSignal;
  readonly organizationId?: string | undefined;
};

const attemptsMax = 6;
const pauseMs = 250;
const pauseMostMs = 30_000;
const pageItems = 200;
const busy = [429, 503];
const repeatable = ['GET', 'HEAD', 'OPTIONS'];

/**
 * A change is sent again only where the platform itself says that nothing was done: what stands before it does
 * not know.
 */
function isSafeAgain(method: string, { status, body }: Incoming): boolean {
  if (!busy.includes(status)) return false;
  return repeatable.includes(method) || membersOf(readJson(body))['outcome'] === 'NotProcessed';
}

/** Doubled each time, with some chance in it, so that many who wait do not come back together. */
function waitFor(attempt: number, answer: Incoming | undefined): number {
  const header = Number(answer?.headers['retry-after']);
  if (Number.isFinite(header) && header >= 0)
    return Math.min(header * 1000 + randomInt(250), pauseMostMs);
  return Math.min(pauseMs * 2 ** attempt + randomInt(pauseMs), pauseMostMs);
}

function urlOf(baseUrl: string, path: string, query: Query): URL {
  const url = new URL(path, baseUrl);
  if (url.origin !== new URL(baseUrl).origin) {
    throw new CommandFault('usage', `${path} leads to another server.`);
  }
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  return url;
}

function bodyOf({ body, raw }: Call): { type?: string; bytes?: string | Uint8Array } {
  if (raw !== undefined) return raw;
  if (body === undefined) return {};
  return { type: 'application/json', bytes: JSON.stringify(body) };
}

/** @example const api = createApi({ baseUrl, transport, tokens, clock, stopping }); */
export function createApi(deps: Deps): Api {
  const { baseUrl, transport, tokens, stopping, organizationId } = deps;

  async function requestOf(method: string, path: string, call: Call, fresh: boolean) {
    const token = await tokens.get(fresh);
    const { type, bytes } = bodyOf(call);
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
      ...defined({ body: bytes, silenceMs: call.silenceMs }),
    };
  }

  /**
   * Tries again where that is safe: a busy server that did nothing; a read, whatever came of it; a refused
   * token is fetched anew once.
   */
  async function attempt(method: string, path: string, call: Call): Promise<Incoming> {
    let isFresh = false;
    for (let count = 0; ; count += 1) {
      const last = count === attemptsMax - 1;
      let answer: Incoming | undefined;
      try {
        answer = await transport.send(await requestOf(method, path, call, isFresh));
      } catch (error) {
        const again =
          error instanceof UnreachableFault && error.wasSent && repeatable.includes(method);
        if (!again || count >= 2) throw error;
      }
      if (answer?.status === 401 && !isFresh) {
        isFresh = true;
        continue;
      }
      if (answer !== undefined && (last || !isSafeAgain(method, answer))) return answer;
      await pause(waitFor(count, answer), undefined, { signal: stopping }).catch(() => {
        throw new CommandFault('interrupted', 'Interrupted.');
      });
    }
  }

  async function call<Body>(
    method: string,
    path: string,
    options: Call = {},
  ): Promise<Answer<Body>> {
    const answer = await attempt(method, path, options);
    const { status, headers } = answer;
    if (status < 200 || status > 299) throw problemFault(answer);
    const body = answer.body.length === 0 ? undefined : readJson(answer.body);
    if (body === undefined && answer.body.length > 0)
      throw strangeAnswer(answer, new URL(baseUrl).host);
    const etag = headers['etag'];
    return { status, body: body as Body, etag: typeof etag === 'string' ? etag : undefined };
  }

  async function* list<Item>(path: string, query: Query = {}, most = Number.POSITIVE_INFINITY) {
    let left = most;
    let cursor: string | undefined;
    while (left > 0) {
      const limit = Math.min(pageItems, left);
      const { body } = await call<unknown>('GET', path, { query: { ...query, limit, cursor } });
      const { items, nextCursor } = membersOf(body);
      if (!Array.isArray(items))
        throw new CommandFault('fault', `${path} did not answer with a list.`);
      yield* (items as Item[]).slice(0, left);
      left -= items.length;
      if (typeof nextCursor !== 'string') return;
      // A cursor that stands still would be read for ever.
      if (nextCursor === cursor) throw new CommandFault('fault', `${path} goes round in circles.`);
      cursor = nextCursor;
    }
  }

  return {
    baseUrl,
    call,
    list,
    raw: (method, path, options = {}) => attempt(method, path, options),
    async open(path, options = {}) {
      let streamed = await transport.open(await requestOf('GET', path, options, false));
      if (streamed.status === 401) {
        streamed.stream.resume();
        streamed = await transport.open(await requestOf('GET', path, options, true));
      }
      if (streamed.status === 200 || streamed.status === 204) return streamed;
      const parts: Buffer[] = [];
      for await (const part of streamed.stream as AsyncIterable<Buffer>) parts.push(part);
      throw problemFault({ ...streamed, body: Buffer.concat(parts) });
    },
    within: (below) => createApi({ ...deps, organizationId: below }),
  };
}
