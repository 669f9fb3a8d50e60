/** The definitions of the resource kinds: members, references, key and defaults. */
import {
  AcquirerContractInput,
  AcquirerLinkInput,
  ApplicationInput,
  formatTsn,
  LogicalDeviceInput,
  MerchantInput,
  Organization,
  PhysicalDeviceInput,
  ServiceInput,
  ServicePackageInput,
  StoreInput,
  UserInput,
} from '@switchyard/contract';
import { type TProperties, type TSchema, Type } from 'typebox';
import type { Members, ResourceKind } from './estate-model.ts';

/** A member of the file that refers to another resource by its key. */
export type Reference = {
  readonly member: string;
  readonly kind: ResourceKind;
  /** The member of the API that has the id; absent if code converts the reference. */
  readonly server?: string;
};

export type ResourceDefinition = {
  readonly name: ResourceKind;
  /** The list in the file. */
  readonly list: string;
  readonly within: readonly ResourceKind[];
  /** The members of the file, in their order. */
  readonly members: TProperties;
  /** The key is the external id or name only, so the file may have the id of the server too. */
  readonly hasId: boolean;
  readonly references: readonly Reference[];
  keyOf(members: Members): string;
  /** The defaults of the server for missing members. */
  defaults(members: Members): Members;
};

const text = (members: Members, name: string): string => String(members[name] ?? '');
const ownKey = (members: Members): string => text(members, 'externalId') || text(members, 'name');

function omitProperties(properties: TProperties, ...names: string[]): TProperties {
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !names.includes(name)));
}

const keyText = (description: string): TSchema =>
  Type.String({ minLength: 1, maxLength: 400, description });
const merchantKey = Type.Optional(
  keyText('The key of the merchant; without it the resource belongs to the organisation.'),
);
const enabledDefaults: Members = { status: 'Enabled', labels: {} };

/** Name, external id, status and labels, which every provisioned resource has. */
const commonMembers = omitProperties(LogicalDeviceInput.properties, 'storeId');

type DefinitionInput = Pick<ResourceDefinition, 'name' | 'list' | 'members'> &
  Partial<ResourceDefinition>;

const kind = (input: DefinitionInput): ResourceDefinition => ({
  within: ['organization'],
  hasId: true,
  references: [],
  keyOf: ownKey,
  defaults: () => enabledDefaults,
  ...input,
});

export const tsnOf = (members: Members): string =>
  formatTsn({
    make: text(members, 'make'),
    model: text(members, 'model'),
    serialNumber: text(members, 'serialNumber'),
  });

function contractDefaults(members: Members): Members {
  const modes = members['captureModes'];
  return {
    ...enabledDefaults,
    name: members['acquirerMerchantId'] ?? '',
    captureTransport: 'Advice',
    partialCancel: false,
    multipleCapture: false,
    overCapturePercent: 0,
    partialApproval: false,
    clearCardData: 'Refused',
    holdDays: 30,
    routing: [],
    offlineLimits: { maxAgeHours: 168, maxCount: 1000 },
    cutOverTime: '00:00',
    ...(Array.isArray(modes) && modes[0] !== undefined ? { defaultCaptureMode: modes[0] } : {}),
  };
}

function applicationDefaults(members: Members): Members {
  const isCloud = members['type'] === 'CloudApiApplication';
  return {
    type: 'Application',
    clientType: 'Confidential',
    securityFlows: ['ClientCredentials'],
    redirectUris: [],
    webOrigins: [],
    services: isCloud ? ['RetailApi'] : [],
    roles: isCloud ? ['PointOfSaleTerminal'] : [],
    callbackError: 'Rfc6749',
    accessTokenType: 'JWT',
    status: 'Enabled',
  };
}

const serviceKey = keyText(
  'The key of a service of this organisation, or the id of a service of another one.',
);
const levels: readonly ResourceKind[] = ['organization', 'merchant', 'store', 'logicalDevice'];
const parameters = Type.Record(Type.String(), Type.Unknown());
const merchantReference: Reference = { member: 'merchant', kind: 'merchant', server: 'merchantId' };

/** The entity of users and applications is the organisation or a merchant. */
const ownerReference: Reference = { member: 'merchant', kind: 'merchant' };

const provisioningKinds: ResourceDefinition[] = [
  kind({
    name: 'acquirerLink',
    list: 'acquirerLinks',
    members: AcquirerLinkInput.properties,
    defaults: ({ adapter = 'Iso8583Host' }) => ({
      ...enabledDefaults,
      adapter: 'Iso8583Host',
      tls: true,
      ...(adapter === 'Iso8583Host' ? { dialect: 'iso1987-binary', connections: 1 } : {}),
    }),
  }),
  kind({ name: 'merchant', list: 'merchants', members: MerchantInput.properties }),
  kind({
    name: 'acquirerContract',
    list: 'acquirerContracts',
    within: ['merchant'],
    hasId: false,
    members: {
      ...AcquirerContractInput.properties,
      acquirerLink: keyText('The key of the acquirer link.'),
    },
    references: [{ member: 'acquirerLink', kind: 'acquirerLink', server: 'acquirerLink' }],
    keyOf: (members) => {
      const range = members['terminalIdRange'] as Members | undefined;
      return `${text(members, 'acquirerMerchantId')}@${text(range ?? {}, 'from')}`;
    },
    defaults: contractDefaults,
  }),
  kind({
    name: 'store',
    list: 'stores',
    within: ['merchant'],
    members: omitProperties(StoreInput.properties, 'merchantId'),
  }),
  kind({
    name: 'physicalDevice',
    list: 'physicalDevices',
    hasId: false,
    members: {
      ...omitProperties(PhysicalDeviceInput.properties, 'merchantId'),
      merchant: Type.Optional(
        keyText('The key of the merchant that uses the device; without it the device is in stock.'),
      ),
    },
    references: [merchantReference],
    keyOf: tsnOf,
    defaults: (members) => ({ ...enabledDefaults, name: tsnOf(members) }),
  }),
  kind({
    name: 'logicalDevice',
    list: 'logicalDevices',
    within: ['store'],
    members: {
      ...commonMembers,
      physicalDevices: Type.Optional(
        Type.Array(keyText('A terminal serial number, MAKE_MODEL-serial.'), {
          maxItems: 2,
          uniqueItems: true,
        }),
      ),
    },
    references: [
      { member: 'physicalDevices', kind: 'physicalDevice', server: 'physicalDeviceIds' },
    ],
    defaults: () => ({ ...enabledDefaults, physicalDevices: [] }),
  }),
  kind({ name: 'pointOfSale', list: 'pointsOfSale', within: ['store'], members: commonMembers }),
];

