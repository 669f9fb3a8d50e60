// The header Idempotency-Key: a repeated request gets the response of the first request and has no further effect.
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import {
  ClientIdentifier,
  canonicalJson,
  type ErrorCode,
  throwFieldProblem,
  throwProblem,
} from '@switchyard/contract';
import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { Check } from 'typebox/schema';
import type { Caller } from '../authentication/caller.ts';
import { toProblemError } from '../responses/problem-responses.ts';
import type { RouteDeclaration } from './route-declaration.ts';

/** Marks a response that repeats the response of an earlier request. */
export function setReplayedHeader(reply: FastifyReply, replayed: boolean): void {
  if (replayed) reply.header('Idempotent-Replayed', 'true');
}

/** Equivalent to the member `clientOperationId`; different values are rejected. */
export const idempotencyKeyHeader = 'idempotency-key';

/** Headers of a route whose body has `clientOperationId`. */
export const operationIdempotencyHeaders = {
  [idempotencyKeyHeader]:
    'Equivalent to clientOperationId; when both are sent, they must be equal.',
};

/** Headers of a route whose body has `clientTransactionId`. */
export const paymentIdempotencyHeaders = {
  [idempotencyKeyHeader]:
    'Equivalent to clientTransactionId, which may then be left out; when both are sent, they must be equal.',
};

const keyPattern = /^[A-Za-z0-9._:-]{1,64}$/;
/** Longer than the 15 s for receiving a request (`requestMs` in new-connection-limits.ts) and its processing. */
const claimMs = 120_000;
const retryAfterMs = 1_000;
const storedHeaders = ['location', 'etag', 'cache-control', 'retry-after'] as const;

export type StoredResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
};

/** A key that this request has claimed; the request ends the claim in one of these ways. */
export type ClaimedKey = {
  /** @param content the digest of a streamed body */
  complete(answer: StoredResponse, content?: string): Promise<void>;
  /** The request had no effect, so the key becomes unused. */
  release(): Promise<void>;
  /** The effect is unknown, so the key stays used without a response. */
  abandon(): Promise<void>;
};

export type ExistingKey =
  | { readonly state: 'Running' | 'Interrupted' | 'Reused' }
  | {
      readonly state: 'Completed';
      readonly response: StoredResponse;
      /** Whether the digest of a streamed body is the same. */
      readonly matchesContent: (content: string) => boolean;
    };

export type IdempotencyKeyRequest = {
  readonly organizationId: string;
  readonly callerId: string;
  readonly key: string;
  /** The parts of the request that must be equal under the same key. */
  readonly requestText: string;
  readonly claimMs: number;
};

/** The store of idempotency keys. */
export type IdempotencyKeys = {
  /** @throws ProblemError client_id_invalid */
  claim(
    request: IdempotencyKeyRequest,
  ): Promise<{ readonly state: 'Claimed'; readonly key: ClaimedKey } | ExistingKey>;
};

const keyErrors: readonly ErrorCode[] = [
  ...(['header_invalid', 'client_id_invalid', 'client_id_reused'] as const),
  ...(['request_in_progress', 'request_interrupted'] as const),
];

/** Adds the header to the declaration of a route. */
export function withIdempotencyKeyHeader(facts: RouteDeclaration): RouteDeclaration {
  if (facts.takesIdempotencyKey !== true) return facts;
  return {
    ...facts,
    headers: {
      ...facts.headers,
      [idempotencyKeyHeader]:
        'Your identifier of the request: 1 to 64 characters of A-Z a-z 0-9 . _ : -, preferably a UUID. A repeated request with the same key within 24 hours gets the first response and has no further effect.',
    },
    errors: [...new Set([...facts.errors, ...keyErrors])],
  };
}

