// HTTP routes for devices to read their configuration, and for administrators to see its delivery.
import {
  AcknowledgedConfiguration,
  ConfigurationKeyList,
  DeviceAcknowledgement,
  DeviceConfigurationDocument,
  DeviceDelivery,
  FleetDeliveryList,
  fleetFilters,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import {
  matchesIfNoneMatch,
  pageQuery,
  pageResponse,
  readPageRequest,
  route,
} from '../../http/index.ts';
import { readCallerScope } from '../infrastructure/caller-scope.ts';
import type { ConfigurationDelivery } from './configuration-delivery.ts';

const base = '/configuration/v1';
const tags = ['Configuration'] as const;
const permission = 'conf.read';

export function registerDeliveryRoutes(
  app: FastifyInstance,
  delivery: ConfigurationDelivery,
): void {
  registerDeviceRoutes(app, delivery);
  registerAdministratorRoutes(app, delivery);
}

function registerDeviceRoutes(app: FastifyInstance, delivery: ConfigurationDelivery): void {
  route(app, {
    method: 'GET',
    url: `${base}/device`,
    operationId: 'getDeviceConfiguration',
    summary: 'Get the configuration of the calling device',
    description:
      'For a token of a device. The ETag changes with the values, so a device can poll with If- ' +
      'None-Match at any rate. Each document is signed; verify it with the keys of ' +
      '`/configuration/v1/keys`.',
    tags,
    permission,
    headers: { 'If-None-Match': 'The ETag of the configuration that the device has.' },
    response: { 200: DeviceConfigurationDocument, 304: null },
    responseHeaders: { 200: ['ETag'] },
    errors: ['device_not_found'],
    priority: 'list',
    async handler({ caller, headers }, reply) {
      const ifNoneMatch = headers['if-none-match'];
      const hasVersion = (version: string) => matchesIfNoneMatch(ifNoneMatch, `"${version}"`);
      const { version, document } = await delivery.readDocument(
        readCallerScope(caller),
        hasVersion,
      );
      // Values may hold secrets.
      reply.headers({ etag: `"${version}"`, 'cache-control': 'no-store' });
      return document ?? reply.code(304).send();
    },
  });

  route(app, {
    method: 'POST',
    url: `${base}/device/acknowledgements`,
    operationId: 'acknowledgeDeviceConfiguration',
    summary: 'Acknowledge the configuration of the calling device',
    description:
      'The device reports whether it applied the version that it read. The last report counts; the ' +
      'same report again changes nothing. The platform rejects a version that it did not send to ' +
      'the device.',
    tags,
    permission,
    body: DeviceAcknowledgement,
    response: { 200: AcknowledgedConfiguration },
    errors: ['device_not_found'],
    examples: {
      Applied: { version: '3q2-7wECAwQFBgcICQoLDA', applied: true },
      'Not applied': {
        version: '3q2-7wECAwQFBgcICQoLDA',
        applied: false,
        reason: 'kernel 3 refused the keys',
      },
    },
    handler: ({ caller, body }) => delivery.acknowledge(readCallerScope(caller), body),
  });

  route(app, {
    method: 'GET',
    url: `${base}/keys`,
    operationId: 'listConfigurationKeys',
    summary: 'List the keys that sign device configurations',
    description: 'A JSON Web Key Set (RFC 7517): the current signing key first, then older keys.',
    tags,
    permission: 'public',
    response: { 200: ConfigurationKeyList },
    errors: [],
    handler: () => delivery.listSigningKeys(),
  });
}

function registerAdministratorRoutes(app: FastifyInstance, delivery: ConfigurationDelivery): void {
  route(app, {
    method: 'GET',
    url: `${base}/logical-devices/:logicalDeviceId/delivery`,
    operationId: 'getConfigurationDelivery',
    summary: 'Get the configuration delivery of a device',
    description:
      'The configuration in force for the device, the version that the platform sent to it, and the ' +
      'version that it uses.',
    tags,
    permission,
    params: Type.Object({
      logicalDeviceId: Type.String({ maxLength: 64, description: 'The logical device.' }),
    }),
    response: { 200: DeviceDelivery },
    errors: ['device_not_found'],
    handler: ({ caller, params }) =>
      delivery.getDelivery(readCallerScope(caller), params.logicalDeviceId),
  });

  route(app, {
    method: 'GET',
    url: `${base}/delivery`,
    operationId: 'listConfigurationDeliveries',
    summary: 'List the configuration deliveries',
    description:
      'The devices of the organisation by delivery status. `Pending` finds devices that are behind: ' +
      'they never requested their configuration, did not acknowledge it, or something above them ' +
      'changed after their last request. A page of a filtered list may have fewer items than ' +
      '`limit`, or none, although more follow: continue until `nextCursor` is null.',
    tags,
    permission,
    query: Type.Object({ ...pageQuery, ...fleetFilters }, { additionalProperties: false }),
    response: { 200: FleetDeliveryList },
    errors: ['cursor_invalid'],
    priority: 'list',
    async handler({ caller, query }) {
      const { limit: _limit, cursor: _cursor, ...filters } = query;
      const page = readPageRequest(query, 'listConfigurationDeliveries');
      return pageResponse(
        await delivery.listDeliveries(readCallerScope(caller), filters, page),
        query,
        'listConfigurationDeliveries',
      );
    },
  });
}
