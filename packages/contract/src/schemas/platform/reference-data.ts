/** The data of the reference API: error codes, roles and countries. */
import { type Static, Type } from 'typebox';
import { groupLevels, permissions, roleTitles } from '../../permissions.ts';
import { closed } from '../values-and-problems/resource-schemas.ts';
import { wordOf } from '../values-and-problems/value-schemas.ts';

/**
 * One error code with its meaning.
 *
 * @example
 * const { items } = (await response.json()) as { items: ListedErrorCode[] };
 */
export const ListedErrorCode = closed(
  {
    code: Type.String({ description: 'The code.', examples: ['transaction_not_found'] }),
    status: Type.Integer({ minimum: 400, maximum: 599, description: 'The HTTP status.' }),
    title: Type.String({ description: 'A short title.' }),
    help: Type.String({ description: 'The meaning.' }),
    retryable: Type.Boolean({ description: 'Whether the same request can succeed later.' }),
    outcome: wordOf(['NotProcessed', 'Processed', 'Unknown'], {
      description: 'Whether money may have moved, unless the problem itself says otherwise.',
    }),
    reserved: Type.Optional(
      Type.Boolean({ description: 'True if no response uses this code yet.' }),
    ),
  },
  'An error code.',
);
/** The type of {@link ListedErrorCode}. */
export type ListedErrorCode = Static<typeof ListedErrorCode>;

/**
 * `GET /resources/v1/error-codes`: all codes, in the order of the checks of a request.
 *
 * @example
 * const { items } = (await response.json()) as ErrorCodeList;
 */
export const ErrorCodeList = closed({ items: Type.Array(ListedErrorCode) }, 'The error codes.');
/** The type of {@link ErrorCodeList}. */
export type ErrorCodeList = Static<typeof ErrorCodeList>;

const roleNames = Object.keys(roleTitles) as (keyof typeof roleTitles)[];
const groupNames = Object.keys(groupLevels) as (keyof typeof groupLevels)[];
const permissionsField = Type.Array(wordOf(permissions), { description: 'The permissions.' });

/**
 * `GET /resources/v1/roles`: the roles of applications and the user groups, with their permissions.
 *
 * @example
 * const { roles } = (await response.json()) as RoleList;
 */
export const RoleList = closed(
  {
    roles: Type.Array(
      closed(
        {
          role: wordOf(roleNames, { description: 'The role.' }),
          title: Type.String({ description: 'The name that people know it by.' }),
          permissions: permissionsField,
        },
        'A role of applications.',
      ),
    ),
    groups: Type.Array(
      closed(
        {
          group: wordOf(groupNames, { description: 'The group.' }),
          rights: Type.String({ description: 'The purpose of the group.' }),
          permissions: permissionsField,
        },
        'A group of people.',
      ),
    ),
  },
  'Roles and groups.',
);
/** The type of {@link RoleList}. */
export type RoleList = Static<typeof RoleList>;

/**
 * A country: its alpha-2 code and its name.
 *
 * Source: ISO 3166-1.
 *
 * @example
 * const country: Country = { code: 'FR', display: 'France' };
 */
export const Country = Type.Object({
  code: Type.String({
    pattern: '^[A-Z]{2}$',
    description: 'The alpha-2 code of ISO 3166-1.',
    examples: ['FR'],
  }),
  display: Type.String({ description: 'The name of the country.', examples: ['France'] }),
});
/** The type of {@link Country}. */
export type Country = Static<typeof Country>;

/**
 * All countries, as a JSON array sorted by code.
 *
 * @example
 * const countries = (await response.json()) as Countries;
 */
export const CountryList = Type.Array(Country, {
  description: 'Every country of ISO 3166-1, sorted by code.',
});
/** The type of {@link CountryList}. */
export type CountryList = Static<typeof CountryList>;
