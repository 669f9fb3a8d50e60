/** Provisioning: organisations, merchants, stores, logical devices and physical devices. */
import { type Static, Type } from 'typebox';
import { claimFacts } from '../devices/terminal-ownership-claims.ts';
import {
  closed,
  commonAnswer,
  commonFilters,
  commonInput,
  identifier,
  replacement,
  shortText,
} from '../values-and-problems/resource-schemas.ts';
import { serialNumberForm } from '../values-and-problems/value-schemas.ts';

const organizationId = identifier('The organisation.');
const merchantId = identifier('The merchant.');
const storeId = identifier('The store.');
const logicalDeviceId = identifier('The logical device: the deviceId of a sale.');
const physicalDeviceId = identifier('The physical device.');

const timeZone = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'A name of the IANA time zone database.',
  examples: ['Europe/Paris'],
});

/**
 * A postal address; its country is the country of the merchant.
 *
 * @example
 * const address: Address = { line1: '12 quai de Valmy', city: 'Paris', postalCode: '75010' };
 */
export const Address = closed(
  {
    line1: shortText(100, 'Street and number.'),
    line2: Type.Optional(shortText(100, 'The second address line.')),
    city: shortText(60, 'The city, as receipts name it.'),
    postalCode: Type.Optional(shortText(16, 'The postal code.')),
    region: Type.Optional(shortText(60, 'The state or region.')),
  },
  'A postal address.',
);
export type Address = Static<typeof Address>;

const contact = closed(
  {
    name: Type.Optional(shortText(100, 'The name of the contact.')),
    email: Type.Optional(Type.String({ format: 'email', maxLength: 254 })),
    phone: Type.Optional(
      Type.String({ pattern: '^\\+[1-9][0-9]{6,14}$', description: 'A number after ITU-T E.164.' }),
    ),
  },
  'The contact at the merchant.',
);

const merchantInput = {
  ...commonInput,
  address: Type.Optional(Address),
  country: Type.String({
    pattern: '^[A-Z]{2}$',
    description: 'The country, an alpha-2 code of ISO 3166-1.',
    examples: ['FR'],
  }),
  mcc: Type.String({
    pattern: '^[0-9]{4}$',
    description: 'The merchant category code (ISO 18245).',
    examples: ['5814'],
  }),
  timeZone,
  contact: Type.Optional(contact),
};

/**
 * The body that creates a merchant.
 *
 * @example
 * const body: MerchantInput = { name: 'Lumière', country: 'FR', mcc: '5814', timeZone: 'Europe/Paris' };
 */
export const MerchantInput = closed(merchantInput, 'A merchant as it is created.');
export type MerchantInput = Static<typeof MerchantInput>;

/**
 * The body that replaces a merchant; missing members take their defaults.
 *
 * @example
 * const body = { ...merchant, status: 'Disabled' };
 */
export const MerchantReplacement = replacement(
  merchantInput,
  { merchantId },
  'A merchant as it is replaced.',
);

/**
 * A merchant, as the API returns it.
 *
 * @example
 * const merchant = (await response.json()) as Merchant;
 */
export const Merchant = closed(
  { merchantId, organizationId, ...merchantInput, ...commonAnswer },
  'A merchant of the organisation.',
);
export type Merchant = Static<typeof Merchant>;

const storeInput = {
  ...commonInput,
  address: Type.Optional(Address),
  timeZone: Type.Optional(timeZone),
};

/**
 * The body that creates a store. A caller with only one merchant may omit `merchantId`. A store
 * without an address or a time zone uses those of its merchant.
 *
 * @example
 * const body: StoreInput = { merchantId, name: 'Canal Saint-Martin' };
 */
export const StoreInput = closed(
  { merchantId: Type.Optional(merchantId), ...storeInput },
  'A store as it is created.',
);
export type StoreInput = Static<typeof StoreInput>;

