/** The kinds of things of an estate: what the file says of each, what identifies it, what is left out. */
import {
  AcquirerContractInput,
  AcquirerLinkInput,
  ApplicationInput,
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
import type { KindName, Members } from './estate-model.ts';

/** A member of the file that names another thing by its key. */
export type Reference = {
  readonly member: string;
  readonly kind: KindName;
  /** The member of the API with its id; left out where more than the name differs. */
  readonly server?: string;
};

export type Kind = {
  readonly name: KindName;
  /** The list in the file. */
  readonly list: string;
  readonly within: readonly KindName[];
  /** The members of the file, in their order. */
  readonly members: TProperties;
  /** Has no better identity than external id or name: the file may hold the id of the server. */
  readonly hasId: boolean;
  readonly references: readonly Reference[];
  keyOf(members: Members): string;
  /** What the server fills in where a member is left out. */
  defaults(members: Members): Members;
};

const text = (members: Members, name: string): string => String(members[name] ?? '');
const ownKey = (members: Members): string => text(members, 'externalId') || text(members, 'name');

/** Without members that the file says in another way. */
function without(properties: TProperties, ...names: string[]): TProperties {
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !names.includes(name)));
}

const keyText = (description: string): TSchema =>
  Type.String({ minLength: 1, maxLength: 400, description });
const merchantKey = Type.Optional(
  keyText('The key of the merchant; left out: of the organisation.'),
);
const enabled: Members = { status: 'Enabled', labels: {} };

/** Name, external id, status and labels: what every provisioned thing has. */
const commonMembers = without(LogicalDeviceInput.properties, 'storeId');

type Facts = Pick<Kind, 'name' | 'list' | 'members'> & Partial<Kind>;

const kind = (facts: Facts): Kind => ({
  within: ['organization'],
  hasId: true,
  references: [],
  keyOf: ownKey,
  defaults: () => enabled,
  ...facts,
});

export const tsnOf = (members: Members): string =>
  `${text(members, 'make')}_${text(members, 'model')}-${text(members, 'serialNumber')}`;

function contractDefaults(members: Members): Members {
  const modes = members['captureModes'];
  return {
    ...enabled,
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
  'The key of a service of the own organisation, or the id of one of others.',
);
const levels: readonly KindName[] = ['organization', 'merchant', 'store', 'logicalDevice'];
const parameters = Type.Record(Type.String(), Type.Unknown());
const merchantOf: Reference = { member: 'merchant', kind: 'merchant', server: 'merchantId' };

/** Of people and applications the entity is the organisation or a merchant. */
const owner: Reference = { member: 'merchant', kind: 'merchant' };

const provisioned: Kind[] = [
  kind({
    name: 'acquirerLink',
    list: 'acquirerLinks',
    members: AcquirerLinkInput.properties,
    defaults: ({ adapter = 'Iso8583Host' }) => ({
      ...enabled,
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
    members: without(StoreInput.properties, 'merchantId'),
  }),
  kind({
    name: 'physicalDevice',
    list: 'physicalDevices',
    hasId: false,
    members: {
      ...without(PhysicalDeviceInput.properties, 'merchantId'),
      merchant: Type.Optional(keyText('The key of the merchant that has it; left out: in stock.')),
    },
    references: [merchantOf],
    keyOf: tsnOf,
    defaults: (members) => ({ ...enabled, name: tsnOf(members) }),
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
    defaults: () => ({ ...enabled, physicalDevices: [] }),
  }),
  kind({ name: 'pointOfSale', list: 'pointsOfSale', within: ['store'], members: commonMembers }),
];

const people: Kind[] = [
  kind({
    name: 'user',
    list: 'users',
    hasId: false,
    members: {
      ...without(UserInput.properties, 'entityId', 'scope'),
      merchant: merchantKey,
      scope: Type.Optional(
        keyText('The key of the one merchant that somebody of the organisation acts on.'),
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
    references: [owner, { member: 'scope', kind: 'merchant' }],
    keyOf: (members) => text(members, 'username').toLowerCase(),
    defaults: () => ({ status: 'activated', groups: [] }),
  }),
  kind({
    name: 'application',
    list: 'applications',
    hasId: false,
    members: {
      ...without(ApplicationInput.properties, 'entityId', 'storeId', 'clientId'),
      clientId: Type.String({ pattern: '^[A-Za-z0-9._-]{1,128}$', description: 'The client id.' }),
      merchant: merchantKey,
      store: Type.Optional(keyText('The key of the one store that its tokens are good for.')),
    },
    references: [owner],
    keyOf: (members) => text(members, 'clientId'),
    defaults: applicationDefaults,
  }),
];

const catalogue: Kind[] = [
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
      ...without(ServicePackageInput.properties, 'serviceIds'),
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
      package: keyText('The key of a package of the own organisation, or the id of one of others.'),
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
      active: Type.Optional(Type.Boolean({ description: 'false: switched off at this level.' })),
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
export const kinds: readonly Kind[] = [...provisioned, ...people, ...catalogue];

export const kindOf = (name: KindName): Kind => {
  const found = kinds.find((each) => each.name === name);
  if (found === undefined) throw new RangeError(`${name} is no kind of the estate`);
  return found;
};

export const kindsWithin = (name: KindName): readonly Kind[] =>
  kinds.filter(({ within }) => within.includes(name));

/** The members of the organisation itself: all but what the platform made. */
export const organizationMembers: TProperties = Object.fromEntries(
  Object.entries(
    without(
      Organization.properties,
      'organizationId',
      'parentOrganizationId',
      'createdAt',
      'updatedAt',
    ),
  ).map(([name, schema]) => [name, name === 'name' ? schema : Type.Optional(schema)]),
);

export const organizationDefaults: Members = { ...enabled, approvalCodeRequired: false };