/** @throws ProblemError header_invalid */
function readIdempotencyKey(header: unknown): string | undefined {
  if (header === undefined) return undefined;
  if (typeof header === 'string' && keyPattern.test(header)) return header;
  return throwProblem(
    'header_invalid',
    'Idempotency-Key must be 1 to 64 characters of A-Z a-z 0-9 . _ : -',
  );
}

type Headers = Readonly<Record<string, unknown>>;

/**
 * The client's identifier of a request, from a member or from the header `Idempotency-Key`.
 *
 * @throws ProblemError header_invalid, idempotency_key_mismatch
 */
export function resolveClientIdentifier(
  headers: Headers,
  memberName: string,
  member: string | undefined,
): string | undefined {
  const key = readIdempotencyKey(headers[idempotencyKeyHeader]);
  if (key !== undefined && member !== undefined && key !== member) {
    throwProblem(
      'idempotency_key_mismatch',
      `Idempotency-Key and ${memberName} differ; send one of them or equal values.`,
    );
  }
  return member ?? key;
}

/**
 * The body of a payment with its clientTransactionId, from the body or from the header `Idempotency-Key`.
 *
 * @throws ProblemError field_required, client_id_invalid, header_invalid, idempotency_key_mismatch
 */
export function resolveClientTransactionId<Body extends { clientTransactionId?: string }>(
  headers: Headers,
  body: Body,
): Body & { clientTransactionId: string } {
  const member = body.clientTransactionId;
  const clientTransactionId = resolveClientIdentifier(headers, 'clientTransactionId', member);
  if (clientTransactionId === undefined) {
    return throwFieldProblem(
      'field_required',
      '/clientTransactionId',
      'A payment needs an identifier: send clientTransactionId or the header Idempotency-Key.',
    );
  }
  if (member === undefined && !Check(ClientIdentifier, clientTransactionId)) {
    throwProblem(
      'client_id_invalid',
      'The value of Idempotency-Key is not a valid clientTransactionId.',
    );
  }
  return { ...body, clientTransactionId };
}

function throwKeyReused(): never {
  return throwProblem(
    'client_id_reused',
    'An earlier request with this Idempotency-Key had other content or other permissions. Check its result, and use a new key only for a new request.',
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
    const detail = 'The first request with this Idempotency-Key is still running; retry later.';
    return throwProblem('request_in_progress', detail, { retryAfterMs });
  }
  return throwProblem(
    'request_interrupted',
    'The first request with this Idempotency-Key was interrupted, and the platform may have processed it. Check its result before you use a new key.',
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

/** An error of the key store must not change the response. */
async function finishKey(request: FastifyRequest, step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    request.log.warn({ err: error }, 'the response of an idempotency key could not be stored');
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
    const isUndone = toProblemError(error)?.outcome === 'NotProcessed';
    await finishKey(request, isUndone ? key.release : key.abandon);
    throw error;
  }
  await finishKey(request, () => key.complete(storedResponseOf(reply, body), content()));
  return body;
}

/** Handlers check more than the permission, so a response is replayed only to equal permissions. */
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

type BodyDigestStream = {
  readonly body: Readable;
  /** The digest of the bytes read so far, in hexadecimal. */
  digest(): string;
  /** Reads the rest of the body. */
  drain(): Promise<string>;
};

/** @example const { body, digest } = createBodyDigestStream(request.body, limitBytes); */
function createBodyDigestStream(
  source: Readable,
  limitBytes = Number.MAX_SAFE_INTEGER,
): BodyDigestStream {
  const sha256 = createHash('sha256');
  let bytes = 0;
  async function* read(): AsyncGenerator<Buffer> {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > limitBytes) {
        throwProblem('payload_too_large', `The body is longer than ${limitBytes} bytes.`);
      }
      sha256.update(chunk);
      yield chunk;
    }
  }
  const body = Readable.from(read(), { objectMode: false });
  const digest = () => sha256.copy().digest('hex');
  return {
    body,
    digest,
    async drain() {
      for await (const _chunk of body);
      return digest();
    },
  };
}