/**
 * The body that replaces a store; the merchant cannot change.
 *
 * @example
 * const body = { ...store, status: 'Disabled' };
 */
export const StoreReplacement = replacement(
  storeInput,
  { merchantId, storeId },
  'A store as it is replaced.',
);

/**
 * A store, as the API returns it.
 *
 * @example
 * const store = (await response.json()) as Store;
 */
export const Store = closed(
  { storeId, organizationId, merchantId, ...storeInput, ...commonAnswer },
  'A store of a merchant.',
);
export type Store = Static<typeof Store>;

/**
 * The body that creates a logical device: a position for a terminal in a store.
 *
 * @example
 * const body: LogicalDeviceInput = { storeId, name: 'Counter 1' };
 */
export const LogicalDeviceInput = closed(
  { storeId, ...commonInput },
  'A logical device as it is created.',
);
export type LogicalDeviceInput = Static<typeof LogicalDeviceInput>;

/**
 * The body that replaces a logical device. The store cannot change; a separate request changes the
 * hardware.
 *
 * @example
 * const body = { ...device, name: 'Counter 2' };
 */
export const LogicalDeviceReplacement = replacement(
  commonInput,
  {
    logicalDeviceId,
    merchantId,
    storeId,
    physicalDeviceIds: Type.Array(physicalDeviceId, { maxItems: 2 }),
  },
  'A logical device as it is replaced.',
);

/**
 * A logical device with its current hardware, as the API returns it.
 *
 * @example
 * const device = (await response.json()) as LogicalDevice;
 */
export const LogicalDevice = closed(
  {
    logicalDeviceId,
    organizationId,
    merchantId,
    storeId,
    ...commonInput,
    ...commonAnswer,
    physicalDeviceIds: Type.Array(physicalDeviceId, { maxItems: 2 }),
  },
  'A logical device: the place of a terminal in a store, which outlives the hardware.',
);
export type LogicalDevice = Static<typeof LogicalDevice>;

/**
 * All hardware of a logical device: none, one or two physical devices.
 *
 * @example
 * const body: PhysicalDeviceLinks = { physicalDeviceIds: [physicalDeviceId] };
 */
export const PhysicalDeviceLinks = closed(
  { physicalDeviceIds: Type.Array(physicalDeviceId, { maxItems: 2, uniqueItems: true }) },
  'The hardware that fills the place of a logical device.',
);
export type PhysicalDeviceLinks = Static<typeof PhysicalDeviceLinks>;

const physicalDeviceInput = {
  ...commonInput,
  name: Type.Optional(shortText(100, 'The terminal serial number when left out.')),
  merchantId: Type.Optional(
    identifier('The merchant that has it; a device without one is in stock.'),
  ),
  serialNumber: Type.String({
    ...serialNumberForm,
    description: 'The serial number on the housing, unique in the organisation; no hyphen.',
    examples: ['10000001'],
  }),
  make: Type.String({
    pattern: '^[A-Z0-9]{1,24}$',
    description: 'The make: the first part of the terminal serial number.',
    examples: ['AXIUM'],
  }),
  model: Type.String({
    pattern: '^[A-Z0-9][A-Z0-9_]{0,31}$',
    description: 'The model: the second part of the terminal serial number.',
    examples: ['DX8000'],
  }),
  family: Type.String({
    pattern: '^[a-z][a-z0-9-]{0,31}$',
    description: 'The device family, such as axium or tetra.',
    examples: ['axium'],
  }),
};

/**
 * The body that creates a physical device.
 *
 * @example
 * const body: PhysicalDeviceInput = { serialNumber: '10000001', make: 'AXIUM', model: 'DX8000', family: 'axium' };
 */
export const PhysicalDeviceInput = closed(
  physicalDeviceInput,
  'A physical device as it is created.',
);
export type PhysicalDeviceInput = Static<typeof PhysicalDeviceInput>;

