// The checks of every OpenAPI document of the platform.
import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { checkLintRules, type LintedDocument } from './document-checks.fixture.ts';
import type { JsonObject } from './named-schemas.ts';

type Operation = {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  parameters: { name: string; in: string; description?: string; $ref?: string }[];
  requestBody?: {
    content: Record<string, { schema: JsonObject; example?: unknown; examples?: JsonObject }>;
  };
  responses: Record<string, { $ref?: string; content?: JsonObject; headers?: JsonObject }>;
  security?: unknown[];
};

export type OpenApiDocument = {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, unknown>>;
  tags: { name: string; description?: string }[];
  servers: { url: string }[];
};

function everyPart(value: unknown): JsonObject[] {
  if (typeof value !== 'object' || value === null) return [];
  return [value as JsonObject, ...Object.values(value).flatMap(everyPart)];
}

function resolve(document: OpenApiDocument, pointer: string): unknown {
  return pointer
    .slice(2)
    .split('/')
    .reduce<unknown>((part, name) => (part as JsonObject | undefined)?.[name], document);
}

/** References resolve, and operations have a name, a description and an error response. */
export function checkDocument(document: OpenApiDocument): void {
  assert.match(document.openapi, /^3\.1\./);
  for (const { $ref } of everyPart(document)) {
    if ($ref !== undefined) assert.ok(resolve(document, String($ref)), String($ref));
  }
  checkLintRules(document as unknown as LintedDocument);
  const ids = new Set<string>();
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const name = `${method} ${path}`;
      assert.ok(!ids.has(operation.operationId), name);
      ids.add(operation.operationId);
      assert.ok(operation.summary.length > 0 && operation.description.length > 0, name);
      const statuses = Object.keys(operation.responses);
      assert.ok(
        // A redirect is not an error.
        statuses.some((status) => /^[23]/.test(status)),
        name,
      );
      assert.ok(
        statuses.some((status) => status.startsWith('4')),
        name,
      );
      for (const tag of operation.tags) {
        assert.ok(
          document.tags.some((declaredTag) => declaredTag.name === tag),
          name,
        );
      }
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, part]) => part);
      const described = operation.parameters.filter((parameter) => parameter.in === 'path');
      assert.deepEqual(
        described.map((parameter) => parameter.name),
        inPath,
        name,
      );
    }
  }
}

/** Operations of these five verbs have the method of their verb. */
const methodsByVerb: Readonly<Record<string, readonly string[]>> = {
  create: ['post'],
  get: ['get'],
  list: ['get'],
  update: ['put', 'patch'],
  delete: ['delete'],
};

/** What an operation can do besides; a new action gets its verb here. */
const actionVerbs = (
  'acknowledge activate answer approve authorize cancel capture claim confirm count deactivate export introspect link process publish recover ' +
  'refund reject replay report request resend reset resolve restore retire revoke rotate search send signOut submit test verify'
).split(' ');

/**
 * An operation id is a verb and a noun (`createWebhookEndpoint`), the summary says the same as a sentence
 * (`Create a webhook endpoint`), and the response of a list is a named schema (`WebhookEndpointList`).
 */
export function checkNames(document: OpenApiDocument): void {
  for (const methods of Object.values(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const { operationId, summary } = operation;
      const verb = [...Object.keys(methodsByVerb), ...actionVerbs].find((name) =>
        new RegExp(`^${name}[A-Z][A-Za-z]*$`).test(operationId),
      );
      assert.ok(verb !== undefined, `${operationId} does not begin with a known verb and a noun`);
      const allowed = operationId.endsWith('ByPost') ? ['post'] : methodsByVerb[verb];
      assert.ok(allowed?.includes(method) ?? true, `${operationId} is not a ${method}`);
      const words = verb.replace(/[A-Z]/, (letter) => ` ${letter}`).toLowerCase();
      const sentence = words[0]?.toUpperCase() + words.slice(1);
      assert.match(summary, new RegExp(`^${sentence} [^:]*[^:.]$`), operationId);
      const takesArticle = ['create', 'get', 'update', 'delete'].includes(verb);
      if (takesArticle) assert.match(summary, /^\w+ (?:an?|the|all) /, operationId);
      if (verb === 'list') checkListSchema(operation);
    }
  }
}

function checkListSchema({ operationId, responses }: Operation): void {
  const media = Object.values(responses['200']?.content ?? {}) as { schema: { $ref?: string } }[];
  assert.ok(media.length > 0, operationId);
  for (const { schema } of media) {
    assert.match(String(schema.$ref), /^#\/components\/schemas\/\w+List$/, operationId);
  }
}

/** Every schema in the document compiles, and every example fits its schema. */
export function checkSchemas(document: OpenApiDocument): void {
  const ajv = new Ajv2020({ strict: true });
  addFormats.default(ajv);
  ajv.addVocabulary(['x-codes', 'x-permission']);
  const local = (part: unknown) =>
    JSON.parse(JSON.stringify(part).replaceAll('#/components/schemas/', 'document#/$defs/'));
  ajv.addSchema({ $id: 'document', $defs: local(document.components['schemas']) });
  const compile = (schema: unknown) => ajv.compile(local(schema));
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
  for (const operation of [...operations, document.components['responses']]) {
    for (const { schema, example, examples } of everyPart(operation)) {
      if (schema === undefined) continue;
      const validate = compile(schema);
      const namedExamples = Object.values((examples ?? {}) as Record<string, { value: unknown }>);
      const allExamples = [
        ...(example === undefined ? [] : [example]),
        ...namedExamples.map(({ value }) => value),
      ];
      for (const value of allExamples) {
        assert.ok(validate(value), `${JSON.stringify(value)}: ${JSON.stringify(validate.errors)}`);
      }
    }
  }
}
