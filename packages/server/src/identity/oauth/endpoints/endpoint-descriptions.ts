// What the OpenAPI document tells of the other endpoints of a user domain, and of the one for devices.
import { type TProperties, Type } from 'typebox';
import type { RouteFacts } from '../../../http/index.ts';
import { defaultScope, scopes } from '../scopes.ts';
import {
  type EndpointDescription,
  errorResponse,
  optionalText,
  realmParams,
  TokenResponseSchema,
  tokenEndpoint,
} from './token-endpoint-description.ts';

const common = {
  tags: ['Sign-in'],
  params: realmParams,
  hasOwnErrors: true,
  errors: [],
} as const satisfies Partial<RouteFacts>;

const tooManyRequests = errorResponse(
  '`temporarily_unavailable`: wait as long as `Retry-After` says.',
);
const unknownRealm = errorResponse('`invalid_request`: no such user domain.');
const invalidClient = errorResponse('`invalid_client`: unknown, disabled, or another secret.');
const invalidRequest = errorResponse(
  '`invalid_request`: a parameter is missing, twice or not as it should be.',
);

const pageNote = (why: string) => `A page for the person who came: ${why}.`;

/** The same once more under Keycloak's spelling, with an operationId of its own. */
const inRealm = (described: EndpointDescription): EndpointDescription => ({
  ...described,
  operationId: `${described.operationId}InRealm`,
  description: 'The same as under /oauth2/v1, in the spelling of Keycloak.',
});

const authorize: EndpointDescription = {
  ...common,
  method: 'POST',
  operationId: 'authorize',
  summary: 'Send a person to sign in',
  description:
    'The authorization endpoint of RFC 6749, for the browser of a person. The parameters stand in the address; by POST some may come in a form instead. An application without a secret needs PKCE. On failure or denial the callback gets `error`, `error_code` (the HTTP error code) and `state`; an unknown `client_id` or `redirect_uri` is never sent on.',
  permission: 'public',
  query: Type.Object({
    client_id: Type.String({ description: 'The application.' }),
    client_secret: optionalText('Its secret, where it has one; read here and in no other address.'),
    redirect_uri: Type.String({
      description: 'Where the person comes back to: one that is registered, letter by letter.',
    }),
    response_type: Type.Enum(['code'], { description: 'A code for the token endpoint.' }),
    scope: optionalText(
      `Some of ${scopes.join(', ')}, with blanks between; left out: ${defaultScope}.`,
    ),
    state: optionalText(
      'Comes back as it was; the application compares it against forged callbacks.',
    ),
    nonce: optionalText('Comes back in the ID token.'),
    code_challenge: optionalText('Of PKCE (RFC 7636).'),
    code_challenge_method: Type.Optional(Type.Enum(['S256'])),
  }),
  response: { 303: null, 400: null, 401: null, 404: null, 429: null },
  notes: {
    303: 'Onward by `Location`: to the sign-in, or to redirect_uri with code and state, or with error, error_code and state.',
    400: pageNote('the application or its redirect_uri is not known'),
    401: pageNote('the secret is another one'),
    404: pageNote('there is no such user domain'),
    429: pageNote('there were too many requests'),
  },
};
const authorizeByGet: EndpointDescription = {
  ...authorize,
  method: 'GET',
  operationId: 'authorizeByGet',
};

export const authorizationEndpoints = [authorize, authorizeByGet];
export const authorizationInRealm = authorizationEndpoints.map(inRealm);
export const tokenInRealm = inRealm(tokenEndpoint);

/** A client proves itself in the form or by HTTP Basic. */
const withClientCredentials = (members: TProperties) =>
  Type.Object({
    ...members,
    client_id: optionalText('The application. It may come by HTTP Basic, with its secret.'),
    client_secret: optionalText('Its secret.'),
  });

const tokenForm = withClientCredentials({
  token: Type.String({ description: 'An access token or a refresh token.' }),
  token_type_hint: optionalText('access_token or refresh_token; not needed.'),
});

export const introspectionEndpoint: EndpointDescription = {
  ...common,
  method: 'POST',
  operationId: 'introspectToken',
  summary: 'Look into a token',
  description:
    'RFC 7662, for applications with a secret: of their own tokens and those meant for them; whoever administers the applications of the organisation looks into all.',
  permission: 'public',
  body: tokenForm,
  readsForm: true,
  response: {
    200: Type.Object(
      {
        active: Type.Boolean({
          description: 'Whether it is good; without any other member if not.',
        }),
        client_id: optionalText('Whose refresh token it is.'),
        token_type: optionalText('Bearer, of an access token.'),
        scope: optionalText('With blanks between.'),
        sub: optionalText('Whom it speaks of.'),
        exp: Type.Optional(Type.Integer({ description: 'When it ends, seconds since 1970.' })),
      },
      { description: 'What the token says: its other claims stand beside these.' },
    ),
    400: invalidRequest,
    401: invalidClient,
    404: unknownRealm,
    429: tooManyRequests,
  },
};

export const revocationEndpoint: EndpointDescription = {
  ...common,
  method: 'POST',
  operationId: 'revokeToken',
  summary: 'Revoke a token',
  description:
    'RFC 7009: a refresh token goes with its whole family. What is dead already counts as revoked.',
  permission: 'public',
  body: tokenForm,
  readsForm: true,
  response: {
    200: null,
    400: errorResponse('`unauthorized_client`: the token of another application.'),
    401: invalidClient,
    404: unknownRealm,
    429: tooManyRequests,
  },
  notes: { 200: 'It is revoked.' },
};

