// A request that is sent again under its Idempotency-Key is answered as the first time, and does nothing more.
import { Readable } from 'node:stream';
import {
  ClientIdentifier,
  canonicalJson,
  type ErrorCode,
  refuse,
  refuseField,
} from '@switchyard/contract';
import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { Check } from 'typebox/schema';
import type { Caller } from '../authentication/caller.ts';
import { refusalOf } from '../responses/problem-responses.ts';
import { createBodyDigestStream } from './body-digest-stream.ts';
import type { RouteDeclaration } from './route-declaration.ts';

/** Says that a response repeats the one of an earlier request. */
export function setReplayedHeader(reply: FastifyReply, replayed: boolean): void {
  if (replayed) reply.header('Idempotent-Replayed', 'true');
}

/** Means the same as the member `clientOperationId`; both with different values are refused. */
export const idempotencyKeyHeader = 'idempotency-key';

/** Headers of a route whose body has `clientOperationId`. */
export const operationIdempotencyHeaders = {
  [idempotencyKeyHeader]: 'Means the same as clientOperationId; both must agree.',
};

/** Headers of a route whose body has `clientTransactionId`. */
export const paymentIdempotencyHeaders = {
  [idempotencyKeyHeader]:
    'Means the same as clientTransactionId, which may be left out then; both must agree.',
};

const keyPattern = /^[A-Za-z0-9._:-]{1,64}$/;
/** A request has come within 15 s (`requestMs` in arrivals.ts), a usual file too, and what it makes is made by then. */
const claimMs = 120_000;
const retryAfterMs = 1_000;
const storedHeaders = ['location', 'etag', 'cache-control', 'retry-after'] as const;

export type StoredResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
};

/** The key is this request's, until it lets go of it in one of these ways. */
export type ClaimedKey = {
  /** @param content of a body that was read as it came, its hash */
  complete(answer: StoredResponse, content?: string): Promise<void>;
  /** Nothing was done: as if the key had never been used. */
  release(): Promise<void>;
  /** Nobody knows what was done: the key stays taken, without an answer. */
  abandon(): Promise<void>;
};

export type ExistingKey =
  | { readonly state: 'Running' | 'Interrupted' | 'Reused' }
  | {
      readonly state: 'Completed';
      readonly response: StoredResponse;
      /** Whether a body that is read as it comes is the same. */
      readonly matchesContent: (content: string) => boolean;
    };

export type IdempotencyKeyRequest = {
  readonly organizationId: string;
  readonly callerId: string;
  readonly key: string;
  /** What has to be the same under the same key. */
  readonly requestText: string;
  readonly claimMs: number;
};

/** Where keys are kept. */
export type IdempotencyKeys = {
  /** @throws Refusal client_id_invalid */
  claim(
    request: IdempotencyKeyRequest,
  ): Promise<{ readonly state: 'Claimed'; readonly key: ClaimedKey } | ExistingKey>;
};

const keyErrors: readonly ErrorCode[] = [
  ...(['header_invalid', 'client_id_invalid', 'client_id_reused'] as const),
  ...(['request_in_progress', 'request_interrupted'] as const),
];

/** Says in the declaration of a route that it takes the header, once for all rooms. */
export function withIdempotencyKeyHeader(facts: RouteDeclaration): RouteDeclaration {
  if (facts.takesIdempotencyKey !== true) return facts;
  return {
    ...facts,
    headers: {
      ...facts.headers,
      [idempotencyKeyHeader]:
        'Your name for the request, 1 to 64 of A-Z a-z 0-9 . _ : - and best a UUID: sent again under it within 24 hours, it is answered as the first time and does nothing more.',
    },
    errors: [...new Set([...facts.errors, ...keyErrors])],
  };
}

/** @throws Refusal header_invalid */
export function readIdempotencyKey(header: unknown): string | undefined {
  if (header === undefined) return undefined;
  if (typeof header === 'string' && keyPattern.test(header)) return header;
  return refuse('header_invalid', 'Idempotency-Key is 1 to 64 of A-Z a-z 0-9 . _ : -');
}

type Headers = Readonly<Record<string, unknown>>;

/**
 * The client's identifier of a request, from a member or from the header `Idempotency-Key`.
 *
 * @throws Refusal header_invalid, idempotency_key_mismatch
 */
export function resolveClientIdentifier(
  headers: Headers,
  memberName: string,
  member: string | undefined,
): string | undefined {
  const key = readIdempotencyKey(headers[idempotencyKeyHeader]);
  if (key !== undefined && member !== undefined && key !== member) {
    refuse('idempotency_key_mismatch', `Idempotency-Key and ${memberName} differ.`);
  }
  return member ?? key;
}

/**
 * The body of a payment with its clientTransactionId, from the body or from the header `Idempotency-Key`.
 *
 * @throws Refusal field_required, client_id_invalid, header_invalid, idempotency_key_mismatch
 */
