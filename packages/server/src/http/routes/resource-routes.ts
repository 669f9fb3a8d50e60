// Declares the routes of a resource from one description: list, get, create, update and delete.
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
export type ResourceDescription<
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
    operation: 'read' | 'create' | 'update' | 'delete',
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
  readonly update?: RouteTexts & {
    readonly body: Replacement;
    readonly run: (
      scope: Scope,
      id: string,
      input: Static<Replacement>,
      ifMatch?: string,
    ) => Promise<ResourceResult>;
  };
  readonly delete?: RouteTexts & {
    readonly run: (scope: Scope, id: string, ifMatch?: string) => Promise<void>;
  };
};

/** @example registerResourceRoutes(app, { path: '/things/v1/things', singular: 'Thing', … }); */
export function registerResourceRoutes<
  Scope,
  Input extends TSchema,
  Replacement extends TSchema,
  Filters extends TProperties,
>(app: FastifyInstance, resource: ResourceDescription<Scope, Input, Replacement, Filters>): void;
/** The schemas of the routes check the types of each request. */
export function registerResourceRoutes(app: FastifyInstance, resource: ResourceDescription): void {
  const { list, get, create, update, delete: deletion } = resource;
  if (list !== undefined) registerListRoute(app, resource, list);
  if (get !== undefined) registerGetRoute(app, resource, get);
  if (create !== undefined) registerCreateRoute(app, resource, create);
  if (update !== undefined) registerUpdateRoute(app, resource, update);
  if (deletion !== undefined) registerDeleteRoute(app, resource, deletion);
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

const idNameOf = ({ identifiers }: ResourceDescription): string =>
  String(Object.keys(identifiers).at(-1));

const idOf = (resource: ResourceDescription, members: unknown): string =>
  String((members as Readonly<Record<string, unknown>>)[idNameOf(resource)]);

function collectionRoute(resource: ResourceDescription, { description }: RouteTexts) {
  const { path: url, tags, identifiers } = resource;
  const { [idNameOf(resource)]: _id, ...parents } = identifiers;
  return { url, tags, params: Type.Object(parents), ...defined({ description }) };
}

function itemRoute(resource: ResourceDescription, { description }: RouteTexts) {
  const { path, tags, identifiers } = resource;
  const url = `${path}/:${idNameOf(resource)}`;
  return { url, tags, params: Type.Object(identifiers), ...defined({ description }) };
}

function writePermissionOf({ singular, writePermission }: ResourceDescription) {
  if (writePermission === undefined) throw new TypeError(`${singular} has no write permission`);
  return writePermission;
}

const errorsOf = (
  { scopeErrors = [] }: ResourceDescription,
  { errors = [] }: RouteTexts,
  codes: readonly ErrorCode[],
): ErrorCode[] => [...new Set([...codes, ...scopeErrors, ...errors])];

const etagHeader = ({ update }: ResourceDescription, status: 200 | 201) =>
  update === undefined ? {} : { responseHeaders: { [status]: ['ETag'] as const } };

function registerListRoute(
  app: FastifyInstance,
  resource: ResourceDescription,
  list: NonNullable<ResourceDescription['list']>,
): void {
  const operationId = `list${resource.plural}`;
  route(app, {
    ...collectionRoute(resource, list),
    method: 'GET',
    operationId,
    summary: list.summary ?? `List the ${toWords(resource.plural)}`,
    permission: resource.readPermission,
    query: Type.Object({ ...pageQuery, ...list.filters }, { additionalProperties: false }),
    response: { 200: pageOf(resource.view) },
    errors: errorsOf(resource, list, ['cursor_invalid']),
    priority: 'list',
    async handler(request) {
      const { query } = request;
      const scope = await resource.scope(request, 'read');
      const page = readPageRequest(query, operationId, list.cursorKey);
      const { limit: _limit, cursor: _cursor, ...filters } = query;
      return pageResponse(await list.run(scope, filters, page), query, operationId);
    },
  });
}

function registerGetRoute(
  app: FastifyInstance,
  resource: ResourceDescription,
  get: NonNullable<ResourceDescription['get']>,
): void {
  route(app, {
    ...itemRoute(resource, get),
    method: 'GET',
    operationId: `get${resource.singular}`,
    summary: get.summary ?? `Get ${withArticle(resource.singular)}`,
    permission: resource.readPermission,
    response: { 200: get.view ?? resource.view },
    ...etagHeader(resource, 200),
    errors: errorsOf(resource, get, [resource.notFoundCode]),
    async handler(request, reply) {
      const scope = await resource.scope(request, 'read');
      return sendWithETag(reply, await get.run(scope, idOf(resource, request.params)));
    },
  });
}

function registerCreateRoute(
  app: FastifyInstance,
  resource: ResourceDescription,
  create: NonNullable<ResourceDescription['create']>,
): void {
  route(app, {
    ...collectionRoute(resource, create),
    method: 'POST',
    operationId: `create${resource.singular}`,
    summary: create.summary ?? `Create ${withArticle(resource.singular)}`,
    permission: writePermissionOf(resource),
    takesIdempotencyKey: true,
    body: create.body,
    response: { 201: create.view ?? resource.view },
    ...etagHeader(resource, 201),
    errors: errorsOf(resource, create, []),
    async handler(request, reply) {
      const scope = await resource.scope(request, 'create');
      const created = await create.run(scope, request.body);
      const id = idOf(resource, created.view);
      reply.code(201).header('location', `${request.url.split('?')[0]}/${id}`);
      if (create.view !== undefined) reply.header('cache-control', 'no-store');
      return sendWithETag(reply, created);
    },
  });
}

function registerUpdateRoute(
  app: FastifyInstance,
  resource: ResourceDescription,
  update: NonNullable<ResourceDescription['update']>,
): void {
  const codes = [resource.notFoundCode, 'precondition_failed', 'field_read_only'] as const;
  route(app, {
    ...itemRoute(resource, update),
    method: 'PUT',
    operationId: `update${resource.singular}`,
    summary: update.summary ?? `Update ${withArticle(resource.singular)}`,
    permission: writePermissionOf(resource),
    body: update.body,
    response: { 200: resource.view },
    ...etagHeader(resource, 200),
    errors: errorsOf(resource, update, codes),
    async handler(request, reply) {
      const scope = await resource.scope(request, 'update');
      const id = idOf(resource, request.params);
      const ifMatch = readIfMatch(request.headers);
      return sendWithETag(reply, await update.run(scope, id, request.body, ifMatch));
    },
  });
}

function registerDeleteRoute(
  app: FastifyInstance,
  resource: ResourceDescription,
  deletion: NonNullable<ResourceDescription['delete']>,
): void {
  const versionErrors = resource.update === undefined ? [] : (['precondition_failed'] as const);
  route(app, {
    ...itemRoute(resource, deletion),
    method: 'DELETE',
    operationId: `delete${resource.singular}`,
    summary: deletion.summary ?? `Delete ${withArticle(resource.singular)}`,
    permission: writePermissionOf(resource),
    // Some clients send a content type with every request, even without a body.
    bodyOptional: true,
    response: { 204: Type.Null() },
    errors: errorsOf(resource, deletion, [resource.notFoundCode, ...versionErrors]),
    async handler(request, reply) {
      const scope = await resource.scope(request, 'delete');
      await deletion.run(scope, idOf(resource, request.params), readIfMatch(request.headers));
      return reply.code(204).send();
    },
  });
}
