// The addresses at which the devices of an organisation are seen with their connections.
import {
  ConnectedDevice,
  ConnectedDevicePage,
  connectionStatuses,
  refuse,
  wordOf,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { type Caller, openPage, pageQuery, route, sealPage } from '../http/index.ts';
import type { Fleet, FleetScope } from './fleet.ts';

const base = '/cloud-connector/v1/devices';
const tags = ['Cloud Connector'] as const;
const listName = 'listConnectedDevices';
const uuid = Type.String({ format: 'uuid' });

/** Tokens of an application that is bound to a merchant or store see what is there. */
const scopeOf = ({
  organizationId,
  entityType,
  entityId,
  merchantId,
  storeId,
}: Caller): FleetScope => ({
  organizationId,
  merchantId: entityType === 'merchant' ? entityId : merchantId,
  storeId,
});

/** @example registerFleet(app, createFleet({ database, clock, backplane })); */
export function registerFleet(app: FastifyInstance, fleet: Fleet): void {
  route(app, {
    method: 'GET',
    url: base,
    operationId: listName,
    summary: 'List: device with its connection',
    description:
      'All devices of the organisation, by their identifiers: which are connected to the Cloud Connector, since when, and to which process.',
    tags,
    priority: 'list',
    permission: 'dev.read',
    query: Type.Object(
      {
        status: Type.Optional(wordOf(connectionStatuses, { description: 'Those alone.' })),
        merchantId: Type.Optional({ ...uuid, description: 'Of this merchant.' }),
        storeId: Type.Optional({ ...uuid, description: 'In this store.' }),
        ...pageQuery,
      },
      { additionalProperties: false },
    ),
    response: { 200: ConnectedDevicePage },
    errors: ['cursor_invalid', 'database_unavailable'],
    async handler({ caller, query }) {
      const page = openPage(query, listName);
      return sealPage(await fleet.list(scopeOf(caller), query, page), query, listName);
    },
  });
  route(app, {
    method: 'GET',
    url: `${base}/:physicalDeviceId`,
    operationId: 'getConnectedDevice',
    summary: 'Read: device with its connection',
    tags,
    permission: 'dev.read',
    params: Type.Object({
      physicalDeviceId: Type.String({ maxLength: 64, description: 'The physical device.' }),
    }),
    response: { 200: ConnectedDevice },
    errors: ['device_not_found', 'database_unavailable'],
    handler: async ({ caller, params }) =>
      (await fleet.find(scopeOf(caller), params.physicalDeviceId)) ??
      refuse('device_not_found', 'No device in your scope has this identifier.'),
  });
}
