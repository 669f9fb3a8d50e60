/**
 * Users of a user domain, for their administrators.
 *
 * Source of the words: OpenID Connect Core 1.0, 5.1 (claims) and 5.1.1 (address); ITU-T E.164.
 */
import { type Static, Type } from 'typebox';
import { type GroupName, groupLevels, permissions } from '../../permissions.ts';
import {
  closed,
  identifier,
  replacement,
  shortText,
} from '../values-and-problems/resource-schemas.ts';
import { Timestamp, wordOf } from '../values-and-problems/value-schemas.ts';

const username = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._+@-]{0,63}$',
  description: 'The user name; unique in the user domain, without regard to letter case.',
  examples: ['ann.carter'],
});

const email = Type.String({
  maxLength: 254,
  pattern:
    "^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$",
  description: 'The mail address, to which links are sent.',
  examples: ['ann.carter@shop.example'],
});

const addressLine = (description: string) => Type.Optional(shortText(200, description));

const address = Type.Object(
  {
    formatted: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        pattern: '^[^\\u0000-\\u0009\\u000b\\u000c\\u000e-\\u001f\\u007f]+$',
        description: 'The whole address as on an envelope, in several lines.',
      }),
    ),
    street_address: addressLine('Street and number.'),
    locality: addressLine('City.'),
    region: addressLine('State, province or region.'),
    postal_code: addressLine('Postal code.'),
    country: addressLine('Country.'),
  },
  { additionalProperties: false, description: 'The postal address, as OpenID Connect has it.' },
);

const groups = Type.Array(
  Type.String({
    minLength: 1,
    maxLength: 64,
    description: 'A predefined group of the entity, with the identifier of the entity before it.',
    examples: ['019823f0-5d2c-7a31-9a53-0c6f1f2e9b11_merchant_manager'],
  }),
  {
    maxItems: 20,
    uniqueItems: true,
    description: 'The groups of the user: of the level of `entityId`, and of that entity.',
  },
);

const profile = {
  givenName: Type.Optional(shortText(100, 'Given name.')),
  familyName: Type.Optional(shortText(100, 'Family name.')),
  phoneNumber: Type.Optional(
    Type.String({
      pattern: '^\\+[1-9][0-9]{1,14}$',
      description: 'The telephone number after E.164.',
      examples: ['+33639980010'],
    }),
  ),
  address: Type.Optional(address),
  locale: Type.Optional(
    Type.String({
      pattern: '^[a-z]{2}-[A-Z]{2}$',
      description: 'Language (ISO 639-1) and country (ISO 3166-1); mail comes in this language.',
      examples: ['fr-FR'],
    }),
  ),
  zoneinfo: Type.Optional(shortText(64, 'A name of the IANA time zone database.')),
  datetimeFormat: Type.Optional(shortText(64, 'A pattern for dates and times.')),
};

const entityId = identifier('The organisation or the merchant that the user belongs to.');
const scope = identifier('The scope of the user: `entityId` itself, or a merchant below it.');
const userId = identifier('The user; `sub` of the tokens.');
const userDomainId = Type.String({
  minLength: 1,
  maxLength: 63,
  description: 'The user domain (realm) of the organisation.',
  examples: ['northgate'],
});
const status = wordOf(['activated', 'deactivated'], {
  description: 'A deactivated user can neither sign in nor use anything.',
});
const secondFactor = wordOf(['Off', 'Required', 'On'], {
  description: '`Required`: to be set up at the next sign-in. `On`: set up.',
});

/**
 * The body that creates a user. The platform then sends an email with a link for the first
 * password.
 *
 * @example
 * const body: UserInput = { username: 'ann', entityId, scope: entityId, email, groups };
 */
export const UserInput = closed(
  { username, entityId, scope, email, ...profile, groups: Type.Optional(groups) },
  'A user as it is created.',
);
export type UserInput = Static<typeof UserInput>;

/**
 * The body that replaces a user. Missing profile members are deleted; a missing email address and
 * missing groups stay.
 *
 * @example
 * const body: UserReplacement = { ...user, familyName: 'Carter' };
 */
