/** The search over all provisioned entities. */
import { type Static, Type } from 'typebox';
import { closed, commonFilters, identifier } from '../values-and-problems/resource-schemas.ts';
import { wordOf } from '../values-and-problems/value-schemas.ts';

/**
 * The types that the search finds, in the order of the response.
 *
 * @example
 * foundTypes.indexOf('Store'); // 2
 */
export const foundTypes = [
  'Organization',
  'Merchant',
  'Store',
  'LogicalDevice',
  'PhysicalDevice',
  'PointOfSale',
] as const;

/**
 * One of the types that the search finds.
 *
 * @example
 * const type: FoundType = 'PhysicalDevice';
 */
export type FoundType = (typeof foundTypes)[number];

const type = wordOf(foundTypes, { description: 'The entity type.' });
const { name, externalId, status } = commonFilters;
const merchantId = identifier('The merchant that has it.');
const storeId = identifier('The store of the device.');

/**
 * The criteria of a search, in addition to `limit` and `cursor`. A result matches all of them.
 *
 * @example
 * Type.Object({ limit, cursor, ...provisioningCriteria });
 */
export const provisioningCriteria = {
  type: Type.Optional(wordOf(foundTypes, { description: 'Only what is of this type.' })),
  q: Type.Optional({
    ...name,
    description:
      'A prefix of the name, without regard to letter case; or exactly the external ' +
      'identifier, the serial number, the terminal serial number (tsn), the client id of a ' +
      'point of sale or an identifier of the platform.',
    examples: ['AXIUM_DX8000-10000001'],
  }),
  externalId,
  serialNumber: Type.Optional(
    Type.String({
      maxLength: 32,
      pattern: '^[ -~]+$',
      description: 'Exactly the serial number on the housing.',
      examples: ['10000001'],
    }),
  ),
  merchantId: Type.Optional(merchantId),
  storeId: Type.Optional(storeId),
  status,
};

/**
 * The search criteria of a client.
 *
 * @example
 * const criteria: ProvisioningCriteria = { q: 'till', storeId };
 */
export type ProvisioningCriteria = {
  readonly [Name in keyof typeof provisioningCriteria]?: string | undefined;
};

/**
 * One result: enough to recognise the entity, and the path of the rest.
 *
 * @example
 * const { path } = found; // '/provisioning/v2/physical-devices/01a1fd70-2585-75d7-9e33-1754b5c6df6b'
 */
export const FoundItem = closed(
  {
    type,
    id: identifier('Its identifier.'),
    organizationId: identifier('The organisation that has it.'),
    name: Type.String({ description: 'Its name.' }),
    externalId: Type.Optional(Type.String({ description: 'Its identifier elsewhere.' })),
    status: Type.Enum(['Enabled', 'Disabled']),
    merchantId: Type.Optional(merchantId),
    storeId: Type.Optional(storeId),
    logicalDeviceId: Type.Optional(identifier('The logical device that the hardware fills.')),
    serialNumber: Type.Optional(Type.String({ description: 'The serial number of hardware.' })),
    tsn: Type.Optional(
      Type.String({ description: 'The terminal serial number of hardware: MAKE_MODEL-serial.' }),
    ),
    path: Type.String({
      description: 'Where all of it is read.',
      examples: ['/provisioning/v2/stores/019823f0-5d2c-7a31-9a53-0c6f1f2e9b11'],
    }),
  },
  'Something that was found.',
);
export type FoundItem = Static<typeof FoundItem>;
