/**
 * Describes forms as data: the fields of a request body, their inputs, and the conversion in both
 * directions.
 */

export type FieldKind =
  | 'text'
  | 'email'
  | 'tel'
  | 'number'
  | 'switch'
  | 'choice'
  | 'choices'
  | 'words'
  | 'country'
  | 'zone'
  | 'labels'
  | 'merchant'
  | 'store'
  | 'link';

export type Field = {
  /** The path in the request body, as errors name it: `address.line1`. */
  readonly name: string;
  readonly kind: FieldKind;
  readonly isRequired?: true;
  readonly max?: number;
  /** The API values of a choice; their labels are `options.{value}`. */
  readonly options?: readonly string[];
  /** The initial value of a new entity. */
  readonly first?: DraftValue;
  /** The value cannot be changed after creation. */
  readonly isFixed?: true;
  /** A hint below the field: `hints.{name}`. */
  readonly hasHint?: true;
};

export type Section = {
  /** A key of `sections`. */
  readonly labelKey: string;
  readonly fields: readonly Field[];
};

export type LabelPair = readonly [key: string, value: string];
export type DraftValue = string | boolean | readonly string[] | readonly LabelPair[];
export type Draft = Readonly<Record<string, DraftValue>>;
export type Body = Readonly<Record<string, unknown>>;

export const labelsField: Field = { name: 'labels', kind: 'labels' };

export const addressSection: Section = {
  labelKey: 'address',
  fields: [
    { name: 'address.line1', kind: 'text', max: 100 },
    { name: 'address.line2', kind: 'text', max: 100 },
    { name: 'address.postalCode', kind: 'text', max: 16 },
    { name: 'address.city', kind: 'text', max: 60 },
    { name: 'address.region', kind: 'text', max: 60 },
  ],
};

export const labelsSection: Section = { labelKey: 'labels', fields: [labelsField] };

export const sectionFields = (sections: readonly Section[]): Field[] =>
  sections.flatMap(({ fields }) => [...fields]);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function valueAt(body: Body, path: string): unknown {
  let at: unknown = body;
  for (const name of path.split('.')) at = isObject(at) ? at[name] : undefined;
  return at;
}

function emptyOf({ kind, first }: Field): DraftValue {
  if (first !== undefined) return first;
  if (kind === 'switch') return false;
  return kind === 'labels' || kind === 'choices' || kind === 'words' ? [] : '';
}

function draftValue(field: Field, value: unknown): DraftValue {
  switch (field.kind) {
    case 'switch':
      return value === true;
    case 'labels':
      return Object.entries(isObject(value) ? value : {}).map(
        ([key, text]) => [key, String(text)] as const,
      );
    case 'choices':
    case 'words':
      return Array.isArray(value) ? value.map(String) : [];
    default:
      return value === undefined || value === null ? '' : String(value);
  }
}

/** The initial form values, of an existing or a new entity. */
export function formDraft(fields: readonly Field[], body: Body | undefined): Draft {
  return Object.fromEntries(
    fields.map((field) => [
      field.name,
      body === undefined ? emptyOf(field) : draftValue(field, valueAt(body, field.name)),
    ]),
  );
}

function isPairs(value: DraftValue): value is readonly LabelPair[] {
  return Array.isArray(value) && value.every((each) => Array.isArray(each));
}

/**
 * Returns undefined for an omitted member. An invalid number is sent as text, so that the platform
 * reports the error.
 */
function bodyValue({ kind }: Field, value: DraftValue | undefined): unknown {
  if (value === undefined) return undefined;
  if (typeof value === 'boolean') return value;
  if (kind === 'labels' && isPairs(value)) {
    const filledPairs = value.filter(([key, text]) => key.trim() !== '' || text.trim() !== '');
    return Object.fromEntries(filledPairs.map(([key, text]) => [key.trim(), text.trim()]));
  }
  if (typeof value !== 'string') return value.length === 0 ? undefined : [...value];
  const text = value.trim();
  if (text === '') return undefined;
  return kind === 'number' && /^-?\d{1,15}$/.test(text) ? Number(text) : text;
}

function setValueAt(body: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [first = '', ...rest] = path;
  if (rest.length === 0) {
    if (value === undefined) delete body[first];
    else body[first] = value;
    return;
  }
  const inner = isObject(body[first]) ? (body[first] as Record<string, unknown>) : {};
  setValueAt(inner, rest, value);
  if (Object.keys(inner).length === 0) delete body[first];
  else body[first] = inner;
}

/** The request body; members that the form does not show stay unchanged. */
export function requestBody(
  fields: readonly Field[],
  draft: Draft,
  before: Body = {},
): Record<string, unknown> {
  const body = structuredClone(before) as Record<string, unknown>;
  for (const field of fields)
    setValueAt(body, field.name.split('.'), bodyValue(field, draft[field.name]));
  return body;
}

/** The error of a field or of a member inside it. */
export function fieldError(
  faults: Readonly<Record<string, string>>,
  name: string,
): string | undefined {
  if (faults[name] !== undefined) return faults[name];
  const within = Object.keys(faults).find((each) => each.startsWith(`${name}.`));
  return within === undefined ? undefined : faults[within];
}

/** The errors that form fields show; the form lists all others. */
export function inlineErrors(
  faults: Readonly<Record<string, string>>,
  fields: readonly Field[],
): string[] {
  const names = fields.map(({ name }) => name);
  return Object.keys(faults).filter((fault) =>
    names.some((name) => fault === name || fault.startsWith(`${name}.`)),
  );
}

/** Whether all required fields have a value. */
export function hasRequiredFields(fields: readonly Field[], draft: Draft): boolean {
  return fields.every(
    (field) => field.isRequired === undefined || bodyValue(field, draft[field.name]) !== undefined,
  );
}
