/** Displays JSON Pointers (RFC 6901) and reads the values they point to. */
import { isObject } from '@switchyard/contract';

const stepsOf = (pointer: string): string[] =>
  pointer === ''
    ? []
    : pointer
        .slice(1)
        .split('/')
        .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));

/** `/terminal/countryCode` becomes `terminal › countryCode`. */
export const pointerText = (pointer: string): string => stepsOf(pointer).join(' › ');

export function valueAt(values: unknown, pointer: string): unknown {
  let value = values;
  for (const step of stepsOf(pointer)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step))
      return undefined;
    value = (value as Readonly<Record<string, unknown>>)[step];
  }
  return value;
}

const longest = 200;

/** A value in one line. */
export function shortValue(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

/**
 * The schema for a lower level: nothing is required, and descriptions show the inherited values.
 */
export function withInheritedValues(
  schema: Readonly<Record<string, unknown>>,
  inherited: unknown,
  describe: (value: string) => string,
): Readonly<Record<string, unknown>> {
  const { required: _required, ...rest } = schema;
  const properties = isObject(rest['properties']) ? rest['properties'] : undefined;
  if (properties !== undefined) {
    const members = Object.entries(properties).map(([name, part]) => [
      name,
      isObject(part)
        ? withInheritedValues(part, isObject(inherited) ? inherited[name] : undefined, describe)
        : part,
    ]);
    return { ...rest, properties: Object.fromEntries(members) };
  }
  if (inherited === undefined || isObject(inherited) || Array.isArray(inherited)) return rest;
  const { description } = rest;
  const inheritedText = describe(shortValue(inherited));
  return {
    ...rest,
    description:
      typeof description === 'string' ? `${description} ${inheritedText}` : inheritedText,
    examples: [inherited],
  };
}
