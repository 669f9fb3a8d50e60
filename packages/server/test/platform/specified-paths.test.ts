// The published document contains each path of the specification's endpoint tables, with its
// parameters and responses.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { OpenApiDocument } from '../../src/http/openapi/openapi-document.fixture.ts';

const file = new URL('../../../../docs/reference/openapi.json', import.meta.url);
const document: OpenApiDocument = JSON.parse(await readFile(file, 'utf8'));

const realm = '/auth/realms/{realm}/protocol/openid-connect';
const users = '/user-management/v2/user-domains/{userDomainId}/users';
const payments = '/payment/v1/transactions';

/** The tables of "Endpoints" in their order; the AsyncAPI document contains the WebSockets. */
const specified = [
  'GET /resources/v1/countries',
  'POST /oauth2/v1/{userDomainId}/auth',
  'POST /oauth2/v1/{userDomainId}/token',
  `GET ${realm}/auth`,
  `POST ${realm}/token`,
  'POST /auth/realms/{realm}/custom-token',
  'GET /oauth2-mtls/v1/merchants-credentials',
  'POST /oauth2-mtls/v1/token',
  'POST /qrcode-payment/v1/transactions',
  `GET ${users}`,
  `POST ${users}`,
  `PUT ${users}/{userId}`,
  `GET ${users}/{userId}`,
  `PUT ${users}/{userId}/status`,
  `POST ${users}/{userId}/reset-password`,
  `POST ${payments}/process`,
  `POST ${payments}/{transaction_id}/capture`,
  `POST ${payments}/captureall`,
  `POST ${payments}/{transaction_id}/refund`,
  `POST ${payments}/{transactionId}/cancel`,
  `GET ${payments}/{transactionId}/allowedoperations`,
  `POST ${payments}/{transactionId}/refundbyweb`,
  `GET ${payments}/{transactionId}`,
  `GET ${payments}/technical/isAvailable`,
];

/** Further endpoints of the issuer that OpenID Connect clients call. */
const ofTheIssuer = [
  `POST ${realm}/token/introspect`,
  `POST ${realm}/revoke`,
  `GET ${realm}/userinfo`,
  `POST ${realm}/userinfo`,
  `GET ${realm}/logout`,
  `POST ${realm}/logout`,
];

type Operation = OpenApiDocument['paths'][string][string];

/** Removes the names of path parameters, because they differ. */
const withoutParameterNames = (path: string) => path.replace(/\{\w+\}/g, '{}');

const operations: ReadonlyMap<string, Operation> = new Map(
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, operation]) =>
        [`${method.toUpperCase()} ${withoutParameterNames(path)}`, operation] as const,
    ),
  ),
);

const operation = (name: string) => {
  const documentedOperation = operations.get(withoutParameterNames(name));
  assert.ok(documentedOperation, `${name} is not in the document`);
  return documentedOperation;
};

type Schema = { properties?: Record<string, unknown>; required?: string[] };
const form = 'application/x-www-form-urlencoded';

// Spec: LIST-15
test('each path of the specification is documented', () => {
  for (const name of [...specified, ...ofTheIssuer]) assert.ok(operation(name).summary, name);
});

// Spec: LIST-15
test('each token endpoint accepts and returns the members of the specification', () => {
  const acceptedFields: Record<string, string[]> = {
    'POST /oauth2/v1/{}/token': [
      'client_id',
      'client_secret',
      'code',
      'redirect_uri',
      'refresh_token',
      'scope',
      'username',
      'password',
      'grant_type',
    ],
    'POST /oauth2-mtls/v1/token': [
      'client_id',
      'client_secret',
      'grant_type',
      'username',
      'password',
      'scope',
    ],
    'POST /auth/realms/{}/custom-token': ['device_model', 'device_id', 'method'],
  };
  const responseFields = [
    'access_token',
    'expires_in',
    'refresh_expires_in',
    'refresh_token',
    'token_type',
    'id_token',
    'not-before-policy',
    'session_state',
    'scope',
  ];
  for (const [name, members] of Object.entries(acceptedFields)) {
    const { requestBody, responses } = operation(name);
    const formSchema = requestBody?.content[form]?.schema as Schema;
    for (const member of members)
      assert.ok(formSchema.properties?.[member], `${name} takes ${member}`);
    const json = responses['200']?.content?.['application/json'] as { schema: Schema };
    for (const member of responseFields) {
      assert.ok(json.schema.properties?.[member], `${name} gives ${member}`);
    }
  }
});

test('the authorization endpoint accepts the parameters of the specification, and redirects', () => {
  const { parameters, responses } = operation('POST /oauth2/v1/{}/auth');
  const inQuery = parameters.filter((each) => each.in === 'query').map(({ name }) => name);
  for (const name of ['client_id', 'client_secret', 'redirect_uri', 'scope', 'state']) {
    assert.ok(inQuery.includes(name), name);
  }
  assert.ok(inQuery.includes('response_type'));
  assert.ok(responses['303']);
});

test('devices get tokens at the listener for client certificates', () => {
  const { servers } = operation('POST /oauth2-mtls/v1/token') as { servers?: { url: string }[] };
  assert.deepEqual(servers, [{ url: 'https://localhost:9021' }]);
});

test('payments document their replay, and where to read their progress', () => {
  for (const verb of ['process', '{}/capture', '{}/refund', '{}/cancel', '{}/refundbyweb']) {
    const { responses } = operation(`POST ${payments}/${verb}`);
    const headerNames = (status: number) => Object.keys(responses[status]?.headers ?? {});
    const later = [
      'Idempotent-Replayed',
      'Location',
      'RateLimit',
      'RateLimit-Policy',
      'Retry-After',
    ];
    for (const name of later) assert.ok(headerNames(202).includes(name), `${verb} ${name}`);
    assert.ok(headerNames(200).includes('Idempotent-Replayed'), verb);
  }
  const schemas = document.components['schemas'] as Record<string, Schema>;
  const { properties = {} } = schemas['Problem'] ?? {};
  for (const name of ['maxAmount', 'merchantIds']) assert.ok(properties[name], name);
});
