/** Derives form fields from a JSON Schema, for the subset that the catalogue allows. */
import { isObject } from '@switchyard/contract';

export type JsonSchema = Readonly<Record<string, unknown>>;
export type FormValues = Readonly<Record<string, unknown>>;

/** The input of a schema property. */
export type FieldKind =
  | 'secret'
  | 'choice'
  | 'text'
  | 'number'
  | 'switch'
  | 'texts'
  | 'group'
  | 'json';

export function fieldKindOf(part: JsonSchema): FieldKind {
  const { type } = part;
  if (part['writeOnly'] === true) return 'secret';
  if (Array.isArray(part['enum']) && type === 'string') return 'choice';
  if (type === 'string') return 'text';
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'boolean') return 'switch';
  if (type === 'object' && isObject(part['properties'])) return 'group';
  const { items } = part;
  if (type === 'array' && isObject(items) && items['type'] === 'string') return 'texts';
  return 'json';
}

export type SchemaField = {
  readonly name: string;
  readonly part: JsonSchema;
  readonly kind: FieldKind;
  readonly isRequired: boolean;
};

/** The properties of an object schema, required ones first. */
export function schemaFields(schema: JsonSchema | undefined): SchemaField[] {
  const properties = isObject(schema?.['properties']) ? schema['properties'] : {};
  const required = Array.isArray(schema?.['required']) ? schema['required'] : [];
  const fields = Object.entries(properties).flatMap(([name, part]) =>
    isObject(part)
      ? [{ name, part, kind: fieldKindOf(part), isRequired: required.includes(name) }]
      : [],
  );
  return [...fields.filter(({ isRequired }) => isRequired), ...fields.filter((f) => !f.isRequired)];
}

/** The title of the schema, or words from the name: `pointsPerUnit` becomes `Points per unit`. */
export function fieldLabel(name: string, part: JsonSchema): string {
  if (typeof part['title'] === 'string' && part['title'] !== '') return part['title'];
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/[_-]+/g, ' ')
    .toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Sets a property; an empty value removes it. */
export function withFieldValue(values: FormValues, name: string, value: unknown): FormValues {
  const { [name]: _former, ...rest } = values;
  const isEmpty =
    value === undefined ||
    value === '' ||
    (Array.isArray(value) && value.length === 0) ||
    (isObject(value) && Object.keys(value).length === 0);
  return isEmpty ? rest : { ...rest, [name]: value };
}

export const textOrEmpty = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The first example of the schema, as a hint. */
export function firstExample(part: JsonSchema): string | undefined {
  const { examples } = part;
  const [first] = Array.isArray(examples) ? (examples as unknown[]) : [];
  return typeof first === 'string' || typeof first === 'number' ? String(first) : undefined;
}

export const objectOrEmpty = (value: unknown): FormValues => (isObject(value) ? value : {});