const userDomainKinds: ResourceDefinition[] = [
  kind({
    name: 'user',
    list: 'users',
    hasId: false,
    members: {
      ...omitProperties(UserInput.properties, 'entityId', 'scope'),
      merchant: merchantKey,
      scope: Type.Optional(
        keyText('The key of the only merchant that a user of the organisation manages.'),
      ),
      status: Type.Optional(Type.Enum(['activated', 'deactivated'])),
      groups: Type.Optional(
        Type.Array(
          Type.String({ maxLength: 64, description: 'A group without the identifier: org_admin.' }),
          {
            uniqueItems: true,
            maxItems: 20,
          },
        ),
      ),
    },
    references: [ownerReference, { member: 'scope', kind: 'merchant' }],
    keyOf: (members) => text(members, 'username').toLowerCase(),
    defaults: () => ({ status: 'activated', groups: [] }),
  }),
  kind({
    name: 'application',
    list: 'applications',
    hasId: false,
    members: {
      ...omitProperties(ApplicationInput.properties, 'entityId', 'storeId', 'clientId'),
      clientId: Type.String({ pattern: '^[A-Za-z0-9._-]{1,128}$', description: 'The client id.' }),
      merchant: merchantKey,
      store: Type.Optional(keyText('The key of the only store for which its tokens are valid.')),
    },
    references: [ownerReference],
    keyOf: (members) => text(members, 'clientId'),
    defaults: applicationDefaults,
  }),
];

const catalogueKinds: ResourceDefinition[] = [
  kind({
    name: 'service',
    list: 'services',
    members: {
      ...ServiceInput.properties,
      status: Type.Optional(Type.Enum(['Draft', 'Published', 'Retired'])),
    },
    keyOf: (members) => text(members, 'name'),
    defaults: () => ({ status: 'Published', methods: [], paymentTypes: [], events: [] }),
  }),
  kind({
    name: 'package',
    list: 'packages',
    members: {
      ...omitProperties(ServicePackageInput.properties, 'serviceIds'),
      services: Type.Array(serviceKey, { minItems: 1, maxItems: 50, uniqueItems: true }),
    },
    references: [{ member: 'services', kind: 'service', server: 'serviceIds' }],
    keyOf: (members) => text(members, 'name'),
    defaults: () => ({ status: 'Enabled' }),
  }),
  kind({
    name: 'subscription',
    list: 'subscriptions',
    hasId: false,
    members: {
      package: keyText(
        'The key of a package of this organisation, or the id of a package of another one.',
      ),
    },
    references: [{ member: 'package', kind: 'package', server: 'packageId' }],
    keyOf: (members) => text(members, 'package'),
    defaults: () => ({}),
  }),
  kind({
    name: 'activation',
    list: 'activations',
    within: levels,
    hasId: false,
    members: {
      service: serviceKey,
      active: Type.Optional(
        Type.Boolean({ description: 'false deactivates the service at this level.' }),
      ),
      includesExisting: Type.Optional(Type.Boolean()),
      parameters: Type.Optional(parameters),
    },
    references: [{ member: 'service', kind: 'service', server: 'serviceId' }],
    keyOf: (members) => text(members, 'service'),
    defaults: () => ({ active: true, includesExisting: true, parameters: {} }),
  }),
  kind({
    name: 'configuration',
    list: 'configurations',
    within: levels,
    hasId: false,
    members: { service: serviceKey, values: parameters },
    references: [{ member: 'service', kind: 'service', server: 'serviceId' }],
    keyOf: (members) => text(members, 'service'),
    defaults: () => ({}),
  }),
];

/** In the order in which they depend on each other. */
export const resourceDefinitions: readonly ResourceDefinition[] = [
  ...provisioningKinds,
  ...userDomainKinds,
  ...catalogueKinds,
];

export const resourceDefinition = (name: ResourceKind): ResourceDefinition => {
  const definition = resourceDefinitions.find((each) => each.name === name);
  if (definition === undefined)
    throw new RangeError(`${name} is not a resource kind of the estate`);
  return definition;
};

export const definitionsWithin = (name: ResourceKind): readonly ResourceDefinition[] =>
  resourceDefinitions.filter(({ within }) => within.includes(name));

/** The members of the organisation itself, without those that the platform sets. */
export const organizationMembers: TProperties = Object.fromEntries(
  Object.entries(
    omitProperties(
      Organization.properties,
      'organizationId',
      'parentOrganizationId',
      'createdAt',
      'updatedAt',
    ),
  ).map(([name, schema]) => [name, name === 'name' ? schema : Type.Optional(schema)]),
);

export const organizationDefaults: Members = { ...enabledDefaults, approvalCodeRequired: false };
