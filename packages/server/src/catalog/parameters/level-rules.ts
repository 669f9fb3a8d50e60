// Checks the members that a level may set: known ones that are allowed at this level.
import { type ActivationLevel, defined, isObject } from '@switchyard/contract';
import { nearestName } from '../../platform/index.ts';
import { encodePointerStep } from './merge-levels.ts';
import type { ConfigurationLevel, ParameterValues, ValueFault } from './types.ts';

/** More faults do not help a client to correct its request. */
export const reportedFaultsMax = 20;
const missingMax = 100;
/** A suggestion for a longer name is not useful. */
const suggestedNameMax = 64;

const levelHeights: Readonly<Record<ConfigurationLevel, number>> = {
  Service: 4,
  Organization: 3,
  Merchant: 2,
  Store: 1,
  LogicalDevice: 0,
};

const toObject = (value: unknown): ParameterValues => (isObject(value) ? value : {});

/**
 * Returns the schema of a member; true where any value is allowed, undefined for an unknown member.
 * An object that lists properties without additionalProperties allows no other members.
 */
export function findMemberSchema(
  schema: ParameterValues,
  name: string,
): ParameterValues | true | undefined {
  const properties = toObject(schema['properties']);
  if (Object.hasOwn(properties, name)) return toObject(properties[name]);
  const others = schema['additionalProperties'];
  if (isObject(others)) return others;
  const isOpen = others ?? schema['properties'] === undefined;
  return isOpen === true ? true : undefined;
}

type VisitedMember = {
  readonly pointer: string;
  readonly name: string;
  readonly value: unknown;
  readonly schema: ParameterValues | true | undefined;
  /** The schema of the object that contains the member. */
  readonly parentSchema: ParameterValues;
};

/** Visits every member below with its schema, but not the members of open objects. */
function* visitMembers(
  value: unknown,
  schema: ParameterValues,
  pointer: string,
): Generator<VisitedMember> {
  if (Array.isArray(value)) {
    const items = toObject(schema['items']);
    for (const [at, item] of value.entries()) yield* visitMembers(item, items, `${pointer}/${at}`);
    return;
  }
  if (!isObject(value)) return;
  for (const [name, member] of Object.entries(value)) {
    const memberPointer = `${pointer}${encodePointerStep(name)}`;
    const memberSchema = findMemberSchema(schema, name);
    yield {
      pointer: memberPointer,
      name,
      value: member,
      schema: memberSchema,
      parentSchema: schema,
    };
    if (memberSchema !== undefined && memberSchema !== true)
      yield* visitMembers(member, memberSchema, memberPointer);
  }
}

function describeUnknownMember(name: string, schema: ParameterValues): string {
  const knownNames = Object.keys(toObject(schema['properties']));
  const suggestion = name.length > suggestedNameMax ? '' : nearestName(name, knownNames);
  return suggestion === ''
    ? 'is not a known field'
    : `is not a known field; perhaps you mean ${suggestion}`;
}

function findMemberFault(
  { pointer, name, schema, parentSchema }: VisitedMember,
  level: ConfigurationLevel,
) {
  if (schema === undefined) {
    const detail = describeUnknownMember(name, parentSchema);
    return { pointer, code: 'field_unknown', detail } as const;
  }
  const lowest = schema === true ? undefined : schema['x-lowest-level'];
  if (lowest === undefined || levelHeights[level] >= levelHeights[lowest as ActivationLevel])
    return undefined;
  const detail = `can be set only at the level ${String(lowest)} or above`;
  return { pointer, code: 'field_invalid', detail } as const;
}

/** Returns the members that a level may not set; their values do not matter. */
export function findLevelFaults(
  schema: ParameterValues | undefined,
  values: ParameterValues,
  level: ConfigurationLevel,
): ValueFault[] {
  const faults: ValueFault[] = [];
  for (const visit of visitMembers(values, schema ?? { type: 'object', properties: {} }, '')) {
    const fault = findMemberFault(visit, level);
    if (fault !== undefined) faults.push(fault);
    if (faults.length === reportedFaultsMax) break;
  }
  return faults;
}

/** Returns the pointers of secret members according to the schema, with their values. */
export function findSecrets(
  schema: ParameterValues | undefined,
  values: ParameterValues,
): [string, unknown][] {
  if (schema === undefined) return [];
  return [...visitMembers(values, schema, '')]
    .filter(
      ({ schema: memberSchema }) =>
        memberSchema !== undefined && memberSchema !== true && memberSchema['writeOnly'] === true,
    )
    .map(({ pointer, value }) => [pointer, value]);
}

/** Returns the required members that no level has set. */
export function findMissingMembers(
  schema: ParameterValues | undefined,
  values: ParameterValues,
): string[] {
  if (schema === undefined) return [];
  const objects = [...visitMembers(values, schema, '')].map(({ pointer, value, schema: own }) => ({
    pointer,
    value,
    own: toObject(own),
  }));
  return [{ pointer: '', value: values as unknown, own: schema }, ...objects]
    .flatMap(({ pointer, value, own }) => {
      const required = own['required'];
      if (!isObject(value) || !Array.isArray(required)) return [];
      return required
        .filter((name) => !Object.hasOwn(value, String(name)))
        .map((name) => `${pointer}${encodePointerStep(String(name))}`);
    })
    .slice(0, missingMax);
}

/**
 * The schema without required members, because one level need not set them all. It also allows
 * unknown members, because `findLevelFaults` reports them in more detail.
 */
export function relaxSchema(schema: ParameterValues): ParameterValues {
  const { required: _required, additionalProperties: others, ...kept } = schema;
  const properties = Object.entries(toObject(schema['properties'])).map(
    ([name, below]) => [name, relaxSchema(toObject(below))] as const,
  );
  const below = ['items', 'additionalProperties'].filter((name) => isObject(schema[name]));
  return {
    ...kept,
    ...(others === true ? { additionalProperties: true } : {}),
    ...defined({
      properties: schema['properties'] === undefined ? undefined : Object.fromEntries(properties),
    }),
    ...Object.fromEntries(below.map((name) => [name, relaxSchema(toObject(schema[name]))])),
  };
}
