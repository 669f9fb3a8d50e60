/** Devices as the Cloud Connector sees them: which are connected, since when, and where. */
import { type Static, Type } from 'typebox';
import { pageOf, Timestamp, Uuid, wordOf } from './values.ts';

/**
 * How a device stands at the Cloud Connector. One that was never there is `Offline`, without times.
 *
 * @example
 * connectionStatuses.includes('Online'); // true
 */
export const connectionStatuses = ['Online', 'Offline'] as const;
/** One of {@link connectionStatuses}. */
export type ConnectionStatus = (typeof connectionStatuses)[number];

/**
 * The connection of a device to the Cloud Connector.
 *
 * @example
 * const { status, since }: DeviceConnection = device.connection;
 */
export const DeviceConnection = Type.Object(
  {
    status: wordOf(connectionStatuses),
    since: Type.Optional({ ...Timestamp, description: 'Since when it stands so.' }),
    lastSeenAt: Type.Optional({
      ...Timestamp,
      description: 'When it was last known to be there: renewed once a minute while it is.',
    }),
    node: Type.Optional(Type.String({ description: 'The process that it is connected to.' })),
    inSession: Type.Optional(
      Type.Boolean({
        description: 'A point of sale has it. Left out where its node could not be asked.',
      }),
    ),
  },
  { title: 'DeviceConnection' },
);
/** The connection of a device to the Cloud Connector. */
export type DeviceConnection = Static<typeof DeviceConnection>;

/**
 * A device with its connection.
 *
 * @example
 * const lost = page.items.filter(({ connection }) => connection.status === 'Offline');
 */
export const ConnectedDevice = Type.Object(
  {
    physicalDeviceId: Uuid,
    tsn: Type.String({
      description: 'Make, model and serial number.',
      examples: ['AXIUM_DX8000-12345678'],
    }),
    family: Type.String(),
    name: Type.Optional(Type.String({ description: 'The name of its place in the store.' })),
    deviceId: Type.Optional(Uuid),
    storeId: Type.Optional(Uuid),
    merchantId: Type.Optional(Uuid),
    connection: DeviceConnection,
  },
  { title: 'ConnectedDevice' },
);
/** A device with its connection. */
export type ConnectedDevice = Static<typeof ConnectedDevice>;

/** A page of {@link ConnectedDevice}. */
export const ConnectedDevicePage = pageOf(ConnectedDevice);
