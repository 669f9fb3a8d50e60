/** Devices at the Cloud Connector: whether, since when and where they are connected. */
import { type Static, Type } from 'typebox';
import { closed } from '../values-and-problems/resource-schemas.ts';
import { pageOf, Timestamp, Uuid, wordOf } from '../values-and-problems/value-schemas.ts';

/**
 * The connection status of a device. A device that has never connected is `Offline`, without times.
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
    since: Type.Optional({ ...Timestamp, description: 'The time of the last status change.' }),
    lastSeenAt: Type.Optional({
      ...Timestamp,
      description: 'When it was last known to be there: renewed once a minute while it is.',
    }),
    node: Type.Optional(Type.String({ description: 'The process that it is connected to.' })),
    inSession: Type.Optional(
      Type.Boolean({
        description:
          'A point of sale has claimed the device. Absent if the node of the device did not answer.',
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
    enabled: Type.Boolean({
      description: 'Neither the hardware nor its place, its store or its merchant is disabled.',
    }),
    certificateExpiresAt: Type.Optional({
      ...Timestamp,
      description: 'Until when its certificates open a connection; left out where it has none.',
    }),
    connection: DeviceConnection,
  },
  { title: 'ConnectedDevice' },
);
/** A device with its connection. */
export type ConnectedDevice = Static<typeof ConnectedDevice>;

/** A page of {@link ConnectedDevice}. */
export const ConnectedDeviceList = pageOf(ConnectedDevice);

/**
 * The reasons why a device needs attention. A certificate expires within 30 days, or has expired.
 *
 * @example
 * const path = `/cloud-connector/v1/devices?attention=${deviceAttentions[0]}`;
 */
export const deviceAttentions = [
  'NeverConnected',
  'Disabled',
  'InStock',
  'CertificateEnding',
] as const;
/** One of {@link deviceAttentions}. */
export type DeviceAttention = (typeof deviceAttentions)[number];

const uuid = (description: string) => Type.Optional({ ...Uuid, description });

/**
 * The filters of the list of devices, in addition to `limit` and `cursor`.
 *
 * @example
 * Type.Object({ ...pageQuery, ...connectedDeviceFilters });
 */
export const connectedDeviceFilters = {
  status: Type.Optional(wordOf(connectionStatuses, { description: 'Those alone.' })),
  merchantId: uuid('Of this merchant.'),
  storeId: uuid('In this store.'),
  attention: Type.Optional(
    wordOf(deviceAttentions, { description: 'Devices that need attention for this reason.' }),
  ),
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      pattern: '^[^\\u0000]*$',
      description:
        'A prefix of the device name or serial number, without regard to letter case; or the complete terminal serial number.',
      examples: ['Counter'],
    }),
  ),
  changedSince: Type.Optional({
    ...Timestamp,
    description: 'Those that have come or gone after this instant.',
  }),
};

const count = (description: string) => Type.Integer({ minimum: 0, description });

/**
 * The numbers of devices of an organisation by state.
 *
 * @example
 * const { devices, online } = (await response.json()) as DeviceCounts;
 */
export const DeviceCounts = closed(
  {
    at: { ...Timestamp, description: 'When they were counted.' },
    devices: count('All of them.'),
    online: count('Connected to the Cloud Connector.'),
    neverConnected: count('Never seen there.'),
    disabled: count('Disabled, or in a place, a store or of a merchant that is.'),
    inStock: count('In no place of a store.'),
    certificateEnding: count('With a certificate that ends within 30 days, or has ended.'),
  },
  'How the devices stand, counted.',
);
export type DeviceCounts = Static<typeof DeviceCounts>;
