// Builds the OpenAPI 3.1 document from the declared routes and their validation schemas.
import { defined, Problem } from '@switchyard/contract';
import type { TSchema } from 'typebox';
import type { Access } from '../authentication/authenticate.ts';
import { deprecationNotice } from '../routes/deprecation.ts';
import type { RouteDeclaration } from '../routes/route-declaration.ts';
import { createSchemaNames, type JsonObject, type SchemaNames } from './named-schemas.ts';
import { operationResponses } from './operation-responses.ts';
import { exampleOf } from './schema-examples.ts';

export type OpenApiOptions = {
  readonly title: string;
  readonly version: string;
  readonly description: string;
  readonly baseUrl: string;
  readonly authUrl: string;
  /** The base URL of the listener for devices; left out when it does not exist. */
  readonly deviceAuthUrl?: string | undefined;
  /** The user domain in the token URL; left out, the URL has the placeholder {realm}. */
  readonly exampleUserDomain?: string | undefined;
  /** The descriptions of the tags. */
  readonly tagDescriptions: Readonly<Record<string, string>>;
};

export function buildOpenApiDocument(
  options: OpenApiOptions,
  routes: readonly RouteDeclaration[],
): JsonObject {
  const operations = routes.filter(({ isHidden }) => isHidden !== true);
  const names = createSchemaNames();
  names.reference(Problem);
  const paths: Record<string, JsonObject> = {};
  for (const operation of operations) {
    const path = operation.url.replace(/:(\w+)/g, '{$1}');
    paths[path] = {
      ...paths[path],
      [operation.method.toLowerCase()]: {
        ...operationObject(operation, names),
        ...serversOf(operation, options),
      },
    };
  }
  assertUniqueOperationIds(operations);
  const { schemas, responses } = names.components();
  return {
    openapi: '3.1.1',
    info: {
      title: options.title,
      version: options.version,
      description: options.description,
      contact: { name: options.title, url: `${options.baseUrl}/docs` },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: options.baseUrl }],
    externalDocs: { url: `${options.baseUrl}/docs/errors`, description: 'The error codes.' },
    security: [{ bearer: [] }],
    tags: tagObjects(operations, options.tagDescriptions),
    paths,
    components: {
      schemas,
      responses,
      headers: usedHeaders([paths, responses]),
      parameters,
      securitySchemes: securitySchemes(options),
    },
  };
}

/** A component without a reference is a finding of a linter. */
function usedHeaders(parts: unknown): JsonObject {
  const text = JSON.stringify(parts);
  const used = Object.entries(headers).filter(([name]) =>
    text.includes(`"#/components/headers/${name}"`),
  );
  return Object.fromEntries(used);
}

function assertUniqueOperationIds(operations: readonly RouteDeclaration[]): void {
  const knownIds = new Set<string>();
  for (const { operationId, method, url } of operations) {
    if (knownIds.has(operationId))
      throw new TypeError(
        `${method} ${url} has the same operation id as another route: ${operationId}`,
      );
    knownIds.add(operationId);
  }
}

function tagObjects(operations: readonly RouteDeclaration[], descriptions: Record<string, string>) {
  const used = new Set(operations.flatMap(({ tags }) => tags));
  return [...used].map((name) => ({
    name,
    ...defined({ description: descriptions[name] }),
  }));
}

function operationObject(facts: RouteDeclaration, names: SchemaNames): JsonObject {
  const { operationId, summary, tags, permission, deprecated } = facts;
  const notice = deprecated && deprecationNotice(deprecated);
  return {
    operationId,
    summary,
    ...defined({ deprecated: deprecated === undefined ? undefined : true }),
    description: [notice, facts.description, permissionText(permission)]
      .filter(Boolean)
      .join('\n\n'),
    tags,
    'x-permission': permission,
    security: securityOf(permission),
    parameters: [
      ...parameterObjects('path', facts.params, facts.url, names),
      ...parameterObjects('query', facts.query, facts.url, names),
      ...Object.entries(facts.headers ?? {}).map(headerParameter),
      { $ref: '#/components/parameters/RequestId' },
    ],
    ...bodyObject(facts, names),
    responses: operationResponses(facts, names),
  };
}

function serversOf(
  { isOnDeviceListener: onDevices }: RouteDeclaration,
  { deviceAuthUrl }: OpenApiOptions,
): JsonObject {
  if (onDevices !== true || deviceAuthUrl === undefined) return {};
  return { servers: [{ url: deviceAuthUrl }] };
}

function securityOf(permission: Access): JsonObject[] {
  if (permission === 'public') return [];
  if (permission === 'certificate') return [{ mutualTls: [] }];
  return [{ bearer: [] }, { oauth2: [] }];
}

function permissionText(permission: Access): string {
  if (permission === 'public') return 'Needs no token.';
  if (permission === 'certificate') return 'Needs the certificate of a device and no token.';
  if (permission === 'token') return 'Needs a valid token.';
  const all = [permission].flat().map((name) => `\`${name}\``);
  return `Needs ${all.length === 1 ? 'the permission' : 'one of the permissions'} ${all.join(', ')}.`;
}

type ObjectSchema = { properties?: JsonObject; required?: readonly string[] };

