// How a room declares a route: one object that serves routing, validation, rights and documents.
import { defined, type Refusal } from '@switchyard/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Static, type TSchema, Type } from 'typebox';
import type { Access } from '../authentication/authenticate.ts';
import type { Caller } from '../authentication/caller.ts';
import { withOrganizationParameter } from './act-on-behalf-of.ts';
import { deprecationHeaders } from './deprecation.ts';
import { withIdempotencyKeyHeader } from './idempotency-key.ts';
import type { RouteDeclaration } from './route-declaration.ts';

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
> = RouteDeclaration & {
  readonly permission: A;
  readonly body?: B;
  readonly query?: Q;
  readonly params?: P;
  handler(request: RouteRequest<A, B, Q, P>, reply: FastifyReply): Promise<unknown>;
};

declare module 'fastify' {
  interface FastifyContextConfig {
    facts?: RouteDeclaration;
    /** Tells the document of an endpoint that another library answers, past the house rules. */
    describedRoutes?: RouteDeclaration | readonly RouteDeclaration[];
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
>(app: FastifyInstance, declaration: Route<A, B, Q, P>): void {
  const { handler, ...ownFacts } = declaration;
  if (ownFacts.deprecated !== undefined) deprecationHeaders(ownFacts.deprecated);
  const facts: RouteDeclaration = withIdempotencyKeyHeader(
    withOrganizationParameter(withEmptyBody(ownFacts)),
  );
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
function withEmptyBody(facts: RouteDeclaration): RouteDeclaration {
  const isSent = facts.body !== undefined || facts.streamedMediaTypes !== undefined;
  if (isSent || !['POST', 'PUT', 'PATCH'].includes(facts.method)) return facts;
  return { ...facts, body: emptyBody, bodyOptional: true };
}
