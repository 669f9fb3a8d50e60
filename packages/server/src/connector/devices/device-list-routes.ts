// Registers the routes that show the devices of an organisation with their connections.
import {
  ConnectedDevice,
  ConnectedDeviceList,
  connectedDeviceFilters,
  DeviceCounts,
  throwProblem,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { type Caller, pageQuery, pageResponse, readPageRequest, route } from '../../http/index.ts';
import type { DeviceList, DeviceScope } from './device-list.ts';

const basePath = '/cloud-connector/v1/devices';
const tags = ['Cloud Connector'] as const;
const listName = 'listConnectedDevices';
const readPermissions = ['dev.read', 'prov.read'] as const;
const { merchantId, storeId } = connectedDeviceFilters;

/** The token of a merchant or store application gives access only to devices in that scope. */
const scopeOf = ({
  organizationId,
  entityType,
  entityId,
  merchantId,
  storeId,
}: Caller): DeviceScope => ({
  organizationId,
  merchantId: entityType === 'merchant' ? entityId : merchantId,
  storeId,
});

/** @example registerDeviceListRoutes(app, createDeviceList({ database, clock, backplane })); */
export function registerDeviceListRoutes(app: FastifyInstance, deviceList: DeviceList): void {
  route(app, {
    method: 'GET',
    url: basePath,
    operationId: listName,
    summary: 'List the devices with their connections',
    description:
      'All devices of the organisation, in the order of their identifiers: whether each one is connected to the Cloud Connector, since when, and to which server process.',
    tags,
    priority: 'list',
    permission: readPermissions,
    query: Type.Object(
      { ...connectedDeviceFilters, ...pageQuery },
      { additionalProperties: false },
    ),
    response: { 200: ConnectedDeviceList },
    errors: ['cursor_invalid', 'database_unavailable'],
    async handler({ caller, query }) {
      const page = readPageRequest(query, listName);
      return pageResponse(await deviceList.list(scopeOf(caller), query, page), query, listName);
    },
  });
  route(app, {
    method: 'GET',
    url: `${basePath}/:physicalDeviceId`,
    operationId: 'getConnectedDevice',
    summary: 'Get a device with its connection',
    tags,
    permission: readPermissions,
    params: Type.Object({
      physicalDeviceId: Type.String({ maxLength: 64, description: 'The physical device.' }),
    }),
    response: { 200: ConnectedDevice },
    errors: ['device_not_found', 'database_unavailable'],
    handler: async ({ caller, params }) =>
      (await deviceList.find(scopeOf(caller), params.physicalDeviceId)) ??
      throwProblem('device_not_found', 'No device that you may see has this identifier.'),
  });
  route(app, {
    method: 'GET',
    url: '/cloud-connector/v1/device-counts',
    operationId: 'countConnectedDevices',
    summary: 'Count the devices by connection state',
    description: 'Counts all devices of the organisation, of a merchant or of a store.',
    tags,
    priority: 'list',
    permission: readPermissions,
    query: Type.Object({ merchantId, storeId }, { additionalProperties: false }),
    response: { 200: DeviceCounts },
    errors: ['database_unavailable'],
    handler: ({ caller, query }) => deviceList.count(scopeOf(caller), query),
  });
}
