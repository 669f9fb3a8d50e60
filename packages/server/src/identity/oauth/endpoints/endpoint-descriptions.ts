// OpenAPI descriptions of the OAuth endpoints except the token endpoint of a realm.
import { type TProperties, Type } from 'typebox';
import type { RouteDeclaration } from '../../../http/index.ts';
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
} as const satisfies Partial<RouteDeclaration>;

const tooManyRequests = errorResponse(
  '`temporarily_unavailable`: retry after the seconds in `Retry-After`.',
);
const unknownRealm = errorResponse('`invalid_request`: the user domain does not exist.');
const invalidClient = errorResponse(
  '`invalid_client`: the client is unknown or disabled, or the secret is wrong.',
);
const invalidRequest = errorResponse(
  '`invalid_request`: a parameter is missing, repeated or malformed.',
);

const pageNote = (reason: string) => `An HTML page for the user: ${reason}.`;

/** The same endpoint under the path of Keycloak, with its own operationId. */
const inRealm = (described: EndpointDescription): EndpointDescription => ({
  ...described,
  operationId: `${described.operationId}InRealm`,
  description: 'The same endpoint as under /oauth2/v1, with the path of Keycloak.',
});

const authorize: EndpointDescription = {
  ...common,
  method: 'POST',
  operationId: 'authorizeUser',
  summary: 'Authorize a user',
  description:
    'The authorization endpoint of RFC 6749, for the browser of a user. The parameters are in the URL; with POST they may be in a form. An application without a secret needs PKCE. After a failure or denial the callback gets `error`, `error_code` (the HTTP status) and `state`. With an unknown `client_id` or `redirect_uri` the server does not redirect.',
  permission: 'public',
  query: Type.Object({
    client_id: Type.String({ description: 'The application.' }),
    client_secret: optionalText(
      'Its client secret, if it has one. Only this endpoint accepts it in the URL.',
    ),
    redirect_uri: Type.String({
      description: 'The URI to which the browser returns; it must equal a registered one exactly.',
    }),
    response_type: Type.Enum(['code'], { description: 'The authorization code flow.' }),
    scope: optionalText(
      `Scopes of ${scopes.join(', ')}, separated by spaces; default: ${defaultScope}.`,
    ),
    state: optionalText(
      'Returned unchanged; the application compares it to detect forged callbacks.',
    ),
    nonce: optionalText('Returned in the ID token.'),
    code_challenge: optionalText('The PKCE code challenge (RFC 7636).'),
    code_challenge_method: Type.Optional(Type.Enum(['S256'])),
  }),
  response: { 303: null, 400: null, 401: null, 404: null, 429: null },
  statusDescriptions: {
    303: '`Location` leads to the sign-in page, or to redirect_uri with code and state, or with error, error_code and state.',
    400: pageNote('the application or its redirect_uri is unknown'),
    401: pageNote('the client secret is wrong'),
    404: pageNote('the user domain does not exist'),
    429: pageNote('too many requests'),
  },
};
const authorizeByGet: EndpointDescription = {
  ...authorize,
  method: 'GET',
  operationId: 'authorizeUserByGet',
};

export const authorizationEndpoints = [authorize, authorizeByGet];
export const authorizationEndpointsInRealm = authorizationEndpoints.map(inRealm);
export const tokenEndpointInRealm = inRealm(tokenEndpoint);

/** Adds the client credentials, which may come in the form or by HTTP Basic. */
const withClientCredentials = (members: TProperties) =>
  Type.Object({
    ...members,
    client_id: optionalText('The client id; may be sent by HTTP Basic, with the secret.'),
    client_secret: optionalText('The client secret.'),
  });

const tokenForm = withClientCredentials({
  token: Type.String({ description: 'An access token or a refresh token.' }),
  token_type_hint: optionalText('access_token or refresh_token; optional.'),
});

