// Declares the routes of a resource from one description: list, get, create, replace and delete.
import { defined, type ErrorCode, type Permission, pageOf } from '@switchyard/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox';
import type { Caller } from '../authentication/caller.ts';
import { entityTag, readIfMatch } from '../requests/entity-tags.ts';
import {
  type FoundPage,
  type KeyPattern,
  type PageRequest,
  pageQuery,
  pageResponse,
  readPageRequest,
} from '../requests/pagination.ts';
import { route } from './declare-route.ts';

/** The server sends the version as the ETag. */
export type Versioned<View> = { readonly view: View; readonly version: number };

/** A resource that never changes has no version. */
type ResourceResult = { readonly view: object; readonly version?: number };

export type AuthenticatedRequest = FastifyRequest & { readonly caller: Caller };

type RouteTexts = {
  /** By default built from the name of the resource. */
  readonly summary?: string;
  readonly description?: string;
  /** Besides those that every such route has. */
  readonly errors?: readonly ErrorCode[];
};

/** The routes that are left out do not exist. */
export type ResourceRoutes<
  Scope = unknown,
  Input extends TSchema = TSchema,
  Replacement extends TSchema = TSchema,
  Filters extends TProperties = TProperties,
> = {
  /** With Fastify placeholders, such as `/provisioning/v2/stores`. */
  readonly path: string;
  /** The names in operation IDs, such as `Store` and `Stores`. */
  readonly singular: string;
  readonly plural: string;
  readonly tags: readonly string[];
  readonly readPermission: Permission | readonly Permission[];
  /** Required if the resource has a route that changes it. */
  readonly writePermission?: Permission | readonly Permission[];
  /** The identifiers in the path; the last one identifies the resource itself. */
  readonly identifiers: TProperties;
  readonly view: TSchema;
  readonly notFoundCode: ErrorCode;
  /** Errors of `scope`. */
  readonly scopeErrors?: readonly ErrorCode[];
  /** Checks the path and the rights of the caller, and returns what the operations need. */
  readonly scope: (
    request: AuthenticatedRequest,
    operation: 'read' | 'create' | 'replace' | 'remove',
  ) => Scope | Promise<Scope>;
  readonly list?: RouteTexts & {
    readonly filters?: Filters;
    /** The format of the key in a cursor; by default a UUID. */
    readonly cursorKey?: KeyPattern;
    readonly run: (
      scope: Scope,
      filters: Static<TObject<Filters>>,
      page: PageRequest,
    ) => Promise<FoundPage<unknown>>;
  };
  readonly get?: RouteTexts & {
    readonly view?: TSchema;
    readonly run: (scope: Scope, id: string) => Promise<ResourceResult>;
  };
  readonly create?: RouteTexts & {
    readonly body: Input;
    /** A view with values that are shown only once. */
    readonly view?: TSchema;
    readonly run: (scope: Scope, input: Static<Input>) => Promise<ResourceResult>;
  };
  /** A resource without this route has no version: its responses have no ETag. */
  readonly replace?: RouteTexts & {
    readonly body: Replacement;
    readonly run: (
      scope: Scope,
      id: string,
      input: Static<Replacement>,
      ifMatch?: string,
    ) => Promise<ResourceResult>;
  };
  readonly remove?: RouteTexts & {
    readonly run: (scope: Scope, id: string, ifMatch?: string) => Promise<void>;
  };
};

/** @example registerResourceRoutes(app, { path: '/things/v1/things', singular: 'Thing', … }); */
export function registerResourceRoutes<
  Scope,
  Input extends TSchema,
  Replacement extends TSchema,
  Filters extends TProperties,
>(app: FastifyInstance, routes: ResourceRoutes<Scope, Input, Replacement, Filters>): void;
/** The schemas of the routes check the types of each request. */
export function registerResourceRoutes(app: FastifyInstance, routes: ResourceRoutes): void {
  const { list, get, create, replace, remove } = routes;
  if (list !== undefined) registerListRoute(app, routes, list);
  if (get !== undefined) registerGetRoute(app, routes, get);
  if (create !== undefined) registerCreateRoute(app, routes, create);
  if (replace !== undefined) registerReplaceRoute(app, routes, replace);
  if (remove !== undefined) registerRemoveRoute(app, routes, remove);
}

export function sendWithETag<View>(
  reply: FastifyReply,
  { view, version }: { readonly view: View; readonly version?: number },
): View {
  if (version !== undefined) reply.header('etag', entityTag(version));
  return view;
}

