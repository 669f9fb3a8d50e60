// Merges the values of levels from the top down, and tells which level each leaf comes from; pure.
import type { LevelRef, Secrets, Values } from './types.ts';

export type Source = LevelRef & { readonly pointer: string };

/** A level with its secrets in their places. */
export type WholeLevel = LevelRef & { readonly whole: Values };

export const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** RFC 6901. */
export const step = (name: string) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;

export const stepsOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));

/** Objects are merged member by member; whatever else the lower level has takes the place of the upper's. */
function mergeTwo(upper: unknown, lower: unknown): unknown {
  if (!isObject(upper) || !isObject(lower)) return lower;
  const kept = Object.entries(upper).map(([name, value]) => [
    name,
    Object.hasOwn(lower, name) ? mergeTwo(value, lower[name]) : value,
  ]);
  const added = Object.entries(lower).filter(([name]) => !Object.hasOwn(upper, name));
  // Defines its members, whatever they are called: none of them reaches a prototype.
  return Object.fromEntries([...kept, ...added]);
}

/** From the top. */
export const mergeAll = (levels: readonly Values[]): Values =>
  levels.reduce((upper, lower) => mergeTwo(upper, lower) as Values, {});

/** Everything that is no object with members, at its pointer. */
export function leavesOf(value: unknown, pointer = ''): [string, unknown][] {
  if (!isObject(value)) return [[pointer, value]];
  const members = Object.entries(value);
  if (members.length === 0) return pointer === '' ? [] : [[pointer, value]];
  return members.flatMap(([name, member]) => leavesOf(member, `${pointer}${step(name)}`));
}

/** What stands at a pointer; lists are one value and have no pointers into them. */
export function valueAt(value: unknown, pointer: string): unknown {
  let found = value;
  for (const name of stepsOf(pointer)) {
    if (!isObject(found) || !Object.hasOwn(found, name)) return undefined;
    found = found[name];
  }
  return found;
}

/** The lowest level that says something at the pointer: of a merged leaf, the one it comes from. */
export function sourceOf(levels: readonly WholeLevel[], pointer: string): LevelRef | undefined {
  const found = levels.findLast(({ whole }) => valueAt(whole, pointer) !== undefined);
  return found && { level: found.level, entityId: found.entityId };
}

/** The values with something at a pointer; what stands in the way of it gives way. */
function withAt(value: unknown, [name, ...rest]: readonly string[], leaf: unknown): unknown {
  if (name === undefined) return leaf;
  const members = isObject(value) ? value : {};
  const below = Object.hasOwn(members, name) ? members[name] : undefined;
  const others = Object.entries(members).filter(([other]) => other !== name);
  return Object.fromEntries([...others, [name, withAt(below, rest, leaf)]]);
}

export const withSecrets = (values: Values, secrets: Secrets): Values =>
  Object.entries(secrets).reduce<Values>(
    (whole, [pointer, secret]) => withAt(whole, stepsOf(pointer), secret) as Values,
    values,
  );

/** The values without what stands at the pointers; an object that is empty for it stays. */
export function without(values: Values, pointers: ReadonlySet<string>): Values {
  const prune = (value: unknown, pointer: string): unknown => {
    if (!isObject(value)) return value;
    const members = Object.entries(value)
      .map(([name, member]) => [name, member, `${pointer}${step(name)}`] as const)
      .filter(([, , here]) => !pointers.has(here));
    return Object.fromEntries(members.map(([name, member, here]) => [name, prune(member, here)]));
  };
  return pointers.size === 0 ? values : (prune(values, '') as Values);
}
