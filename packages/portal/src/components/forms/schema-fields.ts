/** How a schema of parameters becomes fields: the part of JSON Schema that the catalogue allows. */

export type SchemaPart = Readonly<Record<string, unknown>>;
export type FormValues = Readonly<Record<string, unknown>>;

/** What a part is typed into. */
export type FieldKind =
  | 'secret'
  | 'choice'
  | 'text'
  | 'number'
  | 'switch'
  | 'texts'
  | 'group'
  | 'json';

const isPart = (value: unknown): value is SchemaPart =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function kindOf(part: SchemaPart): FieldKind {
  const { type } = part;
  if (part['writeOnly'] === true) return 'secret';
  if (Array.isArray(part['enum']) && type === 'string') return 'choice';
  if (type === 'string') return 'text';
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'boolean') return 'switch';
  if (type === 'object' && isPart(part['properties'])) return 'group';
  const { items } = part;
  if (type === 'array' && isPart(items) && items['type'] === 'string') return 'texts';
  return 'json';
}

export type SchemaField = {
  readonly name: string;
  readonly part: SchemaPart;
  readonly kind: FieldKind;
  readonly isRequired: boolean;
};

/** The members of an object, those that must be there first. */
export function fieldsOf(schema: SchemaPart | undefined): SchemaField[] {
  const properties = isPart(schema?.['properties']) ? schema['properties'] : {};
  const required = Array.isArray(schema?.['required']) ? schema['required'] : [];
  const fields = Object.entries(properties).flatMap(([name, part]) =>
    isPart(part) ? [{ name, part, kind: kindOf(part), isRequired: required.includes(name) }] : [],
  );
  return [...fields.filter(({ isRequired }) => isRequired), ...fields.filter((f) => !f.isRequired)];
}

/** `pointsPerUnit` is `Points per unit`, unless the provider has a title for it. */
export function labelOf(name: string, part: SchemaPart): string {
  if (typeof part['title'] === 'string' && part['title'] !== '') return part['title'];
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/[_-]+/g, ' ')
    .toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** What is empty is left out: it is not set, and not set to nothing. */
export function withMember(values: FormValues, name: string, value: unknown): FormValues {
  const { [name]: _former, ...rest } = values;
  const isEmpty =
    value === undefined ||
    value === '' ||
    (Array.isArray(value) && value.length === 0) ||
    (isPart(value) && Object.keys(value).length === 0);
  return isEmpty ? rest : { ...rest, [name]: value };
}

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** An example of the provider's, or the limits, as a hint. */
export function exampleOf(part: SchemaPart): string | undefined {
  const { examples } = part;
  const [first] = Array.isArray(examples) ? (examples as unknown[]) : [];
  return typeof first === 'string' || typeof first === 'number' ? String(first) : undefined;
}

export const groupOf = (value: unknown): FormValues => (isPart(value) ? value : {});