export function withClientTransactionId<Body extends { clientTransactionId?: string }>(
  headers: Headers,
  body: Body,
): Body & { clientTransactionId: string } {
  const member = body.clientTransactionId;
  const clientTransactionId = resolveClientIdentifier(headers, 'clientTransactionId', member);
  if (clientTransactionId === undefined) {
    return refuseField(
      'field_required',
      '/clientTransactionId',
      'A payment needs an identifier: send clientTransactionId, or the header Idempotency-Key.',
    );
  }
  if (member === undefined && !Check(ClientIdentifier, clientTransactionId)) {
    refuse('client_id_invalid', 'Idempotency-Key cannot be used as clientTransactionId.');
  }
  return { ...body, clientTransactionId };
}

function throwKeyReused(): never {
  return refuse(
    'client_id_reused',
    'An earlier request under this Idempotency-Key said something else, or had other rights; look whether it was done.',
  );
}

function storedResponseOf(reply: FastifyReply, body: unknown): StoredResponse {
  const headers: Record<string, string> = {};
  for (const name of storedHeaders) {
    const value = reply.getHeader(name);
    if (value !== undefined) headers[name] = String(value);
  }
  return { status: reply.statusCode, headers, body };
}

function replayResponse(reply: FastifyReply, { status, headers, body }: StoredResponse): unknown {
  reply.code(status).headers(headers).header('Idempotent-Replayed', 'true');
  return body;
}

function throwWithoutResponse(state: 'Running' | 'Interrupted' | 'Reused'): never {
  if (state === 'Reused') return throwKeyReused();
  if (state === 'Running') {
    const detail = 'The first request under this Idempotency-Key is still running.';
    return refuse('request_in_progress', detail, { retryAfterMs: retryAfterMs });
  }
  return refuse(
    'request_interrupted',
    'The first request under this Idempotency-Key was cut off, and may have been done.',
  );
}

async function replay(
  existing: ExistingKey,
  readContent: () => Promise<string | undefined>,
  reply: FastifyReply,
): Promise<unknown> {
  if (existing.state !== 'Completed') return throwWithoutResponse(existing.state);
  const content = await readContent();
  if (content !== undefined && !existing.matchesContent(content)) return throwKeyReused();
  return replayResponse(reply, existing.response);
}

type Handle = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

/** What becomes of a key must not change what is told of the request. */
async function finishKey(request: FastifyRequest, step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    request.log.warn({ err: error }, 'an idempotency key stays without its answer');
  }
}

async function handleClaimed(
  key: ClaimedKey,
  request: FastifyRequest,
  reply: FastifyReply,
  { handle, content }: { handle: Handle; content: () => string | undefined },
): Promise<unknown> {
  let body: unknown;
  try {
    body = await handle(request, reply);
  } catch (error) {
    const isUndone = refusalOf(error)?.outcome === 'NotProcessed';
    await finishKey(request, isUndone ? key.release : key.abandon);
    throw error;
  }
  await finishKey(request, () => key.complete(storedResponseOf(reply, body), content()));
  return body;
}

/** The handler looks at more than the gate does: an answer is told again to the same rights alone. */
function callerRights(caller: Caller) {
  const { realm, entityId, merchantId, storeId, deviceId, permissions } = caller;
  return { realm, entityId, merchantId, storeId, deviceId, permissions: [...permissions].sort() };
}

function keyRequestOf(request: FastifyRequest, caller: Caller) {
  const { organizationId, userId, clientId } = caller;
  const { params, query, body } = request;
  const { operationId } = request.routeOptions.config.facts ?? {};
  const isStream = body instanceof Readable;
  const requestText = canonicalJson({
    operationId,
    params,
    query,
    rights: callerRights(caller),
    ...(isStream ? { type: request.headers['content-type'] } : { body }),
  });
  const callerId = userId === undefined ? `client:${clientId}` : `user:${userId}`;
  return { organizationId, callerId, requestText, claimMs };
}

/** @example options.handler = withIdempotency(facts, handler, keys); */
export function withIdempotency(
  facts: RouteDeclaration,
  handler: RouteHandlerMethod,
  keys: IdempotencyKeys,
): RouteHandlerMethod {
  const handle = handler as unknown as Handle;
  return async (request, reply) => {
    const key = readIdempotencyKey(request.headers[idempotencyKeyHeader]);
    const { caller } = request;
    if (key === undefined || caller === undefined) return handle(request, reply);
    const claimed = await keys.claim({ ...keyRequestOf(request, caller), key });
    const source = request.body;
    const stream =
      source instanceof Readable ? createBodyDigestStream(source, facts.bodyLimitBytes) : undefined;
    if (claimed.state !== 'Claimed') {
      return replay(claimed, async () => stream?.drain(), reply);
    }
    if (stream !== undefined) request.body = stream.body;
    return handleClaimed(claimed.key, request, reply, { handle, content: () => stream?.digest() });
  };
}