/** Converts `PointsOfSale` to `points of sale`. */
function toWords(name: string): string {
  return name.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter}`).toLowerCase();
}

function withArticle(singular: string): string {
  const words = toWords(singular);
  return `${/^[aeio]/.test(words) ? 'an' : 'a'} ${words}`;
}

const idNameOf = ({ identifiers }: ResourceRoutes): string =>
  String(Object.keys(identifiers).at(-1));

const idOf = (routes: ResourceRoutes, members: unknown): string =>
  String((members as Readonly<Record<string, unknown>>)[idNameOf(routes)]);

function collectionRoute(routes: ResourceRoutes, { description }: RouteTexts) {
  const { path: url, tags, identifiers } = routes;
  const { [idNameOf(routes)]: _id, ...parents } = identifiers;
  return { url, tags, params: Type.Object(parents), ...defined({ description }) };
}

function itemRoute(routes: ResourceRoutes, { description }: RouteTexts) {
  const { path, tags, identifiers } = routes;
  const url = `${path}/:${idNameOf(routes)}`;
  return { url, tags, params: Type.Object(identifiers), ...defined({ description }) };
}

function writePermissionOf({ singular, writePermission }: ResourceRoutes) {
  if (writePermission === undefined) throw new TypeError(`${singular} has no write permission`);
  return writePermission;
}

const errorsOf = (
  { scopeErrors = [] }: ResourceRoutes,
  { errors = [] }: RouteTexts,
  codes: readonly ErrorCode[],
): ErrorCode[] => [...new Set([...codes, ...scopeErrors, ...errors])];

const etagHeader = ({ replace }: ResourceRoutes, status: 200 | 201) =>
  replace === undefined ? {} : { responseHeaders: { [status]: ['ETag'] as const } };

function registerListRoute(
  app: FastifyInstance,
  routes: ResourceRoutes,
  list: NonNullable<ResourceRoutes['list']>,
): void {
  const operationId = `list${routes.plural}`;
  route(app, {
    ...collectionRoute(routes, list),
    method: 'GET',
    operationId,
    summary: list.summary ?? `List the ${toWords(routes.plural)}`,
    permission: routes.readPermission,
    query: Type.Object({ ...pageQuery, ...list.filters }, { additionalProperties: false }),
    response: { 200: pageOf(routes.view) },
    errors: errorsOf(routes, list, ['cursor_invalid']),
    priority: 'list',
    async handler(request) {
      const { query } = request;
      const scope = await routes.scope(request, 'read');
      const page = readPageRequest(query, operationId, list.cursorKey);
      const { limit: _limit, cursor: _cursor, ...filters } = query;
      return pageResponse(await list.run(scope, filters, page), query, operationId);
    },
  });
}

function registerGetRoute(
  app: FastifyInstance,
  routes: ResourceRoutes,
  get: NonNullable<ResourceRoutes['get']>,
): void {
  route(app, {
    ...itemRoute(routes, get),
    method: 'GET',
    operationId: `get${routes.singular}`,
    summary: get.summary ?? `Get ${withArticle(routes.singular)}`,
    permission: routes.readPermission,
    response: { 200: get.view ?? routes.view },
    ...etagHeader(routes, 200),
    errors: errorsOf(routes, get, [routes.notFoundCode]),
    async handler(request, reply) {
      const scope = await routes.scope(request, 'read');
      return sendWithETag(reply, await get.run(scope, idOf(routes, request.params)));
    },
  });
}

function registerCreateRoute(
  app: FastifyInstance,
  routes: ResourceRoutes,
  create: NonNullable<ResourceRoutes['create']>,
): void {
  route(app, {
    ...collectionRoute(routes, create),
    method: 'POST',
    operationId: `create${routes.singular}`,
    summary: create.summary ?? `Create ${withArticle(routes.singular)}`,
    permission: writePermissionOf(routes),
    takesIdempotencyKey: true,
    body: create.body,
    response: { 201: create.view ?? routes.view },
    ...etagHeader(routes, 201),
    errors: errorsOf(routes, create, []),
    async handler(request, reply) {
      const scope = await routes.scope(request, 'create');
      const created = await create.run(scope, request.body);
      const id = idOf(routes, created.view);
      reply.code(201).header('location', `${request.url.split('?')[0]}/${id}`);
      if (create.view !== undefined) reply.header('cache-control', 'no-store');
      return sendWithETag(reply, created);
    },
  });
}

function registerReplaceRoute(
  app: FastifyInstance,
  routes: ResourceRoutes,
  replace: NonNullable<ResourceRoutes['replace']>,
): void {
  const codes = [routes.notFoundCode, 'precondition_failed', 'field_read_only'] as const;
  route(app, {
    ...itemRoute(routes, replace),
    method: 'PUT',
    operationId: `update${routes.singular}`,
    summary: replace.summary ?? `Update ${withArticle(routes.singular)}`,
    permission: writePermissionOf(routes),
    body: replace.body,
    response: { 200: routes.view },
    ...etagHeader(routes, 200),
    errors: errorsOf(routes, replace, codes),
    async handler(request, reply) {
      const scope = await routes.scope(request, 'replace');
      const id = idOf(routes, request.params);
      const ifMatch = readIfMatch(request.headers);
      return sendWithETag(reply, await replace.run(scope, id, request.body, ifMatch));
    },
  });
}

function registerRemoveRoute(
  app: FastifyInstance,
  routes: ResourceRoutes,
  remove: NonNullable<ResourceRoutes['remove']>,
): void {
  const versionErrors = routes.replace === undefined ? [] : (['precondition_failed'] as const);
  route(app, {
    ...itemRoute(routes, remove),
    method: 'DELETE',
    operationId: `delete${routes.singular}`,
    summary: remove.summary ?? `Delete ${withArticle(routes.singular)}`,
    permission: writePermissionOf(routes),
    // Some clients send a content type with every request, even without a body.
    bodyOptional: true,
    response: { 204: Type.Null() },
    errors: errorsOf(routes, remove, [routes.notFoundCode, ...versionErrors]),
    async handler(request, reply) {
      const scope = await routes.scope(request, 'remove');
      await remove.run(scope, idOf(routes, request.params), readIfMatch(request.headers));
      return reply.code(204).send();
    },
  });
}