/**
 * The body that replaces a physical device. It can move to another merchant while it is not linked.
 *
 * @example
 * const body = { ...device, status: 'Disabled' };
 */
export const PhysicalDeviceReplacement = replacement(
  physicalDeviceInput,
  { physicalDeviceId, logicalDeviceId, tsn: Type.String({ maxLength: 100 }), ...claimFacts },
  'A physical device as it is replaced.',
);

/**
 * A physical device, as the API returns it.
 *
 * @example
 * device.tsn; // 'AXIUM_DX8000-10000001'
 */
export const PhysicalDevice = closed(
  {
    physicalDeviceId,
    organizationId,
    logicalDeviceId: Type.Optional(identifier('The logical device that it fills.')),
    ...physicalDeviceInput,
    ...commonAnswer,
    name: commonInput.name,
    tsn: Type.String({ description: 'The terminal serial number: MAKE_MODEL-serial.' }),
    ...claimFacts,
  },
  'A physical device: the hardware.',
);
export type PhysicalDevice = Static<typeof PhysicalDevice>;

const parentOrganizationId = identifier('The organisation above; your own where it is left out.');

const userDomainId = Type.String({
  pattern: '^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$',
  description: 'The user domain, in which its users and applications sign in. It keeps its name.',
  examples: ['credit-du-canal'],
});

const approvalCodeRequired = Type.Boolean({
  default: false,
  description: 'Whether refunds and cancels need an approval code.',
});

const organizationInput = {
  ...commonInput,
  parentOrganizationId: Type.Optional(parentOrganizationId),
  userDomainId: Type.Optional(userDomainId),
  approvalCodeRequired: Type.Optional(approvalCodeRequired),
};

/**
 * The body that creates an organisation below the caller's own. `userDomain` gives it a user
 * domain.
 *
 * @example
 * const body: OrganizationInput = { name: 'Crédit du Canal', userDomainId: 'credit-du-canal' };
 */
export const OrganizationInput = closed(organizationInput, 'An organisation as it is created.');
export type OrganizationInput = Static<typeof OrganizationInput>;

/**
 * The body that replaces an organisation. Without a parent in the body, the parent stays the same.
 * The user domain never changes.
 *
 * @example
 * const body = { ...organization, approvalCodeRequired: true };
 */
export const OrganizationReplacement = replacement(
  organizationInput,
  {},
  'An organisation as it is replaced.',
);

/**
 * An organisation, as the API returns it.
 *
 * @example
 * const organization = (await response.json()) as Organization;
 */
export const Organization = closed(
  {
    organizationId,
    parentOrganizationId: Type.Optional(identifier('The organisation above.')),
    userDomainId: Type.Optional(userDomainId),
    ...commonInput,
    approvalCodeRequired,
    ...commonAnswer,
  },
  'An organisation: an acquirer with its merchants, or one below it.',
);
export type Organization = Static<typeof Organization>;

/**
 * The filters of each list, in addition to `limit` and `cursor`.
 *
 * @example
 * Type.Object({ limit, cursor, ...provisioningFilters.stores });
 */
export const provisioningFilters = {
  organizations: {
    ...commonFilters,
    parentOrganizationId: Type.Optional(identifier('Those right below this organisation.')),
  },
  merchants: commonFilters,
  stores: { ...commonFilters, merchantId: Type.Optional(merchantId) },
  logicalDevices: {
    ...commonFilters,
    merchantId: Type.Optional(merchantId),
    storeId: Type.Optional(storeId),
  },
  physicalDevices: {
    ...commonFilters,
    serialNumber: Type.Optional(Type.String({ maxLength: 32, pattern: '^[ -~]+$' })),
    merchantId: Type.Optional(merchantId),
    storeId: Type.Optional(storeId),
    logicalDeviceId: Type.Optional(logicalDeviceId),
  },
  acquirerLinks: commonFilters,
  acquirerContracts: commonFilters,
};
