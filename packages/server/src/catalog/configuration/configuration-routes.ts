// HTTP routes for the configuration, which are the same at each of the four levels.
import {
  type ActivationLevel,
  ConfigurableService,
  ConfigurationInput,
  ConfigurationVersion,
  pageOf,
  ServiceConfiguration,
} from '@switchyard/contract';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { Type } from 'typebox';
import {
  entityTag,
  pageQuery,
  pageResponse,
  readIfMatch,
  readPageRequest,
  route,
} from '../../http/index.ts';
import { byOf, scopeOf } from '../infrastructure/caller-scope.ts';
import type { Submissions } from './change-configuration.ts';
import type { Reads } from './read-configuration.ts';

const levels = {
  organizations: 'Organization',
  merchants: 'Merchant',
  stores: 'Store',
  'logical-devices': 'LogicalDevice',
} as const satisfies Record<string, ActivationLevel>;
type LevelWord = keyof typeof levels;

const words = Object.keys(levels) as LevelWord[];
const base = '/configuration/v1/:level/:entityId/services';
const one = `${base}/:serviceId`;
const tags = ['Configuration'] as const;
const identifier = (description: string) => Type.String({ maxLength: 64, description });
const atEntity = {
  level: Type.Enum(words, { type: 'string', description: 'The level that is configured.' }),
  entityId: identifier('The organisation, merchant, store or logical device.'),
};
const ofEntity = Type.Object(atEntity);
const ofService = Type.Object({ ...atEntity, serviceId: identifier('The service.') });
const ofVersion = Type.Object({
  ...atEntity,
  serviceId: identifier('The service.'),
  version: Type.String({
    pattern: '^[1-9][0-9]{0,8}$',
    description: 'The number of the version.',
    examples: ['3'],
  }),
});
const versionForm = /^[1-9][0-9]{0,8}$/;
const entities = [
  'organization_not_found',
  'merchant_not_found',
  'store_not_found',
  'device_not_found',
] as const;
const targets = [
  ...entities,
  'service_not_found',
  'service_state',
  'service_not_subscribed',
] as const;

type Params = { level: LevelWord; entityId: string };
const entityOf = ({ level, entityId }: Params) => ({ level: levels[level], entityId });
const targetOf = (params: Params & { serviceId: string }) => ({
  ...entityOf(params),
  serviceId: params.serviceId,
});

function send(reply: FastifyReply, view: ServiceConfiguration): ServiceConfiguration {
  reply.header('etag', entityTag(view.version));
  return view;
}

export function registerConfiguration(app: FastifyInstance, room: Reads & Submissions): void {
  registerReads(app, room);
  registerVersions(app, room);
  registerChanges(app, room);
}

function registerReads(app: FastifyInstance, room: Reads): void {
  route(app, {
    method: 'GET',
    url: base,
    operationId: 'listConfigurableServices',
    summary: 'List the configurable services',
    description: 'The subscribed services that take a configuration, and what the level has set.',
    tags,
    permission: 'conf.read',
    params: ofEntity,
    query: Type.Object(pageQuery, { additionalProperties: false }),
    response: { 200: pageOf(ConfigurableService) },
    errors: [...entities, 'cursor_invalid'],
    priority: 'list',
    async handler({ caller, params, query }) {
      const list = `configurable at ${params.entityId}`;
      const page = readPageRequest(query, list);
      const found = await room.services(scopeOf(caller), entityOf(params), page);
      return pageResponse(found, query, list);
    },
  });

  route(app, {
    method: 'GET',
    url: one,
    operationId: 'getConfiguration',
    summary: 'Get the configuration of a service',
    description:
      'What the level has set, and the effective values with the level that each comes from. ' +
      'Secrets are named and never shown.',
    tags,
    permission: 'conf.read',
    params: ofService,
    response: { 200: ServiceConfiguration },
    responseHeaders: { 200: ['ETag'] },
    errors: targets,
    async handler({ caller, params }, reply) {
      return send(reply, await room.get(scopeOf(caller), targetOf(params)));
    },
  });
}

function registerVersions(app: FastifyInstance, room: Reads & Submissions): void {
  route(app, {
    method: 'GET',
    url: `${one}/versions`,
    operationId: 'listConfigurationVersions',
    summary: 'List the versions of a configuration',
    description: 'The newest first, without values.',
    tags,
    permission: 'conf.read',
    params: ofService,
    query: Type.Object(pageQuery, { additionalProperties: false }),
    response: { 200: pageOf(ConfigurationVersion) },
    errors: [...targets, 'cursor_invalid'],
    priority: 'list',
    async handler({ caller, params, query }) {
      const list = `versions of ${params.serviceId} at ${params.entityId}`;
      const page = readPageRequest(query, list, versionForm);
      const found = await room.versions(scopeOf(caller), targetOf(params), page);
      return pageResponse(found, query, list);
    },
  });

  route(app, {
    method: 'GET',
    url: `${one}/versions/:version`,
    operationId: 'getConfigurationVersion',
    summary: 'Get a version of a configuration',
    description: 'What the level had set then, without secrets.',
    tags,
    permission: 'conf.read',
    params: ofVersion,
    response: { 200: ConfigurationVersion },
    errors: [...targets, 'resource_not_found'],
    async handler({ caller, params }) {
      return room.version(scopeOf(caller), targetOf(params), Number(params.version));
    },
  });

  route(app, {
    method: 'POST',
    url: `${one}/versions/:version/restore`,
    operationId: 'restoreConfigurationVersion',
    summary: 'Restore a version of a configuration',
    description:
      'Makes a new version of the older one, secrets included, if it fits the release in force.',
    tags,
    permission: 'conf.write',
    params: ofVersion,
    response: { 200: ServiceConfiguration },
    responseHeaders: { 200: ['ETag'] },
    errors: [...targets, 'resource_not_found', 'precondition_failed'],
    async handler(request, reply) {
      const { params, headers } = request;
      const version = Number(params.version);
      const by = byOf(request);
      const { view } = await room.restore(by, targetOf(params), version, readIfMatch(headers));
      return send(reply, view);
    },
  });
}

function registerChanges(app: FastifyInstance, room: Submissions): void {
  route(app, {
    method: 'POST',
    url: one,
    operationId: 'submitConfiguration',
    summary: 'Submit the configuration of a service',
    description:
      'Takes the place of all that the level had set; what is left out is inherited. A secret that ' +
      'is left out stays, `null` takes it away. The same values again make no version.',
    tags,
    permission: 'conf.write',
    params: ofService,
    body: ConfigurationInput,
    response: { 200: ServiceConfiguration },
    responseHeaders: { 200: ['ETag'] },
    errors: [...targets, 'precondition_failed'],
    async handler(request, reply) {
      const { params, body, headers } = request;
      const by = byOf(request);
      const { view } = await room.submit(by, targetOf(params), body.values, readIfMatch(headers));
      return send(reply, view);
    },
  });

  route(app, {
    method: 'DELETE',
    url: one,
    operationId: 'deleteConfiguration',
    summary: 'Delete the configuration of a service',
    description: 'Everything is inherited from then on; the versions stay.',
    tags,
    permission: 'conf.write',
    params: ofService,
    bodyOptional: true,
    response: { 204: Type.Null() },
    errors: [...targets, 'precondition_failed'],
    async handler(request, reply) {
      const { params, headers } = request;
      await room.remove(byOf(request), targetOf(params), readIfMatch(headers));
      return reply.code(204).send();
    },
  });
}
