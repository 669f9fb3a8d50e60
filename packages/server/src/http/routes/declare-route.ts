// How a room declares a route: one object that serves routing, validation, rights and documents.
import { defined, type Refusal } from '@switchyard/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Static, type TSchema, Type } from 'typebox';
import type { Access } from '../authentication/authenticate.ts';
import type { Caller } from '../authentication/caller.ts';
import { withActing } from './act-on-behalf-of.ts';
import { deprecationHeaders } from './deprecation.ts';
import { withKey } from './idempotency-key.ts';
import type { RouteFacts } from './route-declaration.ts';

type Part<Schema> = Schema extends TSchema ? Static<Schema> : unknown;

export type RouteRequest<A, B, Q, P> = FastifyRequest<{
  Body: Part<B>;
  Querystring: Part<Q>;
  Params: Part<P>;
}> & { readonly caller: A extends 'public' | 'certificate' ? undefined : Caller };

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
