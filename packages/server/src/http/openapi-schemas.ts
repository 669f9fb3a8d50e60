// Names the schemas that the contract publishes, so that the document tells each of them once.
import * as contract from '@switchyard/contract';

export type JsonObject = { [name: string]: unknown };

export type SchemaNames = {
  /** The schema with every published schema inside it replaced by a reference. */
  referring(schema: unknown): unknown;
  /** What was referred to so far, by name. */
  components(): JsonObject;
};

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A schema of the contract is an exported object of the schema builder, which marks its own. */
function publishedSchemas(): Map<string, string> {
  const names = new Map<string, string>();
  for (const [name, value] of Object.entries(contract)) {
    if (!isObject(value) || !Object.hasOwn(value, '~kind')) continue;
    const text = JSON.stringify(value);
    if (!names.has(text)) names.set(text, name);
  }
  return names;
}

export function createSchemaNames(): SchemaNames {
  const names = publishedSchemas();
  const components: JsonObject = {};

  function inside(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map(referring);
    if (!isObject(schema)) return schema;
    return Object.fromEntries(
      Object.entries(schema).map(([name, part]) => [
        name,
        // Values of their own, in which nothing is a schema.
        ['enum', 'const', 'default', 'examples'].includes(name) ? part : referring(part),
      ]),
    );
  }

  function referring(schema: unknown): unknown {
    const name = isObject(schema) ? names.get(JSON.stringify(schema)) : undefined;
    if (name === undefined) return inside(schema);
    if (!Object.hasOwn(components, name)) {
      components[name] = {};
      components[name] = inside(schema);
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  return {
    referring,
    components: () => Object.fromEntries(Object.entries(components).sort(byName)),
  };
}

function byName([one]: [string, unknown], [other]: [string, unknown]): number {
  return one < other ? -1 : 1;
}
