// Merges the values of levels from the top down, and finds the level that each leaf comes from.
import { isObject } from '@switchyard/contract';
import type { LevelReference, ParameterValues, SecretsByPointer } from './types.ts';

export type ValueSource = LevelReference & { readonly pointer: string };

/** A level whose values include its secrets. */
export type LevelWithSecrets = LevelReference & { readonly allValues: ParameterValues };

/** Encodes a member name as a step of a JSON Pointer (RFC 6901). */
export const encodePointerStep = (name: string) =>
  `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;

export const parsePointer = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));

/** Merges objects member by member; any other lower value replaces the upper value. */
function mergeValues(upper: unknown, lower: unknown): unknown {
  if (!isObject(upper) || !isObject(lower)) return lower;
  const merged = Object.entries(upper).map(([name, value]) => [
    name,
    Object.hasOwn(lower, name) ? mergeValues(value, lower[name]) : value,
  ]);
  const added = Object.entries(lower).filter(([name]) => !Object.hasOwn(upper, name));
  // Defines the members instead of assigning them, so that no name can reach a prototype.
  return Object.fromEntries([...merged, ...added]);
}

/** `levels` begins with the top level. */
export const mergeLevels = (levels: readonly ParameterValues[]): ParameterValues =>
  levels.reduce((upper, lower) => mergeValues(upper, lower) as ParameterValues, {});

/** Returns every value that is not an object with members, with its pointer. */
export function listLeaves(value: unknown, pointer = ''): [string, unknown][] {
  if (!isObject(value)) return [[pointer, value]];
  const members = Object.entries(value);
  if (members.length === 0) return pointer === '' ? [] : [[pointer, value]];
  return members.flatMap(([name, member]) =>
    listLeaves(member, `${pointer}${encodePointerStep(name)}`),
  );
}

/** Returns the value at a pointer; a list is one value, and pointers do not lead into it. */
export function getValueAt(value: unknown, pointer: string): unknown {
  let current = value;
  for (const name of parsePointer(pointer)) {
    if (!isObject(current) || !Object.hasOwn(current, name)) return undefined;
    current = current[name];
  }
  return current;
}

/** Finds the lowest level with a value at the pointer, which is the source of a merged leaf. */
export function findSource(
  levels: readonly LevelWithSecrets[],
  pointer: string,
): LevelReference | undefined {
  const source = levels.findLast(({ allValues }) => getValueAt(allValues, pointer) !== undefined);
  return source && { level: source.level, entityId: source.entityId };
}

/** Sets a value at a pointer, and replaces any value on its path that is no object. */
function setValueAt(value: unknown, [name, ...rest]: readonly string[], leaf: unknown): unknown {
  if (name === undefined) return leaf;
  const members = isObject(value) ? value : {};
  const below = Object.hasOwn(members, name) ? members[name] : undefined;
  const others = Object.entries(members).filter(([other]) => other !== name);
  return Object.fromEntries([...others, [name, setValueAt(below, rest, leaf)]]);
}

export const addSecrets = (values: ParameterValues, secrets: SecretsByPointer): ParameterValues =>
  Object.entries(secrets).reduce<ParameterValues>(
    (whole, [pointer, secret]) =>
      setValueAt(whole, parsePointer(pointer), secret) as ParameterValues,
    values,
  );

/** Removes the values at the pointers; an object that becomes empty stays. */
export function withoutPointers(
  values: ParameterValues,
  pointers: ReadonlySet<string>,
): ParameterValues {
  const prune = (value: unknown, pointer: string): unknown => {
    if (!isObject(value)) return value;
    const members = Object.entries(value)
      .map(([name, member]) => [name, member, `${pointer}${encodePointerStep(name)}`] as const)
      .filter(([, , here]) => !pointers.has(here));
    return Object.fromEntries(members.map(([name, member, here]) => [name, prune(member, here)]));
  };
  return pointers.size === 0 ? values : (prune(values, '') as ParameterValues);
}
