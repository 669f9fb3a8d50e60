/** The configuration for devices: documents by service, acknowledgements, and delivery progress. */
import { type Static, Type } from 'typebox';
import { AuditKey } from '../platform/audit.ts';
import { closed, identifier, shortText } from '../values-and-problems/resource-schemas.ts';
import { pageOf, Timestamp, wordOf } from '../values-and-problems/value-schemas.ts';

const version = (description: string) =>
  Type.String({
    pattern: '^[A-Za-z0-9_-]{22}$',
    description,
    examples: ['3q2-7wECAwQFBgcICQoLDA'],
  });

const base64url = (description: string) =>
  Type.String({ pattern: '^[A-Za-z0-9_-]+$', description });

const serviceName = Type.String({ description: 'The name that the catalogue shows.' });

/**
 * The configuration of one service. `protected`, `payload` and `signature` are a JWS in flattened
 * JSON (RFC 7515, 7.2.2), which a JWS library accepts unchanged.
 *
 * @example
 * const { payload } = await flattenedVerify(service, createRemoteJWKSet(keysUrl));
 */
export const DeviceServiceConfiguration = closed(
  {
    serviceId: identifier('The service.'),
    name: serviceName,
    status: wordOf(['Ready', 'Held'], {
      description:
        '`Held`: the configuration is incomplete or invalid; the device keeps its current version.',
    }),
    version: version('Another one whenever the values are others.'),
    values: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), { description: 'The effective values.' }),
    ),
    protected: Type.Optional(base64url('The header of the JWS, with `alg` EdDSA and `kid`.')),
    payload: Type.Optional(
      base64url(
        'The signed content: logicalDeviceId, serviceId, name, version and values, as JSON.',
      ),
    ),
    signature: Type.Optional(base64url('The signature over header and payload.')),
  },
  'The configuration of a service; without values where it is held.',
);
export type DeviceServiceConfiguration = Static<typeof DeviceServiceConfiguration>;

/**
 * The configuration of a device: one document for each service that is active there.
 *
 * @example
 * const { version, services } = (await response.json()) as DeviceConfigurationDocument;
 */
export const DeviceConfigurationDocument = closed(
  {
    logicalDeviceId: identifier('The device.'),
    version: version('Of all services together; the ETag too.'),
    services: Type.Array(DeviceServiceConfiguration),
  },
  'The configuration of a device.',
);
export type DeviceConfigurationDocument = Static<typeof DeviceConfigurationDocument>;

/**
 * The device's result for a version.
 *
 * @example
 * const body: DeviceAcknowledgement = { version, applied: false, reason: 'kernel 3 refused the keys' };
 */
export const DeviceAcknowledgement = closed(
  {
    version: version('The version that was read.'),
    applied: Type.Boolean({ description: 'Whether it is in use now.' }),
    reason: Type.Optional(shortText(200, 'Why it is not; with `applied` false alone.')),
  },
  'The result of a version at a device.',
);
export type DeviceAcknowledgement = Static<typeof DeviceAcknowledgement>;

/**
 * A stored acknowledgement.
 *
 * @example
 * const { acknowledgedAt } = (await response.json()) as AcknowledgedConfiguration;
 */
export const AcknowledgedConfiguration = closed(
  {
    ...DeviceAcknowledgement.properties,
    logicalDeviceId: identifier('The device.'),
    acknowledgedAt: Timestamp,
  },
  'An acknowledgement as it was noted down.',
);
export type AcknowledgedConfiguration = Static<typeof AcknowledgedConfiguration>;

const deliveryStatus = wordOf(['Pending', 'Applied', 'Failed'], {
  description:
    '`Applied`: the device uses what is in force. `Failed`: it could not. `Pending`: it has not said so yet, or has not asked since something above it changed.',
});

const delivery = {
  logicalDeviceId: identifier('The device.'),
  status: deliveryStatus,
  requestedAt: Type.Optional({
    ...Timestamp,
    description:
      'The time of the last request of the device, to within some minutes; left out: never.',
  }),
  sentVersion: Type.Optional(version('The last version that the platform sent to the device.')),
  sentAt: Type.Optional({
    ...Timestamp,
    description: 'The time when the platform first sent that version.',
  }),
  appliedVersion: Type.Optional(version('The version that it uses, by its own word.')),
  appliedAt: Type.Optional(Timestamp),
  failure: Type.Optional(
    closed(
      {
        version: version('The version that it could not use.'),
        reason: Type.Optional(Type.String({ description: 'In the words of the device.' })),
        at: Timestamp,
      },
      'The last thing that went wrong.',
    ),
  ),
};

/**
 * The version on a device, compared with the current version.
 *
 * @example
 * const { status, services } = (await response.json()) as DeviceDelivery;
 */
export const DeviceDelivery = closed(
  {
    ...delivery,
    version: version('The version that is valid for the device now.'),
    services: Type.Array(
      closed(
        {
          serviceId: identifier('The service.'),
          name: serviceName,
          status: wordOf(['Pending', 'Applied', 'Failed', 'Held']),
          version: version('The valid version.'),
          appliedVersion: Type.Optional(version('The version that the device uses.')),
        },
        'A service at the device.',
      ),
    ),
  },
  'How far a device has come.',
);
export type DeviceDelivery = Static<typeof DeviceDelivery>;

/**
 * One device of a fleet.
 *
 * @example
 * const { items } = (await response.json()) as { items: FleetDelivery[] };
 */
export const FleetDeviceDelivery = closed(
  {
    ...delivery,
    merchantId: identifier('Its merchant.'),
    storeId: identifier('Its store.'),
  },
  'How far one device of a fleet has come.',
);
export type FleetDeviceDelivery = Static<typeof FleetDeviceDelivery>;

/**
 * The keys that sign configuration documents: a JSON Web Key set (RFC 7517).
 *
 * @example
 * const { keys } = (await response.json()) as ConfigurationKeys;
 */
export const ConfigurationKeyList = closed(
  {
    keys: Type.Array(closed(AuditKey.properties, 'A public key of the device configuration.'), {
      maxItems: 100,
    }),
  },
  'The public keys of the device configuration, old ones too.',
);
export type ConfigurationKeyList = Static<typeof ConfigurationKeyList>;

/**
 * One page of a fleet of devices.
 *
 * @example
 * const { items, nextCursor } = (await response.json()) as Static<typeof FleetDeliveryPage>;
 */
export const FleetDeliveryList = pageOf(FleetDeviceDelivery);

/**
 * The filters of a fleet; spread them into the query of the list.
 *
 * @example
 * Type.Object({ ...pageQuery, ...fleetFilters });
 */
export const fleetFilters = {
  status: Type.Optional(deliveryStatus),
  serviceId: Type.Optional(
    identifier(
      'Devices that received an announcement for this service, counted by their progress.',
    ),
  ),
  merchantId: Type.Optional(identifier('Devices of this merchant.')),
  storeId: Type.Optional(identifier('Devices of this store.')),
};