const userInfo: EndpointDescription = {
  ...common,
  method: 'GET',
  operationId: 'readUserInfo',
  summary: 'Read who has signed in',
  description:
    'The user of the access token (OpenID Connect Core, 5.3), as far as its scope tells. By POST the token may come as access_token in a form.',
  permission: 'token',
  response: {
    200: Type.Object(
      {
        sub: Type.String({ description: 'The user.' }),
        name: optionalText('With profile.'),
        preferred_username: optionalText('With profile.'),
        locale: optionalText('With profile.'),
        zoneinfo: optionalText('With profile.'),
        datetimeformat: optionalText('With profile.'),
        email: optionalText('With email.'),
        phone_number: optionalText('With phone.'),
      },
      { description: 'The claims of the user.' },
    ),
    400: errorResponse('`invalid_request`: the token comes by two ways.'),
    401: errorResponse('`invalid_token`; `WWW-Authenticate` says the same.'),
    403: errorResponse('`insufficient_scope`: the token has no scope openid.'),
    404: unknownRealm,
    429: tooManyRequests,
  },
};

export const userInfoEndpoints: readonly EndpointDescription[] = [
  userInfo,
  { ...userInfo, method: 'POST', operationId: 'readUserInfoByForm' },
];

const logoutParams = {
  id_token_hint: optionalText('The ID token of the sign-in: whoever sends it is not asked again.'),
  client_id: optionalText('The application.'),
  post_logout_redirect_uri: optionalText('Where the person goes then: one that is registered.'),
  state: optionalText('Comes back as it was.'),
};
const signOut: EndpointDescription = {
  ...common,
  method: 'GET',
  operationId: 'signOut',
  summary: 'Send a person to sign out',
  description: 'RP-initiated sign-out of OpenID Connect, for the browser of a person.',
  permission: 'public',
  query: Type.Object(logoutParams),
  response: { 200: null, 303: null, 400: null, 404: null, 429: tooManyRequests },
  notes: {
    200: pageNote('asked whether to sign out, or told that it is done'),
    303: 'Onward by `Location`, to post_logout_redirect_uri with state.',
    400: pageNote('what was asked for is not allowed'),
    404: pageNote('there is no such user domain'),
  },
};

export const logoutEndpoints: readonly EndpointDescription[] = [
  signOut,
  {
    ...signOut,
    method: 'POST',
    operationId: 'signOutByForm',
    summary: 'Sign out',
    description:
      'As by GET; or, of an application with the refresh_token of the sign-in, without a browser, as clients of Keycloak do.',
    body: withClientCredentials({
      refresh_token: optionalText('Ends the sign-in that it belongs to.'),
      ...logoutParams,
    }),
    readsForm: true,
    response: { ...signOut.response, 204: null, 401: invalidClient },
    notes: { ...signOut.notes, 204: 'The sign-in of the refresh token has ended.' },
  },
];

export const customTokenEndpoint: EndpointDescription = {
  ...common,
  method: 'POST',
  operationId: 'createCustomToken',
  summary: 'Get a device token without a device',
  description:
    'In the demo environment alone: a user of a merchant, by the token of his sign-in, gets the token of one of the merchant’s devices.',
  permission: 'token',
  body: Type.Object({
    device_id: Type.String({ description: 'A device of the merchant.' }),
    device_model: optionalText('At most 64 characters.'),
    method: optionalText('A list of api and device_flow; left out: api.'),
  }),
  readsForm: true,
  response: {
    200: TokenResponseSchema,
    400: errorResponse(
      '`invalid_request`; `invalid_grant`: the merchant has no such device in use.',
    ),
    401: errorResponse('`invalid_token`: no token of a sign-in in this user domain.'),
    403: errorResponse('`insufficient_scope`: no user of a merchant.'),
    404: unknownRealm,
    429: tooManyRequests,
  },
};

export const deviceTokenEndpoint: EndpointDescription = {
  method: 'POST',
  operationId: 'getDeviceToken',
  summary: 'Get the token of a device',
  description:
    'On the listener for devices, which asks for their certificates. A machine proves itself with the credentials that were looked up; with a person, the password grant has the client_id of the device application. The token is bound to the certificate (RFC 8705).',
  tags: ['Device security'],
  permission: 'certificate',
  onDevices: true,
  body: Type.Object({
    grant_type: Type.Enum(['client_credentials', 'password', 'refresh_token'], {
      description: 'A machine for itself, a person at it, or the next token of that person.',
    }),
    client_id: optionalText('Of the credentials, or of the device application.'),
    client_secret: optionalText('Of client_credentials: the secret of the last look-up.'),
    scope: optionalText(`Some of ${scopes.join(', ')}, with blanks between.`),
    username: optionalText('Of password.'),
    password: optionalText('Of password.'),
    totp: optionalText('Of password: the one-time password of now, of users who have one.'),
    refresh_token: optionalText('Of refresh_token: the one of the last answer, good once.'),
  }),
  readsForm: true,
  response: {
    200: TokenResponseSchema,
    400: errorResponse(
      '`invalid_request`, `invalid_grant`, `invalid_scope`, `unsupported_grant_type`; `unauthorized_client`: the device or the application may not.',
    ),
    401: errorResponse('`invalid_client`: the certificate or the credentials are not good.'),
    429: tooManyRequests,
  },
  hasOwnErrors: true,
  errors: [],
};
