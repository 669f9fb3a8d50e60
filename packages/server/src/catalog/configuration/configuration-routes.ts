// HTTP routes for the configuration, which are the same at each of the four levels.
import {
  type ActivationLevel,
  ConfigurableService,
  ConfigurationInput,
  ConfigurationVersion,
  pageOf,
  ServiceConfiguration,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import {
  pageQuery,
  pageResponse,
  readIfMatch,
  readPageRequest,
  route,
  sendWithETag,
} from '../../http/index.ts';
import { readCallerScope, readScopeAndAuthor } from '../infrastructure/caller-scope.ts';
import type { ConfigurationChanges } from './change-configuration.ts';
import type { ConfigurationReads } from './read-configuration.ts';

const levels = {
  organizations: 'Organization',
  merchants: 'Merchant',
  stores: 'Store',
  'logical-devices': 'LogicalDevice',
} as const satisfies Record<string, ActivationLevel>;
type LevelSegment = keyof typeof levels;

const levelSegments = Object.keys(levels) as LevelSegment[];
const base = '/configuration/v1/:level/:entityId/services';
const serviceUrl = `${base}/:serviceId`;
const tags = ['Configuration'] as const;
const identifierSchema = (description: string) => Type.String({ maxLength: 64, description });
const entityPathParams = {
  level: Type.Enum(levelSegments, { type: 'string', description: 'The level that is configured.' }),
  entityId: identifierSchema('The organisation, merchant, store or logical device.'),
};
const entityParams = Type.Object(entityPathParams);
const serviceParams = Type.Object({
  ...entityPathParams,
  serviceId: identifierSchema('The service.'),
});
const versionParams = Type.Object({
  ...entityPathParams,
  serviceId: identifierSchema('The service.'),
  version: Type.String({
    pattern: '^[1-9][0-9]{0,8}$',
    description: 'The number of the version.',
    examples: ['3'],
  }),
});
const versionPattern = /^[1-9][0-9]{0,8}$/;
const entityErrors = [
  'organization_not_found',
  'merchant_not_found',
  'store_not_found',
  'device_not_found',
] as const;
const targetErrors = [
  ...entityErrors,
  'service_not_found',
  'service_state',
  'service_not_subscribed',
] as const;

type EntityParams = { level: LevelSegment; entityId: string };
const toEntityTarget = ({ level, entityId }: EntityParams) => ({ level: levels[level], entityId });
const toTarget = (params: EntityParams & { serviceId: string }) => ({
  ...toEntityTarget(params),
  serviceId: params.serviceId,
});

export function registerConfigurationRoutes(
  app: FastifyInstance,
  configuration: ConfigurationReads & ConfigurationChanges,
): void {
  registerReads(app, configuration);
  registerVersions(app, configuration);
  registerChanges(app, configuration);
}

function registerReads(app: FastifyInstance, configuration: ConfigurationReads): void {
  route(app, {
    method: 'GET',
    url: base,
    operationId: 'listConfigurableServices',
    summary: 'List the configurable services',
    description:
      'The subscribed services that can be configured, and whether the level has set values.',
    tags,
    permission: 'conf.read',
    params: entityParams,
    query: Type.Object(pageQuery, { additionalProperties: false }),
    response: { 200: pageOf(ConfigurableService) },
    errors: [...entityErrors, 'cursor_invalid'],
    priority: 'list',
    async handler({ caller, params, query }) {
      const list = `configurable at ${params.entityId}`;
      const page = readPageRequest(query, list);
      const resultPage = await configuration.listServices(
        readCallerScope(caller),
        toEntityTarget(params),
        page,
      );
      return pageResponse(resultPage, query, list);
    },
  });

  route(app, {
    method: 'GET',
    url: serviceUrl,
    operationId: 'getConfiguration',
    summary: 'Get the configuration of a service',
    description:
      'The values of the level, and the effective values with the level of each. The response names ' +
      'secrets and never shows their values.',
    tags,
    permission: 'conf.read',
    params: serviceParams,
    response: { 200: ServiceConfiguration },
    responseHeaders: { 200: ['ETag'] },
    errors: targetErrors,
    async handler({ caller, params }, reply) {
      const scope = readCallerScope(caller);
      const view = await configuration.getConfiguration(scope, toTarget(params));
      return sendWithETag(reply, { view, version: view.version });
    },
  });
}

function registerVersions(
  app: FastifyInstance,
  configuration: ConfigurationReads & ConfigurationChanges,
): void {
  route(app, {
    method: 'GET',
    url: `${serviceUrl}/versions`,
    operationId: 'listConfigurationVersions',
    summary: 'List the versions of a configuration',
    description: 'Newest first, without values.',
    tags,
    permission: 'conf.read',
    params: serviceParams,
    query: Type.Object(pageQuery, { additionalProperties: false }),
    response: { 200: pageOf(ConfigurationVersion) },
    errors: [...targetErrors, 'cursor_invalid'],
    priority: 'list',
    async handler({ caller, params, query }) {
      const list = `versions of ${params.serviceId} at ${params.entityId}`;
      const page = readPageRequest(query, list, versionPattern);
      const resultPage = await configuration.listVersions(
        readCallerScope(caller),
        toTarget(params),
        page,
      );
      return pageResponse(resultPage, query, list);
    },
  });

  route(app, {
    method: 'GET',
    url: `${serviceUrl}/versions/:version`,
    operationId: 'getConfigurationVersion',
    summary: 'Get a version of a configuration',
    description: 'The values of the level in that version, without secrets.',
    tags,
    permission: 'conf.read',
    params: versionParams,
    response: { 200: ConfigurationVersion },
    errors: [...targetErrors, 'resource_not_found'],
    async handler({ caller, params }) {
      return configuration.getVersion(
        readCallerScope(caller),
        toTarget(params),
        Number(params.version),
      );
    },
  });

  route(app, {
    method: 'POST',
    url: `${serviceUrl}/versions/:version/restore`,
    operationId: 'restoreConfigurationVersion',
    summary: 'Restore a version of a configuration',
    description:
      'Creates a new version with the values and secrets of the older one, if they fit the release ' +
      'in force.',
    tags,
    permission: 'conf.write',
    params: versionParams,
    response: { 200: ServiceConfiguration },
    responseHeaders: { 200: ['ETag'] },
    errors: [...targetErrors, 'resource_not_found', 'precondition_failed'],
    async handler(request, reply) {
      const { params, headers } = request;
      const restored = await configuration.restore(
        readScopeAndAuthor(request),
        toTarget(params),
        Number(params.version),
        readIfMatch(headers),
      );
      return sendWithETag(reply, restored);
    },
  });
}

function registerChanges(app: FastifyInstance, configuration: ConfigurationChanges): void {
  route(app, {
    method: 'POST',
    url: serviceUrl,
    operationId: 'submitConfiguration',
    summary: 'Submit the configuration of a service',
    description:
      'Replaces all values of the level; the level inherits omitted values. An omitted secret ' +
      'stays, and `null` removes it. The same values again create no new version.',
    tags,
    permission: 'conf.write',
    params: serviceParams,
    body: ConfigurationInput,
    response: { 200: ServiceConfiguration },
    responseHeaders: { 200: ['ETag'] },
    errors: [...targetErrors, 'precondition_failed'],
    async handler(request, reply) {
      const { params, body, headers } = request;
      const submitted = await configuration.submit(
        readScopeAndAuthor(request),
        toTarget(params),
        body.values,
        readIfMatch(headers),
      );
      return sendWithETag(reply, submitted);
    },
  });

  route(app, {
    method: 'DELETE',
    url: serviceUrl,
    operationId: 'deleteConfiguration',
    summary: 'Delete the configuration of a service',
    description: 'The level then inherits all values; its versions stay.',
    tags,
    permission: 'conf.write',
    params: serviceParams,
    bodyOptional: true,
    response: { 204: Type.Null() },
    errors: [...targetErrors, 'precondition_failed'],
    async handler(request, reply) {
      const { params, headers } = request;
      await configuration.remove(
        readScopeAndAuthor(request),
        toTarget(params),
        readIfMatch(headers),
      );
      return reply.code(204).send();
    },
  });
}
