/**
 * Applications: the clients of the OAuth 2.0 endpoints that an organisation registers.
 *
 * Source of the words: RFC 6749, 2.1 (client types) and 3.1.2 (redirection); RFC 6454 (origins).
 */
import { type Static, Type } from 'typebox';
import {
  closed,
  commonFilters,
  identifier,
  replacement,
  shortText,
} from '../values-and-problems/resource-schemas.ts';
import { Timestamp, wordOf } from '../values-and-problems/value-schemas.ts';

const userDomainId = Type.String({
  minLength: 1,
  maxLength: 63,
  description: 'The user domain (realm) of the organisation.',
  examples: ['northgate'],
});

const clientId = Type.String({
  pattern: '^[A-Za-z0-9._-]{1,128}$',
  description: 'The client id; made by the platform where none is chosen, and never given twice.',
  examples: ['till-7'],
});

const clientSecret = Type.String({
  description: 'The client secret, shown this once and kept as a hash.',
  examples: ['Vt1Jx8cS0bq3wZ5yK7mN2pR4tU6vX8zA0cE2gH4jL6o'],
});

const type = wordOf(['Application', 'CloudApiApplication'], {
  default: 'Application',
  description: '`CloudApiApplication` is for the Cloud Connector and brings its own defaults.',
});

const clientType = wordOf(['Confidential', 'Public'], {
  default: 'Confidential',
  description: 'A public one, a page or an app in the hands of its users, has no secret.',
});

const securityFlows = Type.Array(wordOf(['AuthorizationCode', 'ClientCredentials', 'Password']), {
  minItems: 1,
  maxItems: 3,
  uniqueItems: true,
  default: ['ClientCredentials'],
  description: 'How it may obtain tokens.',
});

const redirectUris = Type.Array(
  Type.String({
    minLength: 1,
    maxLength: 2000,
    description: 'An absolute https address, compared character by character.',
    examples: ['https://shop.example/callback'],
  }),
  {
    maxItems: 50,
    uniqueItems: true,
    default: [],
    description: 'Where the user agent may be sent with a code; needed for `AuthorizationCode`.',
  },
);

const webOrigins = Type.Array(
  Type.String({
    minLength: 1,
    maxLength: 300,
    description: 'An origin: scheme, host and port, without a path.',
    examples: ['https://shop.example'],
  }),
  {
    maxItems: 50,
    uniqueItems: true,
    default: [],
    description: 'Whose scripts may call the token endpoint; needed for `AuthorizationCode`.',
  },
);

const services = Type.Array(shortText(64, 'The name of a service, such as `RetailApi`.'), {
  maxItems: 50,
  uniqueItems: true,
  default: [],
  description: 'The services that it is made for.',
});

const roles = Type.Array(
  Type.String({
    minLength: 1,
    maxLength: 64,
    description: 'A role by its identifier or by its title.',
    examples: ['PointOfSaleTerminal'],
  }),
  {
    maxItems: 20,
    uniqueItems: true,
    default: [],
    description: 'The roles of tokens that the application gets for itself.',
  },
);

const entityId = identifier('The organisation or the merchant that it acts for.');
const storeId = identifier('The store that its tokens are good for, where it is one alone.');

const callbackError = wordOf(['Rfc6749', 'HttpCode'], {
  default: 'Rfc6749',
  description:
    'The value of `error` in the callback of a failed sign-in: an error code of RFC 6749, or the HTTP error code.',
});

const accessTokenSeconds = Type.Integer({
  minimum: 60,
  maximum: 86_400,
  description: 'How long its access tokens live; left out: 300 for users, 3600 for itself.',
});

const accessTokenAlgorithm = wordOf(['ES256', 'RS256'], {
  description:
    'With which its access tokens are signed; left out: RS256 for users, ES256 for itself and for devices.',
});

const accessTokenType = wordOf(['JWT', 'at+jwt'], {
  default: 'JWT',
  description: 'The field `typ` in the header of its access tokens: `at+jwt` is that of RFC 9068.',
});

const status = wordOf(['Enabled', 'Disabled'], {
  default: 'Enabled',
  description: 'A disabled one gets no token, and those it has are refused within a minute.',
});

