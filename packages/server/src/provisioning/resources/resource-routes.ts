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
import { requireOrganization, type Scope, scopeOf } from './caller-scope.ts';
import type { NotFoundCode } from './provisioning-errors.ts';
import type { Input } from './resource-definition.ts';
import type { Resource, Versioned } from './resource-operations.ts';

/** The parts of a request that determine its scope. */
export type Asked = { readonly caller: Caller; readonly params: unknown; readonly id: string };

export type ResourceRoutes<View> = {
  /** With Fastify placeholders, such as `/provisioning/v2/stores`. */
  readonly path: string;
  readonly idMember: string;
  /** The name in operation ids, such as `Store` and `Stores`. */
  readonly singular: string;
  readonly plural: string;
  readonly notFound: NotFoundCode;
  readonly input?: TObject;
  readonly replacement?: TObject;
  readonly view: TObject;
  /** The response to a creation, if it contains values that are shown only once. */
  readonly created?: TObject;
  readonly filters: TProperties;
  readonly resource: Omit<Resource<View>, 'createOnce'>;
  /** The operations that require a caller of the organisation itself. */
  readonly organizationOnly?: readonly ('create' | 'replace' | 'remove' | 'read')[];
  readonly createErrors?: readonly ErrorCode[];
  /** Determines the scope from the parent that the path names. */
  readonly scope?: (asked: Asked) => Promise<Scope>;
};

const tags = ['Provisioning'] as const;

export function sendVersioned<View>(reply: FastifyReply, { view, version }: Versioned<View>): View {
  reply.header('etag', entityTag(version));
  return view;
}

export function registerResource<View>(app: FastifyInstance, routes: ResourceRoutes<View>): void {
  registerReads(app, routes);
  if (routes.input !== undefined) registerCreate(app, routes, routes.input);
  if (routes.replacement !== undefined) registerReplace(app, routes, routes.replacement);
  if (routes.input !== undefined) registerRemove(app, routes);
}

/** Converts `PointsOfSale` to `points of sale`. */
function wordsOf(name: string): string {
  return name.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter}`).toLowerCase();
}

function withArticle(singular: string): string {
  const words = wordsOf(singular);
  return `${/^[aeio]/.test(words) ? 'an' : 'a'} ${words}`;
}

function paramsOf({ path, idMember }: { path: string; idMember: string }) {
  const parents = [...path.matchAll(/:(\w+)/g)].map(([, name]) => String(name));
  const member = () => Type.String({ maxLength: 64, description: 'An identifier.' });
  const all = (names: readonly string[]) =>
    Type.Object(Object.fromEntries(names.map((name) => [name, member()])));
  return { collection: all(parents), item: all([...parents, idMember]) };
}

function scoped<View>(
  routes: ResourceRoutes<View>,
  verb: 'create' | 'replace' | 'remove' | 'read',
) {
  return async (asked: Asked): Promise<Scope> => {
    if (routes.organizationOnly?.includes(verb) === true) {
      requireOrganization(asked.caller, `may ${verb} this`);
    }
    return routes.scope?.(asked) ?? scopeOf(asked.caller, asked.id);
  };
}

const idOf = (routes: { idMember: string }, params: unknown) =>
  String((params as Input)[routes.idMember]);

/** The server looks up the merchant of the path before the entity below it. */
const parentErrorsOf = <View>({ scope }: ResourceRoutes<View>) =>
  scope === undefined ? [] : (['merchant_not_found'] as const);

function registerReads<View>(app: FastifyInstance, routes: ResourceRoutes<View>): void {
  const { path, singular, plural, view, resource } = routes;
  const { collection, item } = paramsOf(routes);
  const scope = scoped(routes, 'read');
  const parents = parentErrorsOf(routes);

  route(app, {
    method: 'GET',
    url: path,
    operationId: `list${plural}`,
    summary: `List the ${wordsOf(plural)}`,
    description: 'In the order of creation; stable while others are added.',
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
      const found = await resource.list(await scope(request), query, page);
      return pageResponse(found, query, `list${plural}`);
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
    errors: [routes.notFound, ...parents],
    async handler(request, reply) {
      const within = await scope(request);
      return sendVersioned(reply, await resource.get(within, idOf(routes, request.params)));
    },
  });
}

function registerCreate<View>(
  app: FastifyInstance,
  routes: ResourceRoutes<View>,
  body: TObject,
): void {
  const { singular, path, view, created, resource, createErrors = [] } = routes;
  const scope = scoped(routes, 'create');
  route(app, {
    method: 'POST',
    url: path,
    operationId: `create${singular}`,
    summary: `Create ${withArticle(singular)}`,
    tags,
    permission: 'prov.write',
    takesIdempotencyKey: true,
    params: paramsOf(routes).collection,
    body,
    response: { 201: created ?? view },
    responseHeaders: { 201: ['ETag'] },
    errors: createErrors,
    async handler(request, reply) {
      const within = await scope(request);
      const made = await resource.create(within, request.body as Input);
      const id = String((made.view as Input)[routes.idMember]);
      reply.code(201).header('location', `${request.url.split('?')[0]}/${id}`);
      if (created !== undefined) reply.header('cache-control', 'no-store');
      return sendVersioned(reply, made);
    },
  });
}

function registerReplace<View>(
  app: FastifyInstance,
  routes: ResourceRoutes<View>,
  body: TObject,
): void {
  const { singular, path, view, resource, createErrors = [] } = routes;
  const scope = scoped(routes, 'replace');
  route(app, {
    method: 'PUT',
    url: `${path}/:${routes.idMember}`,
    operationId: `update${singular}`,
    summary: `Update ${withArticle(singular)}`,
    description: 'Members that are left out take their defaults. If-Match takes the ETag.',
    tags,
    permission: 'prov.write',
    params: paramsOf(routes).item,
    body,
    response: { 200: view },
    responseHeaders: { 200: ['ETag'] },
    errors: [
      ...new Set([
        routes.notFound,
        'precondition_failed',
        'field_read_only',
        ...createErrors,
        ...parentErrorsOf(routes),
      ] as const),
    ],
    async handler(request, reply) {
      const within = await scope(request);
      const id = idOf(routes, request.params);
      const ifMatch = readIfMatch(request.headers);
      const replaced = await resource.replace(within, id, request.body as Input, ifMatch);
      return sendVersioned(reply, replaced);
    },
  });
}

function registerRemove<View>(app: FastifyInstance, routes: ResourceRoutes<View>): void {
  const { singular, path, resource } = routes;
  const scope = scoped(routes, 'remove');
  route(app, {
    method: 'DELETE',
    url: `${path}/:${routes.idMember}`,
    operationId: `delete${singular}`,
    summary: `Delete ${withArticle(singular)}`,
    description: 'Refused while something depends on it; payments keep what they refer to.',
    tags,
    permission: 'prov.write',
    params: paramsOf(routes).item,
    // Some clients send a content type with every request, even without a body.
    bodyOptional: true,
    response: { 204: Type.Null() },
    errors: [routes.notFound, 'precondition_failed', 'has_dependants', ...parentErrorsOf(routes)],
    async handler(request, reply) {
      const within = await scope(request);
      await resource.remove(within, idOf(routes, request.params), readIfMatch(request.headers));
      return reply.code(204).send();
    },
  });
}