export const UserReplacement = replacement(
  { email: Type.Optional(email), ...profile, groups: Type.Optional(groups) },
  {
    username,
    entityId,
    scope,
    userId,
    userDomainId,
    status,
    emailVerified: Type.Boolean(),
    pendingEmail: email,
    secondFactor,
  },
  'A user as it is edited.',
);
export type UserReplacement = Static<typeof UserReplacement>;

/**
 * A user, as the API returns it.
 *
 * @example
 * const user = (await response.json()) as UserView;
 */
export const UserView = closed(
  {
    userId,
    userDomainId,
    organizationId: identifier('The organisation.'),
    username,
    entityId,
    scope,
    email,
    emailVerified: Type.Boolean({
      description: 'Whether the user followed a link that was sent to the address.',
    }),
    pendingEmail: Type.Optional(
      Type.String({
        description: 'The address that takes effect once the link sent to it is followed.',
      }),
    ),
    ...profile,
    groups,
    status,
    secondFactor,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  'A user of the user domain.',
);
export type UserView = Static<typeof UserView>;

/**
 * Whether a user can sign in.
 *
 * @example
 * const body: UserStatus = { status: 'deactivated' };
 */
export const UserStatus = closed({ status }, 'Whether a user can sign in.');
export type UserStatus = Static<typeof UserStatus>;

/**
 * A predefined group of an organisation or of a merchant; users join it by its name.
 *
 * @example
 * const { items } = (await response.json()) as { items: Group[] };
 */
export const Group = closed(
  {
    name: Type.String({
      description:
        'The identifier of the entity, `_`, and the group: the form in which users have it.',
      examples: ['019823f0-5d2c-7a31-9a53-0c6f1f2e9b11_org_admin'],
    }),
    group: wordOf(Object.keys(groupLevels) as GroupName[], {
      description: 'The group without the identifier of the entity.',
    }),
    entityId: identifier('The organisation or the merchant that the group is of.'),
    level: wordOf(['organization', 'merchant'], { description: 'The type of the entity.' }),
    rights: Type.String({ description: 'The purpose of the group.' }),
    permissions: Type.Array(wordOf(permissions, { description: 'A permission.' }), {
      description: 'The permissions of its users.',
    }),
  },
  'A predefined group.',
);
export type Group = Static<typeof Group>;

/**
 * The filters of the list of groups, in addition to `limit` and `cursor`.
 *
 * @example
 * Type.Object({ ...pageQuery, ...groupFilters });
 */
export const groupFilters = {
  entityId: Type.Optional(
    identifier('The organisation or one of its merchants; default: the entity of the caller.'),
  ),
};

/**
 * The filters of the list of users, in addition to `limit` and `cursor`.
 *
 * @example
 * Type.Object({ ...pageQuery, ...userFilters });
 */
export const userFilters = {
  entityId: Type.Optional(entityId),
  username: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      pattern: '^[^\\u0000]*$',
      description: 'A prefix of the user name, without regard to letter case.',
    }),
  ),
  status: Type.Optional(status),
};

/**
 * A sign-in of a user and its start time.
 *
 * @example
 * const { items } = (await response.json()) as { items: UserSession[] };
 */
export const UserSession = closed(
  {
    sessionId: Type.String({
      maxLength: 64,
      description: 'By which it is ended; it opens nothing.',
      examples: ['Vt2kX0pQnXc3m0rY5dWbA'],
    }),
    kind: wordOf(['Browser', 'Password', 'CustomToken'], {
      description: 'A browser, or an application or device at which a password was typed.',
    }),
    signedInAt: Timestamp,
    lastSeenAt: Timestamp,
    expiresAt: Timestamp,
    methods: Type.Array(
      wordOf(['pwd', 'otp', 'hwk', 'rc'], { description: 'A word of RFC 8176; `rc`: recovery.' }),
      { description: 'The authentication methods of the user.' },
    ),
    clientIds: Type.Array(Type.String(), {
      description: 'The applications that it is used at; the portal is `switchyard-portal`.',
    }),
  },
  'Where a user is signed in.',
);
export type UserSession = Static<typeof UserSession>;
