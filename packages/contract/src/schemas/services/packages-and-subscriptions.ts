/** Packages, subscriptions and activations of services of the catalogue. */
import { type Static, Type } from 'typebox';
import {
  closed,
  identifier,
  replacement,
  shortText,
} from '../values-and-problems/resource-schemas.ts';
import { Timestamp, wordOf } from '../values-and-problems/value-schemas.ts';

const organizationId = identifier('The organisation.');
const packageId = identifier('The package.');
const serviceId = identifier('The service.');
const subscriptionId = identifier('The subscription.');
const activationId = identifier('The activation.');

const packageInput = {
  name: shortText(100, 'The name that people know it by.'),
  description: Type.Optional(shortText(500, 'The purpose of the package.')),
  serviceIds: Type.Array(serviceId, {
    minItems: 1,
    maxItems: 50,
    uniqueItems: true,
    description: 'The services of the package, each published.',
  }),
  status: Type.Optional(
    wordOf(['Enabled', 'Disabled'], {
      default: 'Enabled',
      description: 'A disabled package accepts no new subscriptions; existing ones continue.',
    }),
  ),
};

/**
 * The body that creates a package.
 *
 * @example
 * const body: ServicePackageInput = { name: 'Checkout', serviceIds: [serviceId] };
 */
export const ServicePackageInput = closed(packageInput, 'A package of services as it is made.');
export type ServicePackageInput = Static<typeof ServicePackageInput>;

/**
 * The body that replaces a package; missing members take their defaults.
 *
 * @example
 * const body = { ...servicePackage, status: 'Disabled' };
 */
export const ServicePackageReplacement = replacement(
  packageInput,
  { packageId },
  'A package of services as it is replaced.',
);

/**
 * A package of services that an organisation offers.
 *
 * @example
 * const servicePackage = (await response.json()) as ServicePackage;
 */
export const ServicePackage = closed(
  {
    packageId,
    organizationId,
    ...packageInput,
    status: wordOf(['Enabled', 'Disabled']),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  'A package of services.',
);
export type ServicePackage = Static<typeof ServicePackage>;

/**
 * The body that creates a subscription of the caller's own organisation, never of one below it.
 *
 * @example
 * const body: SubscriptionInput = { packageId };
 */
export const SubscriptionInput = closed({ packageId }, 'A subscription as it is made.');

/**
 * The subscription of an organisation to a package.
 *
 * @example
 * const { subscriptionId } = (await response.json()) as Subscription;
 */
export const Subscription = closed(
  { subscriptionId, organizationId, packageId, createdAt: Timestamp },
  'The subscription of an organisation to a package.',
);
export type Subscription = Static<typeof Subscription>;

const levels = ['Organization', 'Merchant', 'Store', 'LogicalDevice'] as const;

/**
 * The levels at which a service is activated, from the top.
 *
 * @example
 * const level: ActivationLevel = 'Store';
 */
export type ActivationLevel = (typeof levels)[number];

const level = wordOf(levels, { description: 'The level at which the service is activated.' });

const entityId = identifier('The organisation, merchant, store or logical device.');

const parameters = Type.Record(Type.String(), Type.Unknown(), {
  maxProperties: 200,
  description: 'Parameters after the schema that the provider declared.',
  examples: [{ account: 'NG-1' }],
});

/**
 * The body that requests an activation.
 *
 * @example
 * const body: ServiceActivationInput = { serviceId, level: 'Merchant', entityId: merchantId };
 */
export const ServiceActivationInput = closed(
  {
    serviceId,
    level,
    entityId,
    parameters: Type.Optional(parameters),
    includesExisting: Type.Optional(
      Type.Boolean({
        default: true,
        description:
          'Whether merchants, stores and devices that stand below at this moment become active too.',
      }),
    ),
  },
  'A request to activate a service.',
);
export type ServiceActivationInput = Static<typeof ServiceActivationInput>;

/**
 * The body that deactivates a service at one level.
 *
 * @example
 * const body: Deactivation = { serviceId, level: 'Store', entityId: storeId };
 */
export const Deactivation = closed(
  { serviceId, level, entityId },
  'The service and level to deactivate.',
);

const states = ['Requested', 'Pending', 'Active', 'Refused', 'Inactive'] as const;

/**
 * The states of an activation.
 *
 * @example
 * const state: ActivationState = 'Pending';
 */
export type ActivationState = (typeof states)[number];

const state = wordOf(states, {
  description:
    '`Requested`: the provider was not reached yet. `Pending`: it will answer later. `Active`, `Refused`: its answer. `Inactive`: switched off.',
});

const reason = shortText(500, 'Why the activation was refused.');

/**
 * The activation of a service at one level.
 *
 * @example
 * const { status } = (await response.json()) as ServiceActivation;
 */
export const ServiceActivation = closed(
  {
    activationId,
    organizationId,
    serviceId,
    release: Type.Integer({ minimum: 1, description: 'The release at the time of the request.' }),
    level,
    entityId,
    merchantId: Type.Optional(identifier('The merchant that the entity is, or belongs to.')),
    storeId: Type.Optional(identifier('The store that the entity is, or belongs to.')),
    status: state,
    includesExisting: Type.Boolean({
      description:
        'Whether the activation also covers the entities that were below the level when it became active.',
    }),
    parameters,
    secrets: Type.Optional(
      Type.Array(Type.String({ examples: ['/apiKey'] }), {
        description: 'Where the parameters hold secrets, as JSON Pointers; they are never shown.',
      }),
    ),
    providerParameters: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'The parameters from the response of the provider.',
        examples: [{ endpoint: 'eu-1' }],
      }),
    ),
    reason: Type.Optional(reason),
    requestedAt: Timestamp,
    decidedAt: Type.Optional(Timestamp),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  'The activation of a service at one level.',
);
export type ServiceActivation = Static<typeof ServiceActivation>;

