// Names the schemas that the contract publishes, so that the document tells each of them once.
import * as contract from '@switchyard/contract';
import type { TSchema } from 'typebox';

export type JsonObject = { [name: string]: unknown };

export type SchemaNames = {
  /** The schema with every published schema inside it replaced by a reference. */
  reference(schema: unknown): unknown;
  /** A reference to an answer that many operations give alike; the name is a hint. */
  shareResponse(prefix: string, response: JsonObject): JsonObject;
  /** What was referred to so far. */
  components(): { readonly schemas: JsonObject; readonly responses: JsonObject };
};

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const isSchema = (value: unknown): value is TSchema =>
  isObject(value) && Object.hasOwn(value, '~kind');

/** The schemas that the contract exports, by their JSON; a page of `WebhookEndpoint` is `WebhookEndpointList`. */
function publishedSchemas(): Map<string, string> {
  const names = new Map<string, string>();
  const published = Object.entries(contract).filter((entry): entry is [string, TSchema] =>
    isSchema(entry[1]),
  );
  const add = (schema: TSchema, name: string) => {
    const text = JSON.stringify(schema);
    if (!names.has(text)) names.set(text, name);
  };
  for (const [name, schema] of published) add(schema, name);
  for (const [name, schema] of published) {
    add(contract.pageOf(schema), `${name.replace(/View$/, '')}List`);
  }
  return names;
}

export function createSchemaNames(): SchemaNames {
  const names = publishedSchemas();
  const components: JsonObject = {};
  /** The same schema stands in many operations, and is compared as text once. */
  const references = new WeakMap<object, unknown>();

  function referenceParts(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map(reference);
    if (!isObject(schema)) return schema;
    return Object.fromEntries(
      Object.entries(schema).map(([name, part]) => [
        name,
        // Values of their own, in which nothing is a schema.
        ['enum', 'const', 'default', 'examples'].includes(name) ? part : reference(part),
      ]),
    );
  }

  function reference(schema: unknown): unknown {
    if (!isObject(schema)) return referenceParts(schema);
    const result = references.get(schema) ?? referenceNamed(schema);
    references.set(schema, result);
    return result;
  }

  function referenceNamed(schema: JsonObject): unknown {
    const name = names.get(JSON.stringify(schema));
    if (name === undefined) return referenceParts(schema);
    if (!Object.hasOwn(components, name)) {
      components[name] = {};
      components[name] = referenceParts(schema);
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  const shared = new Map<string, string>();
  const responses: JsonObject = {};

  function shareResponse(prefix: string, response: JsonObject): JsonObject {
    const text = JSON.stringify(response);
    const name = shared.get(text) ?? `${prefix}-${shared.size + 1}`;
    shared.set(text, name);
    responses[name] = response;
    return { $ref: `#/components/responses/${name}` };
  }

  return {
    reference,
    shareResponse,
    components: () => ({
      schemas: Object.fromEntries(Object.entries(components).sort(byName)),
      responses,
    }),
  };
}

function byName([one]: [string, unknown], [other]: [string, unknown]): number {
  return one < other ? -1 : 1;
}
