// Checks the members that a level may set: known ones that are allowed at this level.
import { type ActivationLevel, defined } from '@switchyard/contract';
import { nearestName } from '../../platform/index.ts';
import { isObject, step } from './merge-levels.ts';
import type { ConfigurationLevel, Misfit, Values } from './types.ts';

/** More faults do not help a client to correct its request. */
export const misfitsMax = 20;
const missingMax = 100;
/** A suggestion for a longer name is not useful. */
const guessedNameMax = 64;

const heights: Readonly<Record<ConfigurationLevel, number>> = {
  Service: 4,
  Organization: 3,
  Merchant: 2,
  Store: 1,
  LogicalDevice: 0,
};

const part = (value: unknown): Values => (isObject(value) ? value : {});

/**
 * Returns the schema of a member; true where any value is allowed, undefined for an unknown member.
 * An object that lists properties without additionalProperties allows no other members.
 */
export function memberOf(schema: Values, name: string): Values | true | undefined {
  const properties = part(schema['properties']);
  if (Object.hasOwn(properties, name)) return part(properties[name]);
  const others = schema['additionalProperties'];
  if (isObject(others)) return others;
  const isOpen = others ?? schema['properties'] === undefined;
  return isOpen === true ? true : undefined;
}

type Visit = {
  readonly pointer: string;
  readonly name: string;
  readonly value: unknown;
  readonly schema: Values | true | undefined;
  /** The schema of the object that contains the member. */
  readonly within: Values;
};

/** Visits every member below with its schema, but not the members of open objects. */
function* membersOf(value: unknown, schema: Values, pointer: string): Generator<Visit> {
  if (Array.isArray(value)) {
    const items = part(schema['items']);
    for (const [at, item] of value.entries()) yield* membersOf(item, items, `${pointer}/${at}`);
    return;
  }
  if (!isObject(value)) return;
  for (const [name, member] of Object.entries(value)) {
    const here = `${pointer}${step(name)}`;
    const found = memberOf(schema, name);
    yield { pointer: here, name, value: member, schema: found, within: schema };
    if (found !== undefined && found !== true) yield* membersOf(member, found, here);
  }
}

function unknownDetail(name: string, schema: Values): string {
  const known = Object.keys(part(schema['properties']));
  const guess = name.length > guessedNameMax ? '' : nearestName(name, known);
  return guess === ''
    ? 'is not a known member'
    : `is not a known member; perhaps ${guess} is meant`;
}

function misfitOf({ pointer, name, schema, within }: Visit, level: ConfigurationLevel) {
  if (schema === undefined) {
    const detail = unknownDetail(name, within);
    return { pointer, code: 'field_unknown', detail } as const;
  }
  const lowest = schema === true ? undefined : schema['x-lowest-level'];
  if (lowest === undefined || heights[level] >= heights[lowest as ActivationLevel])
    return undefined;
  const detail = `is set at the level ${String(lowest)} or above it`;
  return { pointer, code: 'field_invalid', detail } as const;
}

/** Returns the members that a level may not set; their values do not matter. */
export function ownMisfits(
  schema: Values | undefined,
  whole: Values,
  level: ConfigurationLevel,
): Misfit[] {
  const found: Misfit[] = [];
  for (const visit of membersOf(whole, schema ?? { type: 'object', properties: {} }, '')) {
    const misfit = misfitOf(visit, level);
    if (misfit !== undefined) found.push(misfit);
    if (found.length === misfitsMax) break;
  }
  return found;
}

/** Returns the pointers of secret members according to the schema, with their values. */
export function secretsIn(schema: Values | undefined, whole: Values): [string, unknown][] {
  if (schema === undefined) return [];
  return [...membersOf(whole, schema, '')]
    .filter(({ schema: own }) => own !== undefined && own !== true && own['writeOnly'] === true)
    .map(({ pointer, value }) => [pointer, value]);
}

/** Returns the required members that no level has set. */
export function missingIn(schema: Values | undefined, whole: Values): string[] {
  if (schema === undefined) return [];
  const objects = [...membersOf(whole, schema, '')].map(({ pointer, value, schema: own }) => ({
    pointer,
    value,
    own: part(own),
  }));
  return [{ pointer: '', value: whole as unknown, own: schema }, ...objects]
    .flatMap(({ pointer, value, own }) => {
      const required = own['required'];
      if (!isObject(value) || !Array.isArray(required)) return [];
      return required
        .filter((name) => !Object.hasOwn(value, String(name)))
        .map((name) => `${pointer}${step(String(name))}`);
    })
    .slice(0, missingMax);
}

/**
 * The schema without required members, because one level need not set them all. It also allows
 * unknown members, because `ownMisfits` reports them in more detail.
 */
export function relaxed(schema: Values): Values {
  const { required: _required, additionalProperties: others, ...kept } = schema;
  const properties = Object.entries(part(schema['properties'])).map(
    ([name, below]) => [name, relaxed(part(below))] as const,
  );
  const below = ['items', 'additionalProperties'].filter((name) => isObject(schema[name]));
  return {
    ...kept,
    ...(others === true ? { additionalProperties: true } : {}),
    ...defined({
      properties: schema['properties'] === undefined ? undefined : Object.fromEntries(properties),
    }),
    ...Object.fromEntries(below.map((name) => [name, relaxed(part(schema[name]))])),
  };
}
