// A server with a handful of routes, for the tests of what the HTTP server does for all routes.

import { Amount, type Permission, ProblemError, permissions } from '@switchyard/contract';
import { pino } from 'pino';
import { Type } from 'typebox';
import { highLoadLimits } from '../../../test/support/high-load-limits.ts';
import { type Log, systemIdGenerator } from '../../platform/index.ts';
import type { Caller } from '../authentication/caller.ts';
import { pageQuery, pageResponse, readPageRequest } from '../requests/pagination.ts';
import { route } from '../routes/declare-route.ts';
import { createHttp, type Http, type HttpDeps } from './http-server.ts';

export const sampleBaseUrl = 'https://switchyard.example';

export function callerWith(granted: readonly Permission[] = permissions): Caller {
  return {
    subject: 'subject-1',
    clientId: 'client-1',
    realm: 'demo',
    organizationId: '019823f0-5d2c-7a31-9a53-0c6f1f2e9b11',
    entityType: 'tenant',
    entityId: '019823f0-5d2c-7a31-9a53-0c6f1f2e9b11',
    permissions: new Set(granted),
    expiresAt: Number.MAX_SAFE_INTEGER,
    tokenId: 'token-1',
  };
}

/** `all` may do everything, as `known` may, `reader` may read, `expired` was valid once. */
async function verify(token: string): Promise<Caller> {
  if (token === 'all' || token === 'known') return callerWith();
  if (token === 'reader') return callerWith(['pay.read']);
  if (token === 'expired') throw new ProblemError('token_expired', 'The token has expired.');
  if (token === 'fault') throw new Error('the key store is not there');
  throw new ProblemError('token_invalid', 'The token is not known.');
}

const verifyToken = Object.assign(verify, { isVerified: (token: string) => token === 'known' });

export type LogLine = Readonly<Record<string, unknown>>;

export type Sample = Http & { readonly lines: LogLine[]; handled(): number };

export const transaction = { transactionId: 't-1', clientTransactionId: 'c-1', state: 'Received' };

const Thing = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 20, pattern: '^[a-z/~]+$' }),
    amount: Amount,
    colour: Type.Optional(Type.Enum(['red', 'green'])),
    shape: Type.Optional(
      Type.Union([
        Type.Object(
          { kind: Type.Literal('circle'), radius: Type.Integer({ minimum: 1 }) },
          { additionalProperties: false },
        ),
        Type.Object(
          { kind: Type.Literal('square'), side: Type.Integer({ minimum: 1 }) },
          { additionalProperties: false },
        ),
      ]),
    ),
    parts: Type.Optional(
      Type.Array(
        Type.Object(
          { 'a/b': Type.Integer(), 'c~d': Type.Optional(Type.Integer()) },
          {
            additionalProperties: false,
          },
        ),
        { maxItems: 3 },
      ),
    ),
    labels: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        maxProperties: 3,
        propertyNames: { pattern: '^[a-z]+$' },
      }),
    ),
  },
  { additionalProperties: false },
);

const common = { tags: ['Samples'], errors: [] } as const;

function registerThings(http: Http, handle: () => void): void {
  const { app } = http;
  route(app, {
    ...common,
    method: 'POST',
    url: '/sample/v1/things',
    operationId: 'createThing',
    summary: 'Create a thing',
    permission: 'pay.sale',
    rateLimit: 'payments',
    body: Thing,
    response: {
      200: Type.Object({ name: Type.String(), amount: Type.Integer(), clientId: Type.String() }),
    },
    async handler({ body, caller }) {
      handle();
      return { name: body.name, amount: body.amount, clientId: caller.clientId };
    },
  });
  route(app, {
    ...common,
    method: 'GET',
    url: '/sample/v1/things',
    operationId: 'listThings',
    summary: 'List things',
    permission: ['pay.read', 'rep.read'],
    priority: 'list',
    query: Type.Object(
      { ...pageQuery, colour: Type.Optional(Type.String()) },
      { additionalProperties: false },
    ),
    response: { 200: Type.Object({}) },
    async handler({ query }) {
      const page = readPageRequest(query, 'things', /^item-[0-9]+$/);
      const from = page.after === undefined ? 0 : Number(page.after.slice(5)) + 1;
      const items = Array.from({ length: page.limit }, (_, index) => `item-${from + index}`);
      return pageResponse({ items, next: items.at(-1) }, query, 'things');
    },
  });
  route(app, {
    ...common,
    method: 'POST',
    url: '/sample/v1/things/:name/close',
    operationId: 'closeThing',
    summary: 'Close a thing',
    permission: 'token',
    params: Type.Object({ name: Type.String({ minLength: 2 }) }),
    body: Type.Object({ amount: Type.Optional(Amount) }, { additionalProperties: false }),
    bodyOptional: true,
    priority: 'last',
    response: { 200: Type.Object({}) },
    handler: async ({ body, params }) => ({ body, name: params.name }),
  });
}

function registerFaults(http: Http): void {
  const { app } = http;
  route(app, {
    ...common,
    method: 'POST',
    url: '/sample/v1/fault',
    operationId: 'postFault',
    summary: 'Meet a fault',
    permission: 'token',
    response: { 204: null },
    handler: async () => {
      throw new Error('secret-of-the-server');
    },
  });
  route(app, {
    ...common,
    method: 'GET',
    url: '/sample/v1/fault',
    operationId: 'getFault',
    summary: 'Meet a fault while reading',
    permission: 'public',
    response: { 204: null },
    handler: async () => {
      throw new TypeError('secret-of-the-server');
    },
  });
  route(app, {
    ...common,
    method: 'GET',
    url: '/sample/v1/undeclared',
    operationId: 'getUndeclared',
    summary: 'Answer with more than was declared',
    permission: 'public',
    response: { 200: Type.Object({ name: Type.String() }) },
    handler: async () => ({ name: 'cup', colour: 'red' }),
  });
  route(app, {
    ...common,
    method: 'POST',
    url: '/sample/v1/refusal',
    operationId: 'postRefusal',
    summary: 'Be refused',
    permission: 'token',
    response: { 204: null },
    handler: async () => {
      throw new ProblemError('transaction_in_progress', 'Not yet.', {
        retryAfterMs: 1200,
        outcome: 'Unknown',
        extensions: { transaction, ...({ code: 'never' } as object) },
        logDetail: 'queue 2',
      });
    },
  });
}

export async function createSample(more: Partial<HttpDeps> = {}): Promise<Sample> {
  const lines: LogLine[] = [];
  const log: Log = pino({ level: 'debug' }, { write: (line) => lines.push(JSON.parse(line)) });
  const http = await createHttp({
    settings: { host: '127.0.0.1', port: 0, baseUrl: sampleBaseUrl, authUrl: sampleBaseUrl },
    log,
    ids: systemIdGenerator,
    verifyToken,
    eagerSchemas: true,
    validatesResponses: true,
    // Tests share a machine: a busy moment of it is no answer of ours.
    loadLimits: highLoadLimits,
    ...more,
  });
  let handled = 0;
  registerThings(http, () => {
    handled += 1;
  });
  registerFaults(http);
  return { ...http, lines, handled: () => handled };
}