/** A path parameter without a schema is a string. */
function parameterObjects(
  location: 'path' | 'query',
  schema: TSchema | undefined,
  url: string,
  names: SchemaNames,
): JsonObject[] {
  const { properties = {}, required = [] }: ObjectSchema = schema ?? {};
  const inPath = [...url.matchAll(/:(\w+)/g)].map(([, name]) => String(name));
  const all = location === 'path' ? inPath : Object.keys(properties);
  return all.map((name) => {
    const member = properties[name] ?? { type: 'string' };
    const { description } = member as { description?: string };
    return {
      name,
      in: location,
      required: location === 'path' || required.includes(name),
      ...defined({ description }),
      schema: names.reference(member),
    };
  });
}

function headerParameter([name, description]: [string, string]): JsonObject {
  return { name, in: 'header', required: false, description, schema: { type: 'string' } };
}

function bodyObject(facts: RouteDeclaration, names: SchemaNames): JsonObject {
  const {
    body,
    bodyOptional,
    readsForm,
    consumes = [],
    streamedMediaTypes: streams,
    examples,
  } = facts;
  if (streams !== undefined) {
    const content = streams.map((type) => [type, streamedBody(examples?.[type])]);
    return { requestBody: { required: true, content: Object.fromEntries(content) } };
  }
  if (body === undefined || isEmpty(body)) return {};
  const media = { schema: names.reference(body), ...bodyExamples(facts) };
  const type = readsForm === true ? 'application/x-www-form-urlencoded' : 'application/json';
  const others = consumes.map((type) => [type, { schema: { type: 'string', format: 'binary' } }]);
  return {
    requestBody: {
      required: bodyOptional !== true,
      content: { [type]: media, ...Object.fromEntries(others) },
    },
  };
}

const streamedBody = (example: unknown): JsonObject => ({
  schema: { type: 'string' },
  ...defined({ example }),
});

function bodyExamples({ body, examples }: RouteDeclaration): JsonObject {
  if (examples !== undefined) {
    const namedExamples = Object.entries(examples).map(([name, value]) => [name, { value }]);
    return { examples: Object.fromEntries(namedExamples) };
  }
  const example = exampleOf(body);
  return defined({ example: example?.value });
}

function isEmpty(body: ObjectSchema): boolean {
  return body.properties !== undefined && Object.keys(body.properties).length === 0;
}

const headers = {
  RequestId: {
    description: 'The identifier of the request: the sent one or a new one.',
    schema: { type: 'string' },
  },
  Challenge: { description: 'The challenge of RFC 6750.', schema: { type: 'string' } },
  Allow: { description: 'The methods of the path.', schema: { type: 'string' } },
  RetryAfter: { description: 'Seconds to wait.', schema: { type: 'integer', minimum: 1 } },
  RateLimit: {
    description:
      'The state of the named policy: `r` remaining requests; the next window begins in `t` seconds.',
    schema: { type: 'string', examples: ['"payments";r=9999;t=1'] },
  },
  RateLimitPolicy: {
    description: 'The policy that counts the request: `q` requests in `w` seconds.',
    schema: { type: 'string', examples: ['"payments";q=10000;w=1'] },
  },
  IdempotentReplayed: {
    description:
      'Present when the response repeats the response of an earlier request with the same key.',
    schema: { type: 'string', const: 'true' },
  },
  ETag: {
    description:
      'The version of the resource. Send it as If-Match to change only this version, or as If-None-Match to get 304 for an unchanged resource.',
    schema: { type: 'string', examples: ['"3"'] },
  },
  ContentDisposition: {
    description: 'The file name of the content.',
    schema: { type: 'string', examples: ['attachment; filename="transactions.csv"'] },
  },
  ContentRange: {
    description: 'The range of the bytes and the total size.',
    schema: { type: 'string', examples: ['bytes 100-199/4711'] },
  },
  Deprecation: {
    description: 'The date since which the operation is deprecated (RFC 9745).',
    schema: { type: 'string', examples: ['@1767225600'] },
  },
  Sunset: {
    description: 'The date from which the operation may be removed (RFC 8594).',
    schema: { type: 'string', examples: ['Sat, 01 Jan 2028 00:00:00 GMT'] },
  },
  Successor: {
    description: 'The operation to use instead (RFC 5829).',
    schema: { type: 'string', examples: ['</payment/v2/things>; rel="successor-version"'] },
  },
  Location: {
    description: 'The path of the created resource or of the running operation.',
    schema: { type: 'string', format: 'uri-reference' },
  },
};

const parameters = {
  RequestId: {
    name: 'X-Request-Id',
    in: 'header',
    required: false,
    description: 'An identifier of the request. The response and the log contain it.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9._:-]{1,128}$' },
  },
};

/** OpenAPI has no placeholders in a token URL: without a user domain the URL is an illustration. */
function securitySchemes({ authUrl, exampleUserDomain = '{realm}' }: OpenApiOptions): JsonObject {
  const tokenUrl = `${authUrl}/oauth2/v1/${encodeURIComponent(exampleUserDomain)}/token`;
  return {
    bearer: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description: 'An access token of a user, an application or a device.',
    },
    mutualTls: {
      type: 'mutualTLS',
      description: 'The client certificate of a device in the TLS handshake.',
    },
    oauth2: {
      type: 'oauth2',
      description:
        'Client credentials of an application. Replace `%7Brealm%7D` in the URL with the user domain.',
      flows: { clientCredentials: { tokenUrl, scopes: {} } },
    },
  };
}
