// HTTP routes for one kind of provisioned entity: create, list, get, replace and delete.
import { type ErrorCode, pageOf } from '@switchyard/contract';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { type Static, type TObject, type TProperties, Type } from 'typebox';
import {
  type Caller,
  entityTag,
  pageQuery,
  pageResponse,
  readIfMatch,
  readPageRequest,
  route,
} from '../../http/index.ts';
import { type CallerScope, requireOrganizationCaller, toCallerScope } from './caller-scope.ts';
import type { NotFoundCode } from './provisioning-errors.ts';
import type { ResourceInput } from './resource-definition.ts';
import type { ResourceOperations, Versioned } from './resource-operations.ts';

/** The parts of a request that determine its scope. */
export type ScopeRequest = {
  readonly caller: Caller;
  readonly params: unknown;
  readonly id: string;
};

export type ResourceRouteDefinition<View> = {
  /** With Fastify placeholders, such as `/provisioning/v2/stores`. */
  readonly path: string;
  readonly idMember: string;
  /** The name in operation ids, such as `Store` and `Stores`. */
  readonly singular: string;
  readonly plural: string;
  readonly notFoundCode: NotFoundCode;
  readonly input?: TObject;
  readonly replacement?: TObject;
  readonly view: TObject;
  /** The response to a creation, if it contains values that are shown only once. */
  readonly created?: TObject;
  readonly filters: TProperties;
  readonly resource: Omit<ResourceOperations<View>, 'createIfNew'>;
  /** The operations that require a caller of the organisation itself. */
  readonly organizationOnly?: readonly ('create' | 'replace' | 'remove' | 'read')[];
  readonly createErrors?: readonly ErrorCode[];
  /** Determines the scope from the parent that the path names. */
  readonly scope?: (request: ScopeRequest) => Promise<CallerScope>;
};

const tags = ['Provisioning'] as const;

export function sendWithETag<View>(reply: FastifyReply, { view, version }: Versioned<View>): View {
  reply.header('etag', entityTag(version));
  return view;
}

export function registerResourceRoutes<View>(
  app: FastifyInstance,
  routes: ResourceRouteDefinition<View>,
): void {
  registerReadRoutes(app, routes);
  if (routes.input !== undefined) registerCreateRoute(app, routes, routes.input);
  if (routes.replacement !== undefined) registerUpdateRoute(app, routes, routes.replacement);
  if (routes.input !== undefined) registerDeleteRoute(app, routes);
}