export const introspectionEndpoint: EndpointDescription = {
  ...common,
  method: 'POST',
  operationId: 'introspectToken',
  summary: 'Introspect a token',
  description:
    'RFC 7662, for applications with a secret: their own tokens, and tokens with them as audience. Applications with app.read for the organisation can introspect all tokens.',
  permission: 'public',
  body: tokenForm,
  readsForm: true,
  response: {
    200: Type.Object(
      {
        active: Type.Boolean({
          description: 'Whether the token is valid; if false, the response has no other field.',
        }),
        client_id: optionalText('The client of a refresh token.'),
        token_type: optionalText('Bearer, for an access token.'),
        scope: optionalText('Separated by spaces.'),
        sub: optionalText('The subject of the token.'),
        exp: Type.Optional(Type.Integer({ description: 'Expiry, seconds since 1970.' })),
      },
      { description: 'The claims of the token; other claims are included.' },
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
    'RFC 7009. Revoking a refresh token revokes its whole family. An expired token counts as revoked.',
  permission: 'public',
  body: tokenForm,
  readsForm: true,
  response: {
    200: null,
    400: errorResponse('`unauthorized_client`: the token belongs to another application.'),
    401: invalidClient,
    404: unknownRealm,
    429: tooManyRequests,
  },
  statusDescriptions: { 200: 'The token is revoked.' },
};

const userInfo: EndpointDescription = {
  ...common,
  method: 'GET',
  operationId: 'getUserInfo',
  summary: 'Get the claims of the signed-in user',
  description:
    'The claims of the user of the access token, by its scope (OpenID Connect Core, 5.3). With POST the token may be sent as access_token in a form.',
  permission: 'token',
  response: {
    200: Type.Object(
      {
        sub: Type.String({ description: 'The user.' }),
        name: optionalText('With scope profile.'),
        preferred_username: optionalText('With scope profile.'),
        locale: optionalText('With scope profile.'),
        zoneinfo: optionalText('With scope profile.'),
        datetimeformat: optionalText('With scope profile.'),
        email: optionalText('With scope email.'),
        phone_number: optionalText('With scope phone.'),
      },
      { description: 'The claims of the user.' },
    ),
    400: errorResponse('`invalid_request`: the token was sent twice.'),
    401: errorResponse('`invalid_token`, also in `WWW-Authenticate`.'),
    403: errorResponse('`insufficient_scope`: the token lacks the scope openid.'),
    404: unknownRealm,
    429: tooManyRequests,
  },
};

export const userInfoEndpoints: readonly EndpointDescription[] = [
  userInfo,
  { ...userInfo, method: 'POST', operationId: 'getUserInfoByPost' },
];

const logoutParams = {
  id_token_hint: optionalText(
    'The ID token of the sign-in; with it the server does not ask for confirmation.',
  ),
  client_id: optionalText('The application.'),
  post_logout_redirect_uri: optionalText(
    'The URI to which the browser goes afterwards; it must be registered.',
  ),
  state: optionalText('Returned unchanged.'),
};
const signOut: EndpointDescription = {
  ...common,
  method: 'GET',
  operationId: 'signOutUser',
  summary: 'Sign out a user',
  description: 'RP-Initiated Logout of OpenID Connect, for the browser of a user.',
  permission: 'public',
  query: Type.Object(logoutParams),
  response: { 200: null, 303: null, 400: null, 404: null, 429: tooManyRequests },
  statusDescriptions: {
    200: pageNote('asks for confirmation, or confirms the sign-out'),
    303: '`Location` leads to post_logout_redirect_uri with state.',
    400: pageNote('the request is not allowed'),
    404: pageNote('the user domain does not exist'),
  },
};

export const logoutEndpoints: readonly EndpointDescription[] = [
  signOut,
  {
    ...signOut,
    method: 'POST',
    operationId: 'signOutUserByPost',
    summary: 'Sign out a user',
    description:
      'The same as GET; or, without a browser, by an application that sends the refresh_token of the sign-in, as in Keycloak.',
    body: withClientCredentials({
      refresh_token: optionalText('The refresh token of the sign-in to end.'),
      ...logoutParams,
    }),
    readsForm: true,
    response: { ...signOut.response, 204: null, 401: invalidClient },
    statusDescriptions: {
      ...signOut.statusDescriptions,
      204: 'The sign-in of the refresh token has ended.',
    },
  },
];

export const demoDeviceTokenEndpoint: EndpointDescription = {
  ...common,
  method: 'POST',
  operationId: 'createCustomToken',
  summary: 'Create a device token without a device',
  description:
    'Only in the demo environment: with an access token of a merchant’s user, issues a token of one of the merchant’s devices.',
  permission: 'token',
  body: Type.Object({
    device_id: Type.String({ description: 'A device of the merchant.' }),
    device_model: optionalText('At most 64 characters.'),
    method: optionalText('A list of api and device_flow; default: api.'),
  }),
  readsForm: true,
  response: {
    200: TokenResponseSchema,
    400: errorResponse(
      '`invalid_request`; `invalid_grant`: the merchant has no active device of this name.',
    ),
    401: errorResponse('`invalid_token`: not an access token of a sign-in in this user domain.'),
    403: errorResponse('`insufficient_scope`: the user belongs to no merchant.'),
    404: unknownRealm,
    429: tooManyRequests,
  },
};

export const deviceTokenEndpoint: EndpointDescription = {
  method: 'POST',
  operationId: 'createDeviceToken',
  summary: 'Create a device token',
  description:
    'On the device listener, which requires client certificates. A device uses the credentials from merchants-credentials; with a user, the password grant uses the client_id of the device application. The token is bound to the certificate (RFC 8705).',
  tags: ['Device security'],
  permission: 'certificate',
  isOnDeviceListener: true,
  body: Type.Object({
    grant_type: Type.Enum(['client_credentials', 'password', 'refresh_token'], {
      description: 'The device itself, a user at it, or the next token of that user.',
    }),
    client_id: optionalText('The client id of the credentials, or of the device application.'),
    client_secret: optionalText('For client_credentials: the secret of the latest credentials.'),
    scope: optionalText(`Scopes of ${scopes.join(', ')}, separated by spaces.`),
    username: optionalText('For password.'),
    password: optionalText('For password.'),
    totp: optionalText(
      'For password: the current one-time password, if the user has a second factor.',
    ),
    refresh_token: optionalText(
      'For refresh_token: the refresh token of the latest response; valid once.',
    ),
  }),
  readsForm: true,
  response: {
    200: TokenResponseSchema,
    400: errorResponse(
      '`invalid_request`, `invalid_grant`, `invalid_scope`, `unsupported_grant_type`; `unauthorized_client`: the device or the application is not allowed.',
    ),
    401: errorResponse('`invalid_client`: the certificate or the credentials are not valid.'),
    429: tooManyRequests,
  },
  hasOwnErrors: true,
  errors: [],
};
