// Names the schemas that the contract exports, so that the document contains each of them once.
import * as contract from '@switchyard/contract';
import { isObject } from '@switchyard/contract';
import type { TSchema } from 'typebox';

export type JsonObject = { [name: string]: unknown };

export type SchemaNames = {
  /** Replaces every published schema inside the schema by a reference. */
  reference(schema: unknown): unknown;
  /** A reference to a response that several operations share; `prefix` begins its name. */
  shareResponse(prefix: string, response: JsonObject): JsonObject;
  /** All referenced schemas and responses so far. */
  components(): { readonly schemas: JsonObject; readonly responses: JsonObject };
};

/** Without the flag `u`, which many tools do not set, such a pattern refuses every letter. */
const needsUnicodeFlag = (name: string, part: unknown): boolean =>
  name === 'pattern' && typeof part === 'string' && part.includes('\\p{');

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
  /** Many operations use the same schema, which is converted to text once. */
  const references = new WeakMap<object, unknown>();

  function referenceParts(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map(reference);
    if (!isObject(schema)) return schema;
    const members = Object.entries(schema).filter(([name, part]) => !needsUnicodeFlag(name, part));
    return Object.fromEntries(
      members.map(([name, part]) => [
        name,
        // Their values contain no schemas.
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
