// Declares a route: one object for routing, validation, permissions and the OpenAPI document.
import { defined, type ProblemError } from '@switchyard/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Static, type TSchema, Type } from 'typebox';
import type { Span } from '../../platform/index.ts';
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
    /** Describes an endpoint that another library serves, for the OpenAPI document only. */
    describedRoutes?: RouteDeclaration | readonly RouteDeclaration[];
  }
  interface FastifyRequest {
    caller: Caller | undefined;
    /** The problem that the response reports, for the log. */
    problemError: ProblemError | undefined;
    /** Whether the handler has started, so that the request may have had an effect. */
    isHandled: boolean;
    /** Whether the response lasts as long as the connection of the client. */
    isStreamed: boolean;
    /** Undefined before the checks of the request, and if it is not sampled. */
    span: Span | undefined;
  }
}

/** Declares one route of a module. */
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
    url: servedUrl(facts),
    schema,
    config: { facts },
    ...defined({ bodyLimit: facts.bodyLimitBytes }),
    handler: (request, reply) => {
      request.isHandled = true;
      // The schemas above have validated the types of this request.
      return handler(request as RouteRequest<A, B, Q, P>, reply);
    },
  });
}

/** Fastify's spelling of a parameter that takes one form alone: `:batchId(^[0-9]+$)`. */
const servedUrl = ({ url, pathForms = {} }: RouteDeclaration): string =>
  url.replaceAll(/:(\w+)/g, (part: string, name: string) =>
    pathForms[name] === undefined ? part : `${part}(${pathForms[name]})`,
  );

const emptyBody = Type.Object({}, { additionalProperties: false });

/** A route without a body schema accepts an empty object only. */
function withEmptyBody(facts: RouteDeclaration): RouteDeclaration {
  const isSent = facts.body !== undefined || facts.streamedMediaTypes !== undefined;
  if (isSent || !['POST', 'PUT', 'PATCH'].includes(facts.method)) return facts;
  return { ...facts, body: emptyBody, bodyOptional: true };
}