/**
 * The later answer of a provider to an activation request.
 *
 * @example
 * const body: ProviderActivationAnswer = { handshakeId, status: 'Accepted', parameters: { shop: '7' } };
 */
export const ProviderActivationAnswer = closed(
  {
    handshakeId: identifier('The request that it answers.'),
    status: wordOf(['Accepted', 'Refused']),
    parameters: Type.Optional(parameters),
    reason: Type.Optional(reason),
  },
  'The answer of a provider to an activation.',
);
export type ProviderActivationAnswer = Static<typeof ProviderActivationAnswer>;

/**
 * The result of a provider's answer.
 *
 * @example
 * const { status } = (await response.json()) as AnsweredActivation;
 */
export const AnsweredActivation = closed(
  { activationId, organizationId, serviceId, status: state },
  'The result of a provider response.',
);

const levelState = closed(
  {
    level,
    entityId,
    active: Type.Boolean({ description: 'Whether the service is active at this level.' }),
    activationId: Type.Optional(activationId),
    status: Type.Optional(state),
  },
  'The state of a service at one level.',
);

/**
 * The state of a service at a device.
 *
 * @example
 * const usable = items.filter(({ active }) => active);
 */
export const DeviceService = closed(
  {
    serviceId,
    name: shortText(100, 'The name of the service.'),
    domain: Type.String({ description: 'The domain of the service.', examples: ['Retail API'] }),
    active: Type.Boolean({ description: 'Active at the device and at every level above it.' }),
    levels: Type.Array(levelState, { description: 'From the organisation to the device.' }),
  },
  'The state of a service at a device.',
);

/**
 * The services with a state at a device.
 *
 * @example
 * const { items } = (await response.json()) as DeviceServices;
 */
export const DeviceServiceList = closed(
  { items: Type.Array(DeviceService) },
  'The services of a device.',
);
export type DeviceServiceList = Static<typeof DeviceServiceList>;

/**
 * The filters of the list of activations, in addition to `limit` and `cursor`.
 *
 * @example
 * Type.Object({ ...pageQuery, ...activationFilters });
 */
export const activationFilters = {
  serviceId: Type.Optional(serviceId),
  level: Type.Optional(level),
  entityId: Type.Optional(entityId),
  status: Type.Optional(wordOf(states)),
};
