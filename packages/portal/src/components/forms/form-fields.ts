/**
 * Describes forms as data: the fields of a request body, their inputs, and the conversion in both
 * directions.
 */
import { isObject, parseJsonObject } from '@switchyard/contract';
import type { Option } from '../../filters/filter-options.ts';

export type FieldKind =
  | 'text'
  | 'email'
  | 'tel'
  | 'url'
  | 'date'
  | 'number'
  /** Several lines of text. */
  | 'paragraph'
  /** A list with one item per line. */
  | 'lines'
  /** A JSON object as text. */
  | 'json'
  | 'switch'
  | 'checkbox'
  | 'choice'
  /** One of a few options, with a hint for each: `optionHints.{value}`. */
  | 'radio'
  | 'choices'
  /** Several of a few options, with a hint for each: `optionHints.{value}`. */
  | 'checkboxes'
  | 'words'
  | 'country'
  | 'zone'
  | 'labels'
  | 'merchant'
  | 'store'
  | 'link';

export type OptionGroup = { readonly group: string; readonly items: readonly string[] };

export type Field = {
  /** The path in the request body, as errors name it: `address.line1`. */
  readonly name: string;
  readonly kind: FieldKind;
  readonly isRequired?: boolean;
  /** The maximum length of a text or of a word. */
  readonly max?: number;
  readonly maxItems?: number;
  /** The initial height of a text of several lines. */
  readonly rows?: number;
  /** API values, whose labels are `options.{value}`, or options with their own labels. */
  readonly options?: readonly (string | Option | OptionGroup)[];
  /** The options have a search also if they are few. */
  readonly isSearchable?: true;
  /** One option is always chosen, also in a form that does not require it. */
  readonly isAlwaysSet?: true;
  /** The initial value of a new entity. */
  readonly first?: DraftValue;
  /** The value cannot be changed after creation. */
  readonly isFixed?: true;
  /** A hint below the field: `hints.{name}`. */
  readonly hasHint?: true;
  readonly placeholder?: string;
  /** The value is sent, but has no input of its own. */
  readonly isHidden?: boolean;
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
type Errors = Readonly<Record<string, string>>;

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

export const draftText = (value: DraftValue | undefined): string =>
  typeof value === 'string' ? value : '';

export const draftList = (value: DraftValue | undefined): string[] =>
  Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];

function valueAt(body: Body, path: string): unknown {
  let at: unknown = body;
  for (const name of path.split('.')) at = isObject(at) ? at[name] : undefined;
  return at;
}

const lists: readonly FieldKind[] = ['choices', 'checkboxes', 'words', 'labels'];

function emptyOf({ kind, first }: Field): DraftValue {
  if (first !== undefined) return first;
  if (kind === 'switch' || kind === 'checkbox') return false;
  return lists.includes(kind) ? [] : '';
}

function draftValue({ kind }: Field, value: unknown): DraftValue {
  switch (kind) {
    case 'switch':
    case 'checkbox':
      return value === true;
    case 'labels':
      return Object.entries(isObject(value) ? value : {}).map(
        ([key, text]) => [key, String(text)] as const,
      );
    case 'lines':
      return Array.isArray(value) ? value.join('\n') : '';
    case 'json':
      return value === undefined ? '' : JSON.stringify(value, null, 2);
    default:
      if (Array.isArray(value)) return value.map(String);
      if (value === undefined || value === null) return lists.includes(kind) ? [] : '';
      return String(value);
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

const uniqueLines = (text: string): string[] => [
  ...new Set(
    text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== ''),
  ),
];

/**
 * Returns undefined for an omitted member; a list is also sent when it is empty. An invalid number
 * is sent as text, so that the platform reports the error.
 */
function bodyValue({ kind }: Field, value: DraftValue | undefined): unknown {
  if (value === undefined || typeof value === 'boolean') return value;
  if (kind === 'labels' && isPairs(value)) {
    const filledPairs = value.filter(([key, text]) => key.trim() !== '' || text.trim() !== '');
    return Object.fromEntries(filledPairs.map(([key, text]) => [key.trim(), text.trim()]));
  }
  if (typeof value !== 'string') return [...value];
  if (kind === 'lines') return uniqueLines(value);
  if (kind === 'json') return parseJsonObject(value);
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

/** The errors of a field and of its members; an item of a list is named by its number. */
export function fieldError(errors: Errors, name: string): string | undefined {
  const texts = Object.entries(errors).flatMap(([path, text]) => {
    if (path === name) return [text];
    if (!path.startsWith(`${name}.`)) return [];
    const member = path.slice(name.length + 1);
    return [/^\d+$/.test(member) ? `${Number(member) + 1}: ${text}` : text];
  });
  return texts.length === 0 ? undefined : texts.join(' · ');
}

/** The errors that form fields show; the form lists all others. */
export function inlineErrors(errors: Errors, fields: readonly Field[]): string[] {
  const names = fields.map(({ name }) => name);
  return Object.keys(errors).filter((path) =>
    names.some((name) => path === name || path.startsWith(`${name}.`)),
  );
}

export const isInvalidJson = ({ kind }: Field, value: DraftValue | undefined): boolean =>
  kind === 'json' &&
  draftText(value).trim() !== '' &&
  parseJsonObject(draftText(value)) === undefined;

/** Whether all required fields have a value, and no JSON is invalid. */
export function isComplete(fields: readonly Field[], draft: Draft): boolean {
  return fields.every((field) => {
    const value = draft[field.name];
    const sent = bodyValue(field, value);
    const isEmpty = sent === undefined || (Array.isArray(sent) && sent.length === 0);
    return !(field.isRequired === true && isEmpty) && !isInvalidJson(field, value);
  });
}
