// What the OpenAPI document tells of the token endpoint, which the authorization library answers.
import { Type } from 'typebox';
import type { RouteFacts } from '../../../http/index.ts';
import { scopes } from '../scopes.ts';

export const optionalText = (description: string) => Type.Optional(Type.String({ description }));

const TokenRequest = Type.Object({
  grant_type: Type.Enum(['client_credentials', 'authorization_code', 'refresh_token', 'password'], {
    description: 'One of the flows that the application was registered with.',
  }),
  client_id: optionalText('The application. It may come by HTTP Basic, with its secret.'),
  client_secret: optionalText('Its secret. An application without one sends none.'),
  scope: optionalText(`Some of ${scopes.join(', ')}, with blanks between.`),
  code: optionalText(
    'Of authorization_code: the code of the callback, good once and for a minute.',
  ),
  redirect_uri: optionalText('Of authorization_code: the address that the code came to.'),
  code_verifier: optionalText('Of authorization_code: what the code_challenge was made of.'),
  refresh_token: optionalText('Of refresh_token: the one of the last answer, good once.'),
  username: optionalText('Of password.'),
  password: optionalText('Of password.'),
  totp: optionalText('Of password: the one-time password of now, of users who have one.'),
});

export const TokenResponseSchema = Type.Object(
  {
    access_token: Type.String({ description: 'A JWT, for `Authorization: Bearer`.' }),
    token_type: Type.Enum(['Bearer']),
    expires_in: Type.Integer({ description: 'Seconds.' }),
    scope: optionalText('What was granted of the scope, with blanks between.'),
    refresh_token: optionalText('Not with client_credentials.'),
    refresh_expires_in: Type.Integer({
      description: 'Seconds that the refresh token is good for; 0 where there is none.',
    }),
    id_token: optionalText('Where openid was asked for, by a person or a device.'),
    'not-before-policy': Type.Integer({ description: 'A time, as Keycloak tells it: always 0.' }),
    session_state: optionalText(
      'The sign-in that the tokens belong to. Not with client_credentials.',
    ),
  },
  { description: 'The tokens.' },
);

export function errorResponse(description: string) {
  return Type.Object(
    {
      error: Type.String({ description: 'The word of RFC 6749.' }),
      error_description: Type.Optional(Type.String()),
    },
    { description },
  );
}

/** The address stands where the endpoint is mounted. */
export type EndpointDescription = Omit<RouteFacts, 'url'>;

export const realmParams = Type.Object({
  realm: Type.String({
    description: 'The user domain, which the specification calls userDomainId.',
  }),
});

export const tokenEndpoint: EndpointDescription = {
  method: 'POST',
  operationId: 'getToken',
  summary: 'Get a token',
  description:
    'The token endpoint of RFC 6749, for applications and people of one user domain. It reads a ' +
    'form, not JSON. `/auth/realms/{realm}/protocol/openid-connect/token` is the same, and ' +
    '`/auth/realms/{realm}/.well-known/openid-configuration` names all endpoints of the realm.',
  tags: ['Sign-in'],
  permission: 'public',
  params: realmParams,
  body: TokenRequest,
  readsForm: true,
  examples: {
    'An application for itself': {
      grant_type: 'client_credentials',
      client_id: 'till-7',
      client_secret: 'the secret that it was registered with',
    },
    'A person in a browser': {
      grant_type: 'authorization_code',
      client_id: 'back-office',
      client_secret: 'the secret that it was registered with',
      code: 'the code of the callback',
      redirect_uri: 'https://office.example/callback',
      code_verifier: 'what the code_challenge was made of',
    },
    'The next tokens': {
      grant_type: 'refresh_token',
      client_id: 'back-office',
      client_secret: 'the secret that it was registered with',
      refresh_token: 'the one of the last answer',
    },
  },
  response: {
    200: TokenResponseSchema,
    400: errorResponse(
      '`invalid_request`, `invalid_grant`, `invalid_scope`, `unauthorized_client`, `unsupported_grant_type`.',
    ),
    401: errorResponse('`invalid_client`: unknown, disabled, or another secret.'),
    404: errorResponse('`invalid_request`: no such user domain.'),
    429: errorResponse('`temporarily_unavailable`: wait as long as `Retry-After` says.'),
  },
  hasOwnErrors: true,
  errors: [],
};
