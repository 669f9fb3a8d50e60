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
import { hashed } from './body-digest-stream.ts';
import type { RouteFacts } from './route-declaration.ts';

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

const keyForm = /^[A-Za-z0-9._:-]{1,64}$/;
/** A request has come within 15 s (`requestMs` in arrivals.ts), a usual file too, and what it makes is made by then. */
const heldMs = 120_000;
const tryAgainMs = 1_000;
const keptHeaders = ['location', 'etag', 'cache-control', 'retry-after'] as const;

export type KeptAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
};

/** The key is this request's, until it lets go of it in one of these ways. */
export type HeldKey = {
  /** @param content of a body that was read as it came, its hash */
  keep(answer: KeptAnswer, content?: string): Promise<void>;
  /** Nothing was done: as if the key had never been used. */
  release(): Promise<void>;
  /** Nobody knows what was done: the key stays taken, without an answer. */
  abandon(): Promise<void>;
};

export type UsedKey =
  | { readonly state: 'Running' | 'Interrupted' | 'Reused' }
  | {
      readonly state: 'Answered';
      readonly answer: KeptAnswer;
      /** Whether a body that is read as it comes is the same. */
      readonly isContent: (content: string) => boolean;
    };

export type AskedKey = {
  readonly organizationId: string;
  readonly callerId: string;
  readonly key: string;
  /** What has to be the same under the same key. */
  readonly asked: string;
  readonly heldMs: number;
};

/** Where keys are kept. */
export type IdempotencyKeys = {
  /** @throws Refusal client_id_invalid */
  claim(asked: AskedKey): Promise<{ readonly state: 'Held'; readonly held: HeldKey } | UsedKey>;
};

const errors: readonly ErrorCode[] = [
  ...(['header_invalid', 'client_id_invalid', 'client_id_reused'] as const),
  ...(['request_in_progress', 'request_interrupted'] as const),
];

/** Says in the declaration of a route that it takes the header, once for all rooms. */
export function withKey(facts: RouteFacts): RouteFacts {
  if (facts.takesKey !== true) return facts;
  return {
    ...facts,
    headers: {
      ...facts.headers,
      [idempotencyKeyHeader]:
        'Your name for the request, 1 to 64 of A-Z a-z 0-9 . _ : - and best a UUID: sent again under it within 24 hours, it is answered as the first time and does nothing more.',
    },
    errors: [...new Set([...facts.errors, ...errors])],
  };
}

/** @throws Refusal header_invalid */
export function idempotencyKeyOf(header: unknown): string | undefined {
  if (header === undefined) return undefined;
  if (typeof header === 'string' && keyForm.test(header)) return header;
  return refuse('header_invalid', 'Idempotency-Key is 1 to 64 of A-Z a-z 0-9 . _ : -');
}

type Headers = Readonly<Record<string, unknown>>;

/**
 * The client's identifier of a request, from a member or from the header `Idempotency-Key`.
 *
 * @throws Refusal header_invalid, idempotency_key_mismatch
 */
export function resolveIdentifier(
  headers: Headers,
  memberName: string,
  member: string | undefined,
): string | undefined {
  const key = idempotencyKeyOf(headers[idempotencyKeyHeader]);
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
  const clientTransactionId = resolveIdentifier(headers, 'clientTransactionId', member);
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

function refuseReused(): never {
  return refuse(
    'client_id_reused',
    'An earlier request under this Idempotency-Key said something else, or had other rights; look whether it was done.',
  );
}

function answerOf(reply: FastifyReply, body: unknown): KeptAnswer {
  const headers: Record<string, string> = {};
  for (const name of keptHeaders) {
    const value = reply.getHeader(name);
    if (value !== undefined) headers[name] = String(value);
  }
  return { status: reply.statusCode, headers, body };
}

function sendAgain(reply: FastifyReply, { status, headers, body }: KeptAnswer): unknown {
  reply.code(status).headers(headers).header('Idempotent-Replayed', 'true');
  return body;
}

function refuseUnanswered(state: 'Running' | 'Interrupted' | 'Reused'): never {
  if (state === 'Reused') return refuseReused();
  if (state === 'Running') {
    const detail = 'The first request under this Idempotency-Key is still running.';
    return refuse('request_in_progress', detail, { retryAfterMs: tryAgainMs });
  }
  return refuse(
    'request_interrupted',
    'The first request under this Idempotency-Key was cut off, and may have been done.',
  );
}

async function answerAgain(
  used: UsedKey,
  readContent: () => Promise<string | undefined>,
  reply: FastifyReply,
): Promise<unknown> {
  if (used.state !== 'Answered') return refuseUnanswered(used.state);
  const content = await readContent();
  if (content !== undefined && !used.isContent(content)) return refuseReused();
  return sendAgain(reply, used.answer);
}

type Handle = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

/** What becomes of a key must not change what is told of the request. */
async function letGo(request: FastifyRequest, step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    request.log.warn({ err: error }, 'an idempotency key stays without its answer');
  }
}

async function handleHeld(
  held: HeldKey,
  request: FastifyRequest,
  reply: FastifyReply,
  { handle, content }: { handle: Handle; content: () => string | undefined },
): Promise<unknown> {
  let body: unknown;
  try {
    body = await handle(request, reply);
  } catch (error) {
    const isUndone = refusalOf(error)?.outcome === 'NotProcessed';
    await letGo(request, isUndone ? held.release : held.abandon);
    throw error;
  }
  await letGo(request, () => held.keep(answerOf(reply, body), content()));
  return body;
}

/** The handler looks at more than the gate does: an answer is told again to the same rights alone. */
function rightsOf(caller: Caller) {
  const { realm, entityId, merchantId, storeId, deviceId, permissions } = caller;
  return { realm, entityId, merchantId, storeId, deviceId, permissions: [...permissions].sort() };
}

function askedBy(request: FastifyRequest, caller: Caller) {
  const { organizationId, userId, clientId } = caller;
  const { params, query, body } = request;
  const { operationId } = request.routeOptions.config.facts ?? {};
  const isStream = body instanceof Readable;
  const asked = canonicalJson({
    operationId,
    params,
    query,
    rights: rightsOf(caller),
    ...(isStream ? { type: request.headers['content-type'] } : { body }),
  });
  const callerId = userId === undefined ? `client:${clientId}` : `user:${userId}`;
  return { organizationId, callerId, asked, heldMs };
}

/** @example options.handler = withIdempotency(facts, handler, keys); */
export function withIdempotency(
  facts: RouteFacts,
  handler: RouteHandlerMethod,
  keys: IdempotencyKeys,
): RouteHandlerMethod {
  const handle = handler as unknown as Handle;
  return async (request, reply) => {
    const key = idempotencyKeyOf(request.headers[idempotencyKeyHeader]);
    const { caller } = request;
    if (key === undefined || caller === undefined) return handle(request, reply);
    const claimed = await keys.claim({ ...askedBy(request, caller), key });
    const given = request.body;
    const stream = given instanceof Readable ? hashed(given, facts.bodyLimitBytes) : undefined;
    if (claimed.state !== 'Held') {
      return answerAgain(claimed, async () => stream?.drain(), reply);
    }
    if (stream !== undefined) request.body = stream.body;
    return handleHeld(claimed.held, request, reply, { handle, content: () => stream?.digest() });
  };
}