/** Converts `PointsOfSale` to `points of sale`. */
function toWords(name: string): string {
  return name.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter}`).toLowerCase();
}

function withArticle(singular: string): string {
  const words = toWords(singular);
  return `${/^[aeio]/.test(words) ? 'an' : 'a'} ${words}`;
}

function pathParameters({ path, idMember }: { path: string; idMember: string }) {
  const parents = [...path.matchAll(/:(\w+)/g)].map(([, name]) => String(name));
  const member = () => Type.String({ maxLength: 64, description: 'An identifier.' });
  const all = (names: readonly string[]) =>
    Type.Object(Object.fromEntries(names.map((name) => [name, member()])));
  return { collection: all(parents), item: all([...parents, idMember]) };
}

function createScopeResolver<View>(
  routes: ResourceRouteDefinition<View>,
  verb: 'create' | 'replace' | 'remove' | 'read',
) {
  return async (request: ScopeRequest): Promise<CallerScope> => {
    if (routes.organizationOnly?.includes(verb) === true) {
      requireOrganizationCaller(request.caller, `may ${verb} this`);
    }
    return routes.scope?.(request) ?? toCallerScope(request.caller, request.id);
  };
}

const entityIdOf = (routes: { idMember: string }, params: unknown) =>
  String((params as ResourceInput)[routes.idMember]);

/** The server looks up the merchant of the path before the entity below it. */
const parentErrorsOf = <View>({ scope }: ResourceRouteDefinition<View>) =>
  scope === undefined ? [] : (['merchant_not_found'] as const);

function registerReadRoutes<View>(
  app: FastifyInstance,
  routes: ResourceRouteDefinition<View>,
): void {
  const { path, singular, plural, view, resource } = routes;
  const { collection, item } = pathParameters(routes);
  const resolveScope = createScopeResolver(routes, 'read');
  const parents = parentErrorsOf(routes);

  route(app, {
    method: 'GET',
    url: path,
    operationId: `list${plural}`,
    summary: `List the ${toWords(plural)}`,
    description: 'Sorted by creation time. Pages stay consistent while entities are added.',
    tags,
    permission: 'prov.read',
    params: collection,
    query: Type.Object({ ...pageQuery, ...routes.filters }, { additionalProperties: false }),
    response: { 200: pageOf(view) },
    errors: ['cursor_invalid', ...parents],
    priority: 'list',
    async handler(request) {
      const query = request.query as Static<TObject>;
      const page = readPageRequest(query, `list${plural}`);
      const foundPage = await resource.list(await resolveScope(request), query, page);
      return pageResponse(foundPage, query, `list${plural}`);
    },
  });

  route(app, {
    method: 'GET',
    url: `${path}/:${routes.idMember}`,
    operationId: `get${singular}`,
    summary: `Get ${withArticle(singular)}`,
    tags,
    permission: 'prov.read',
    params: item,
    response: { 200: view },
    responseHeaders: { 200: ['ETag'] },
    errors: [routes.notFoundCode, ...parents],
    async handler(request, reply) {
      const scope = await resolveScope(request);
      return sendWithETag(reply, await resource.get(scope, entityIdOf(routes, request.params)));
    },
  });
}

function registerCreateRoute<View>(
  app: FastifyInstance,
  routes: ResourceRouteDefinition<View>,
  body: TObject,
): void {
  const { singular, path, view, created, resource, createErrors = [] } = routes;
  const resolveScope = createScopeResolver(routes, 'create');
  route(app, {
    method: 'POST',
    url: path,
    operationId: `create${singular}`,
    summary: `Create ${withArticle(singular)}`,
    tags,
    permission: 'prov.write',
    takesIdempotencyKey: true,
    params: pathParameters(routes).collection,
    body,
    response: { 201: created ?? view },
    responseHeaders: { 201: ['ETag'] },
    errors: createErrors,
    async handler(request, reply) {
      const scope = await resolveScope(request);
      const made = await resource.create(scope, request.body as ResourceInput);
      const id = String((made.view as ResourceInput)[routes.idMember]);
      reply.code(201).header('location', `${request.url.split('?')[0]}/${id}`);
      if (created !== undefined) reply.header('cache-control', 'no-store');
      return sendWithETag(reply, made);
    },
  });
}

function registerUpdateRoute<View>(
  app: FastifyInstance,
  routes: ResourceRouteDefinition<View>,
  body: TObject,
): void {
  const { singular, path, view, resource, createErrors = [] } = routes;
  const resolveScope = createScopeResolver(routes, 'replace');
  route(app, {
    method: 'PUT',
    url: `${path}/:${routes.idMember}`,
    operationId: `update${singular}`,
    summary: `Update ${withArticle(singular)}`,
    description:
      'Replaces the whole entity: omitted fields get their defaults. Send the ETag as If-Match to detect concurrent changes.',
    tags,
    permission: 'prov.write',
    params: pathParameters(routes).item,
    body,
    response: { 200: view },
    responseHeaders: { 200: ['ETag'] },
    errors: [
      ...new Set([
        routes.notFoundCode,
        'precondition_failed',
        'field_read_only',
        ...createErrors,
        ...parentErrorsOf(routes),
      ] as const),
    ],
    async handler(request, reply) {
      const scope = await resolveScope(request);
      const id = entityIdOf(routes, request.params);
      const ifMatch = readIfMatch(request.headers);
      const replaced = await resource.replace(scope, id, request.body as ResourceInput, ifMatch);
      return sendWithETag(reply, replaced);
    },
  });
}

function registerDeleteRoute<View>(
  app: FastifyInstance,
  routes: ResourceRouteDefinition<View>,
): void {
  const { singular, path, resource } = routes;
  const resolveScope = createScopeResolver(routes, 'remove');
  route(app, {
    method: 'DELETE',
    url: `${path}/:${routes.idMember}`,
    operationId: `delete${singular}`,
    summary: `Delete ${withArticle(singular)}`,
    description:
      'Answers 409 has_dependants while other entities depend on it. Earlier payments still refer to a deleted entity.',
    tags,
    permission: 'prov.write',
    params: pathParameters(routes).item,
    // Some clients send a content type with every request, even without a body.
    bodyOptional: true,
    response: { 204: Type.Null() },
    errors: [
      routes.notFoundCode,
      'precondition_failed',
      'has_dependants',
      ...parentErrorsOf(routes),
    ],
    async handler(request, reply) {
      const scope = await resolveScope(request);
      await resource.remove(
        scope,
        entityIdOf(routes, request.params),
        readIfMatch(request.headers),
      );
      return reply.code(204).send();
    },
  });
}
