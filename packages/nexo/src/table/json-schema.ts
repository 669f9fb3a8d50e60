/** JSON Schemas of messages, made of the table. */
import { defined } from '../defined.ts';
import { bodyNameOf, categoryRules } from './categories.ts';
import { type FieldType, fieldTypes } from './field-types.ts';
import { type StructureName, structures } from './structures.ts';
import { type Category, closedSets, type MessageType, openSets } from './value-sets.ts';

/**
 * A JSON Schema, draft 2020-12.
 *
 * Source: JSON Schema draft 2020-12.
 *
 * @example
 * const schema: JsonSchema = { type: 'string' };
 */
export type JsonSchema = { readonly [keyword: string]: unknown };

/**
 * The JSON Schema of one kind of message, with all structures that it uses under `$defs`. It describes
 * the form that {@link writeMessage} writes; members that it does not know are allowed everywhere.
 * Rules between members (an `ErrorCondition` with every `Failure`) are not in it.
 *
 * Source: JSON Schema draft 2020-12; the table of {@link structures}.
 *
 * @param category - a category
 * @param type - a type of messages
 * @returns the schema, or undefined where the category has no such message
 * @example
 * const validate = new Ajv2020().compile(schemaOf('Payment', 'Request'));
 */
export function schemaOf(category: Category, type: MessageType): JsonSchema | undefined {
  const body = bodyNameOf(category, type);
  if (body === undefined) return undefined;
  const facts = categoryRules(category);
  const envelope = type === 'Response' ? 'SaleToPOIResponse' : 'SaleToPOIRequest';
  const header = {
    type: 'object',
    allOf: [reference('MessageHeader')],
    properties: {
      MessageClass: { const: facts.class },
      MessageCategory: { const: category },
      MessageType: { const: type },
    },
    ...(facts.class === 'Service' ? { required: ['ServiceID'] } : {}),
    ...(facts.class === 'Device'
      ? { anyOf: [object({}, ['ServiceID']), object({}, ['DeviceID'])] }
      : {}),
  };
  const inner = object({ MessageHeader: header, [body]: reference(body) }, ['MessageHeader', body]);
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: `${category} ${type}`,
    ...object({ [envelope]: inner }, [envelope]),
    $defs: definitionsFor(['MessageHeader', body]),
  };
}

function object(properties: Readonly<Record<string, unknown>>, required: string[]): JsonSchema {
  return { type: 'object', properties, ...(required.length > 0 ? { required } : {}) };
}

function reference(name: string): JsonSchema {
  return { $ref: `#/$defs/${name}` };
}

/** The schemas of these structures and of all that they are made of. */
function definitionsFor(names: readonly string[]): Record<string, JsonSchema> {
  const definitions: Record<string, JsonSchema> = {};
  const pending = [...names];
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (Object.hasOwn(definitions, name)) continue;
    definitions[name] = definitionOf(name);
    if (Object.hasOwn(structures, name)) {
      const row: Readonly<Record<string, string>> = structures[name as StructureName];
      pending.push(...Object.values(row).map((written) => written.replace(/[?*+]$/, '')));
    }
  }
  return definitions;
}

function definitionOf(name: string): JsonSchema {
  if (Object.hasOwn(fieldTypes, name))
    return leafSchema(fieldTypes[name as keyof typeof fieldTypes]);
  if (Object.hasOwn(closedSets, name)) {
    return { type: 'string', enum: closedSets[name as keyof typeof closedSets] };
  }
  if (Object.hasOwn(openSets, name)) {
    const examples = openSets[name as keyof typeof openSets];
    return { type: 'string', minLength: 1, examples };
  }
  const row: Readonly<Record<string, string>> = structures[name as StructureName];
  const properties: Record<string, JsonSchema> = {};
  const required: string[] = [];
  for (const [member, written] of Object.entries(row)) {
    properties[member] = memberSchema(written);
    if (!/[?*]$/.test(written)) required.push(member);
  }
  return object(properties, required);
}

function memberSchema(written: string): JsonSchema {
  const itemSchema = reference(written.replace(/[?*+]$/, ''));
  if (written.endsWith('*')) return { type: 'array', items: itemSchema };
  return written.endsWith('+') ? { type: 'array', items: itemSchema, minItems: 1 } : itemSchema;
}

function leafSchema(leaf: FieldType): JsonSchema {
  switch (leaf.fieldKind) {
    case 'text':
      return {
        type: 'string',
        ...defined({ pattern: leaf.pattern?.source, maxLength: leaf.max }),
      };
    case 'flag':
      return { type: 'boolean' };
    case 'opaque':
      return { type: ['string', 'object'] };
    case 'count':
      return { type: 'integer', minimum: 0 };
    default:
      return leaf.fieldKind === 'rate' || leaf.signed === true
        ? { type: 'number' }
        : { type: 'number', minimum: 0 };
  }
}
