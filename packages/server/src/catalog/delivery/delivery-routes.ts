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
      'For a token of a device. The ETag changes when the values do; with If-None-Match a device ' +
      'asks as often as it likes. Each document is signed: check it with `/configuration/v1/keys`.',
    tags,
    permission,
    headers: { 'If-None-Match': 'The ETag of the configuration that the device holds.' },
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
      'Whether the version that the device read is in use there. The last word counts; the same ' +
      'word again changes nothing. A version that the device was not told is refused.',
    tags,
    permission,
    body: DeviceAcknowledgement,
    response: { 200: AcknowledgedConfiguration },
    errors: ['device_not_found'],
    examples: {
      'In use': { version: '3q2-7wECAwQFBgcICQoLDA', applied: true },
      'Not taken': {
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
    description: 'A JSON Web Key set (RFC 7517): the key that signs now first, older ones behind.',
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
    description: 'What is in force for the device, what it was told, and what it uses.',
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
      'The devices of the fleet by how far they have come. `Pending` finds those that are behind: ' +
      'they never asked, have not said a word yet, or something above them changed since they asked. ' +
      'A page of a narrowed list may hold fewer items than `limit`, none too, while more follow: go ' +
      'on until `nextCursor` is null.',
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
