// OpenAPI description of the token endpoint, which oidc-provider serves.
import { Type } from 'typebox';
import type { RouteDeclaration } from '../../../http/index.ts';
import { scopes } from '../scopes.ts';

export const optionalText = (description: string) => Type.Optional(Type.String({ description }));

const TokenRequest = Type.Object({
  grant_type: Type.Enum(['client_credentials', 'authorization_code', 'refresh_token', 'password'], {
    description: 'A grant type of a security flow of the application.',
  }),
  client_id: optionalText('The client id; may be sent by HTTP Basic, with the secret.'),
  client_secret: optionalText('The client secret; not for public applications.'),
  scope: optionalText(`Scopes of ${scopes.join(', ')}, separated by spaces.`),
  code: optionalText('For authorization_code: the code of the callback; valid once, for a minute.'),
  redirect_uri: optionalText(
    'For authorization_code: the redirect URI of the authorization request.',
  ),
  code_verifier: optionalText('For authorization_code: the verifier of the code_challenge.'),
  refresh_token: optionalText(
    'For refresh_token: the refresh token of the latest response; valid once.',
  ),
  username: optionalText('For password.'),
  password: optionalText('For password.'),
  totp: optionalText(
    'For password: the current one-time password, if the user has a second factor.',
  ),
});

export const TokenResponseSchema = Type.Object(
  {
    access_token: Type.String({ description: 'A JWT, for `Authorization: Bearer`.' }),
    token_type: Type.Enum(['Bearer']),
    expires_in: Type.Integer({ description: 'Seconds.' }),
    scope: optionalText('The granted scopes, separated by spaces.'),
    refresh_token: optionalText('Not with client_credentials.'),
    refresh_expires_in: Type.Integer({
      description: 'Lifetime of the refresh token in seconds; 0 without one.',
    }),
    id_token: optionalText('With scope openid, for a user or a device.'),
    'not-before-policy': Type.Integer({ description: 'As in Keycloak; always 0.' }),
    session_state: optionalText('The sign-in of the tokens. Not with client_credentials.'),
  },
  { description: 'The tokens.' },
);

export function errorResponse(description: string) {
  return Type.Object(
    {
      error: Type.String({ description: 'The error code of RFC 6749.' }),
      error_description: Type.Optional(Type.String()),
    },
    { description },
  );
}

/** Without the URL, which the registration adds. */
export type EndpointDescription = Omit<RouteDeclaration, 'url'>;

export const realmParams = Type.Object({
  realm: Type.String({
    description: 'The user domain, which the specification calls userDomainId.',
  }),
});

export const tokenEndpoint: EndpointDescription = {
  method: 'POST',
  operationId: 'createToken',
  summary: 'Create an access token',
  description:
    'The token endpoint of RFC 6749, for applications and users of one user domain. It reads a ' +
    'form, not JSON. `/auth/realms/{realm}/protocol/openid-connect/token` is the same, and ' +
    '`/auth/realms/{realm}/.well-known/openid-configuration` names all endpoints of the realm.',
  tags: ['Sign-in'],
  permission: 'public',
  params: realmParams,
  body: TokenRequest,
  readsForm: true,
  examples: {
    'An application without a user': {
      grant_type: 'client_credentials',
      client_id: 'till-7',
      client_secret: 'the client secret',
    },
    'A user in a browser': {
      grant_type: 'authorization_code',
      client_id: 'back-office',
      client_secret: 'the client secret',
      code: 'the code of the callback',
      redirect_uri: 'https://office.example/callback',
      code_verifier: 'the PKCE code verifier',
    },
    'A refresh': {
      grant_type: 'refresh_token',
      client_id: 'back-office',
      client_secret: 'the client secret',
      refresh_token: 'the refresh token of the latest response',
    },
  },
  response: {
    200: TokenResponseSchema,
    400: errorResponse(
      '`invalid_request`, `invalid_grant`, `invalid_scope`, `unauthorized_client`, `unsupported_grant_type`.',
    ),
    401: errorResponse(
      '`invalid_client`: the client is unknown or disabled, or the secret is wrong.',
    ),
    404: errorResponse('`invalid_request`: the user domain does not exist.'),
    429: errorResponse('`temporarily_unavailable`: retry after the seconds in `Retry-After`.'),
  },
  hasOwnErrors: true,
  errors: [],
};
