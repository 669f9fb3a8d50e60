// How a room declares a route: one object that serves routing, validation, rights and documents.
import {
  defined,
  type ErrorCode,
  type Outcome,
  type Permission,
  type Refusal,
} from '@switchyard/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Static, type TSchema, Type } from 'typebox';
import { withActing } from './acting.ts';
import type { AnswerHeader } from './answer-headers.ts';
import type { Caller } from './caller.ts';
import { type Deprecated, deprecationHeaders } from './deprecation.ts';
import { withKey } from './idempotency.ts';

/** In the order in which overload turns requests away. */
export type Priority = 'report' | 'list' | 'sale' | 'last';

/**
 * 'public' needs no token, 'token' any valid one, 'certificate' no token and a client certificate;
 * of several permissions one is enough.
 */
export type Access = Permission | readonly Permission[] | 'public' | 'token' | 'certificate';

type Part<Schema> = Schema extends TSchema ? Static<Schema> : unknown;

export type RouteRequest<A, B, Q, P> = FastifyRequest<{
  Body: Part<B>;
  Querystring: Part<Q>;
  Params: Part<P>;
}> & { readonly caller: A extends 'public' | 'certificate' ? undefined : Caller };

export type RouteFacts = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Fastify's spelling: `/payment/v1/transactions/:transactionId`. */
  readonly url: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly permission: Access;
  readonly body?: TSchema;
  /** No body at all then counts as `{}`. */
  readonly bodyOptional?: boolean;
  /** Left out: an object without members. */
  readonly query?: TSchema;
  readonly params?: TSchema;
  /** Request headers that it reads, with what they mean; for the document alone. */
  readonly headers?: Readonly<Record<string, string>>;
  /** By status, headers of its answers besides those of their kind (answer-headers.ts); for the document. */
  readonly answerHeaders?: Readonly<Record<number, readonly AnswerHeader[]>>;
  /** By status; null where the answer has no body. */
  readonly response: { readonly [status: number]: TSchema | null };
  /** Besides those that every route of its kind can give. */
  readonly errors: readonly ErrorCode[];
  /** Left out: 'sale'. */
  readonly priority?: Priority;
  /** Which policy of rate-limits.ts counts it; left out: 'default', of public routes 'public'. */
  readonly rateLimit?: string;
  /** Media types of a body that may come in place of JSON; the route's scope has to read them. */
  readonly consumes?: readonly string[];
  /** Media types of a body that the handler reads as it comes; the route's scope hands the stream on. */
  readonly streams?: readonly string[];
  /** Media types of a 200 that is not JSON. */
  readonly produces?: readonly string[];
  /** What a fault of ours says in the handler; left out: 'Unknown', of GET 'NotProcessed'. */
  readonly faultOutcome?: Outcome;
  /** Only the token of a device is good for it. */
  readonly needsDevice?: boolean;
  /** A page of the portal leads there by a plain link, for the browser to keep what comes. */
  readonly opensByLink?: boolean;
  /** Sent again under its Idempotency-Key, it is answered as the first time; the handler returns the answer. */
  readonly takesKey?: boolean;
  readonly bodyLimitBytes?: number;
  /** Reads a page's form instead of JSON; its scope has the parser of form-body.ts. */
  readonly readsForm?: boolean;
  /** Bodies to show in the document, by what they are; left out, one is put together. */
  readonly examples?: Readonly<Record<string, unknown>>;
  /** Its refusals stand in `response`, in a form that is not ours. */
  readonly hasOwnErrors?: boolean;
  /** It has a successor, and will be withdrawn. */
  readonly deprecated?: Deprecated;
  /** Served by the listener for devices alone; for the document. */
  readonly onDevices?: boolean;
  /** What an answer without a body in JSON is, by status; for the document. */
  readonly notes?: Readonly<Record<number, string>>;
  /** Not an operation of the API: pages for people. */
  readonly isHidden?: boolean;
};

export type Route<
  A extends Access,
  B extends TSchema | undefined,
  Q extends TSchema | undefined,
  P extends TSchema | undefined,
> = RouteFacts & {
  readonly permission: A;
  readonly body?: B;
  readonly query?: Q;
  readonly params?: P;
  handler(request: RouteRequest<A, B, Q, P>, reply: FastifyReply): Promise<unknown>;
};

declare module 'fastify' {
  interface FastifyContextConfig {
    facts?: RouteFacts;
    /** Tells the document of an endpoint that another library answers, past the house rules. */
    described?: RouteFacts | readonly RouteFacts[];
  }
  interface FastifyRequest {
    caller: Caller | undefined;
    /** What the request was refused with, for the log. */
    refusal: Refusal | undefined;
    /** Whether its handler has begun, so that something may have happened. */
    isHandled: boolean;
    /** Whether its answer lasts for as long as the client stays. */
    isStreamed: boolean;
  }
}

/** Declares one route of a room. */
export function route<
  const A extends Access,
  const B extends TSchema | undefined = undefined,
  const Q extends TSchema | undefined = undefined,
  const P extends TSchema | undefined = undefined,
>(app: FastifyInstance, declared: Route<A, B, Q, P>): void {
  const { handler, ...given } = declared;
  if (given.deprecated !== undefined) deprecationHeaders(given.deprecated);
  const facts: RouteFacts = withKey(withActing(withBody(given)));
  const schema = defined({ body: facts.body, querystring: facts.query, params: facts.params });
  app.route({
    method: facts.method,
    url: facts.url,
    schema,
    config: { facts },
    ...defined({ bodyLimit: facts.bodyLimitBytes }),
    handler: (request, reply) => {
      request.isHandled = true;
      // The schemas above are what make this request the declared one.
      return handler(request as RouteRequest<A, B, Q, P>, reply);
    },
  });
}

const emptyBody = Type.Object({}, { additionalProperties: false });

/** A route that needs no body takes an empty one, and refuses members that it would ignore. */
function withBody(facts: RouteFacts): RouteFacts {
  const isSent = facts.body !== undefined || facts.streams !== undefined;
  if (isSent || !['POST', 'PUT', 'PATCH'].includes(facts.method)) return facts;
  return { ...facts, body: emptyBody, bodyOptional: true };
}