const applicationStatus = wordOf(['Enabled', 'Disabled', 'PendingApproval'], {
  default: 'Enabled',
  description:
    '`Disabled` and `PendingApproval` get no token, and the tokens of a disabled application are refused within ' +
    'a minute. `PendingApproval` is set by the platform and ended by an approval.',
});

const lastUsedAt = {
  ...Timestamp,
  description:
    'When it last got a token or came with one, about to the minute; left out where it never did.',
};

const changeable = {
  name: shortText(100, 'The name that people know it by.'),
  description: Type.Optional(shortText(500, 'The purpose of the application.')),
  type: Type.Optional(type),
  securityFlows: Type.Optional(securityFlows),
  redirectUris: Type.Optional(redirectUris),
  webOrigins: Type.Optional(webOrigins),
  services: Type.Optional(services),
  roles: Type.Optional(roles),
  callbackError: Type.Optional(callbackError),
  accessTokenSeconds: Type.Optional(accessTokenSeconds),
  accessTokenAlgorithm: Type.Optional(accessTokenAlgorithm),
  accessTokenType: Type.Optional(accessTokenType),
};

/**
 * The body that registers an application. The default of `entityId` is the entity of the caller.
 *
 * @example
 * const body: ApplicationInput = { name: 'Till 7', roles: ['PointOfSaleTerminal'] };
 */
export const ApplicationInput = closed(
  {
    ...changeable,
    status: Type.Optional(status),
    clientId: Type.Optional(clientId),
    clientType: Type.Optional(clientType),
    entityId: Type.Optional(entityId),
    storeId: Type.Optional(storeId),
  },
  'An application as it is registered.',
);
export type ApplicationInput = Static<typeof ApplicationInput>;

/**
 * The body that replaces an application; missing members take their defaults.
 *
 * @example
 * const body = { ...application, status: 'Disabled' };
 */
export const ApplicationReplacement = replacement(
  { ...changeable, status: Type.Optional(applicationStatus) },
  {
    clientId,
    userDomainId,
    clientType,
    entityId,
    storeId,
    secretChangedAt: Timestamp,
    lastUsedAt,
  },
  'An application as it is replaced.',
);
export type ApplicationReplacement = Static<typeof ApplicationReplacement>;

const facts = {
  clientId,
  userDomainId,
  organizationId: identifier('The organisation.'),
  name: changeable.name,
  description: changeable.description,
  type,
  clientType,
  securityFlows,
  redirectUris,
  webOrigins,
  services,
  roles,
  entityId,
  storeId: Type.Optional(storeId),
  callbackError,
  accessTokenSeconds: changeable.accessTokenSeconds,
  accessTokenAlgorithm: changeable.accessTokenAlgorithm,
  accessTokenType,
  status: applicationStatus,
  secretChangedAt: Type.Optional(Timestamp),
  lastUsedAt: Type.Optional(lastUsedAt),
  createdAt: Timestamp,
  updatedAt: Timestamp,
};

/**
 * An application, as the API returns it, without its secret.
 *
 * @example
 * const application = (await response.json()) as Application;
 */
export const Application = closed(facts, 'An application of the user domain.');
export type Application = Static<typeof Application>;

/**
 * A new application; a public one has no secret.
 *
 * @example
 * const { clientId, clientSecret } = (await response.json()) as RegisteredApplication;
 */
export const RegisteredApplication = closed(
  { ...facts, clientSecret: Type.Optional(clientSecret) },
  'An application that was registered a moment ago.',
);
export type RegisteredApplication = Static<typeof RegisteredApplication>;

/**
 * A renewed secret; the previous one is no longer valid.
 *
 * @example
 * const { clientSecret } = (await response.json()) as RenewedSecret;
 */
export const RenewedSecret = closed({ clientId, clientSecret }, 'A renewed client secret.');
export type RenewedSecret = Static<typeof RenewedSecret>;

/**
 * The filters of the list of applications, in addition to `limit` and `cursor`.
 *
 * @example
 * Type.Object({ ...pageQuery, ...applicationFilters });
 */
export const applicationFilters = {
  name: commonFilters.name,
  status: Type.Optional(wordOf(['Enabled', 'Disabled', 'PendingApproval'])),
  type: Type.Optional(wordOf(['Application', 'CloudApiApplication'])),
  entityId: Type.Optional(entityId),
};
