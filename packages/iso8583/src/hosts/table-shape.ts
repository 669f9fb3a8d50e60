// Shapes of JSON members: each checks a value, and describes itself as JSON Schema.
import { defined, isObject } from '@switchyard/contract';
import { runChecks, throwTableError } from './host-table-error.ts';
import { compileValueLayout } from './value-layout.ts';

/** A part of a JSON Schema (draft 2020-12). */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** Throws a HostTableError for a value that does not have the shape. */
export type Check = ((value: unknown, at: string) => void) & { readonly schema?: JsonSchema };
export type Shape = { readonly [member: string]: Check };

const withSchema = (check: (value: unknown, at: string) => void, schema: JsonSchema): Check =>
  Object.assign(check, { schema });

const schemaOf = (check: Check): JsonSchema => check.schema ?? {};

const schemasOf = (shape: Shape): JsonSchema =>
  Object.fromEntries(Object.entries(shape).map(([member, check]) => [member, schemaOf(check)]));

export const matching = (pattern: RegExp, problem: string): Check =>
  withSchema(
    (value, at) => {
      if (typeof value !== 'string' || !pattern.test(value))
        throwTableError(at, `must be ${problem}`);
    },
    { type: 'string', pattern: pattern.source },
  );

export const oneOf = (...choices: readonly (string | number | boolean)[]): Check =>
  withSchema(
    (value, at) => {
      if (!choices.some((choice) => choice === value))
        throwTableError(
          at,
          `must be one of ${choices.map((choice) => JSON.stringify(choice)).join(', ')}`,
        );
    },
    { enum: choices },
  );

export const whole = (least: number, most: number): Check =>
  withSchema(
    (value, at) => {
      if (!Number.isInteger(value) || Number(value) < least || Number(value) > most) {
        throwTableError(at, `must be a whole number from ${least} to ${most}`);
      }
    },
    { type: 'integer', minimum: least, maximum: most },
  );

/** An object with these members; those of `required` must be there. */
export const shaped = (shape: Shape, required: readonly string[] = []): Check =>
  withSchema(
    (value, at) => {
      if (!isObject(value)) return throwTableError(at, 'must be an object');
      const missing = required.filter((member) => value[member] === undefined);
      const members = Object.keys(shape).join(', ');
      runChecks([
        ...missing.map((member) => () => throwTableError(`${at}/${member}`, 'is missing')),
        ...Object.entries(value).map(([member, inner]) => () => {
          const check = shape[member];
          if (check !== undefined) return check(inner, `${at}/${member}`);
          const problem = `is not a member here; the members are ${members}`;
          return throwTableError(`${at}/${member}`, problem);
        }),
      ]);
    },
    {
      type: 'object',
      properties: schemasOf(shape),
      additionalProperties: false,
      ...defined({ required: required.length === 0 ? undefined : required }),
    },
  );

export const eachIn = (key: RegExp, keys: string, check: Check): Check =>
  withSchema(
    (value, at) => {
      if (!isObject(value)) return throwTableError(at, 'must be an object');
      runChecks(
        Object.entries(value).map(([member, inner]) => () => {
          if (!key.test(member))
            throwTableError(`${at}/${member}`, `has a wrong name; the names are ${keys}`);
          check(inner, `${at}/${member}`);
        }),
      );
    },
    {
      type: 'object',
      patternProperties: { [key.source]: schemaOf(check) },
      additionalProperties: false,
    },
  );

export const listOf = (problem: string, check: Check): Check =>
  withSchema(
    (value, at) => {
      if (!Array.isArray(value)) return throwTableError(at, `must be a list of ${problem}`);
      runChecks(value.map((each, index) => () => check(each, `${at}/${index}`)));
    },
    { type: 'array', items: schemaOf(check) },
  );

export const layout = (...names: readonly string[]): Check => {
  const length = '([0-9]{1,3}|LL|LLL|\\*)';
  const part = `(${[...names, 'zeros'].join('|')}):${length}`;
  return withSchema(
    (value, at) => {
      const compiled = typeof value === 'string' ? compileValueLayout(value) : undefined;
      const unknown = compiled?.names.find((name) => !names.includes(name));
      if (compiled === undefined || unknown !== undefined) {
        throwTableError(
          at,
          `must be parts with lengths, such as "${names[0]}:4 zeros:2". Parts: ${names.join(', ')}, zeros. ` +
            'Lengths: a number, LL, LLL, or * for the last part',
        );
      }
    },
    { type: 'string', pattern: `^${part}( +${part})*$` },
  );
};

/** `null` removes the member of the base. */
export const orNothing = (check: Check): Check =>
  withSchema(
    (value, at) => {
      if (value !== null) check(value, at);
    },
    { anyOf: [schemaOf(check), { type: 'null' }] },
  );

/** An object whose member `type` selects its shape. */
export const byType = (shapes: { readonly [type: string]: Check }): Check =>
  withSchema(
    (value, at) => {
      if (!isObject(value)) return throwTableError(at, 'must be an object');
      const { type } = value;
      const check = typeof type === 'string' ? shapes[type] : undefined;
      if (check !== undefined) return check(value, at);
      return throwTableError(`${at}/type`, `must be one of ${Object.keys(shapes).join(', ')}`);
    },
    { anyOf: Object.values(shapes).map(schemaOf) },
  );

/** A shape that contains itself; `name` is its definition in the schema. */
export const recursive = (name: string, create: () => Check): Check => {
  let check: Check | undefined;
  return withSchema(
    (value, at) => {
      check ??= create();
      check(value, at);
    },
    { $ref: `#/$defs/${name}` },
  );
};

/** A text, or an object whose shape follows from one of its members. */
export const textOrObject = (text: Check, shapes: { readonly [member: string]: Check }): Check =>
  withSchema(
    (value, at) => {
      if (!isObject(value)) return text(value, at);
      const [, check] =
        Object.entries(shapes).find(([member]) => value[member] !== undefined) ?? [];
      if (check !== undefined) return check(value, at);
      return throwTableError(at, `must have one of the members ${Object.keys(shapes).join(', ')}`);
    },
    { anyOf: [text, ...Object.values(shapes)].map(schemaOf) },
  );
