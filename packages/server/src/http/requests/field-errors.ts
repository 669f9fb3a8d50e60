// Translates what the schema validator finds into pointers, codes and sentences for the caller.
import { type FieldError, mailNamePattern } from '@switchyard/contract';
import type { ErrorObject } from 'ajv/dist/2020.js';
import { selectUnionErrors } from './union-error-selection.ts';

export type RequestPart = 'body' | 'query' | 'path';
export type FieldFault = FieldError;

/** More do not help anybody to mend a request. */
export const maxFieldErrors = 20;

/** The codes that a schema gives to its own faults, by keyword. */
type Annotated = { 'x-codes'?: Record<string, string>; properties?: Record<string, Annotated> };

export function fieldErrorsOf(
  validationErrors: readonly ErrorObject[],
  part: RequestPart,
): FieldFault[] {
  const faults = new Map<string, FieldFault>();
  for (const error of selectUnionErrors(validationErrors)) {
    const fault = faultOf(error, part);
    if (!faults.has(fault.pointer)) faults.set(fault.pointer, fault);
    if (faults.size === maxFieldErrors) break;
  }
  return [...faults.values()];
}

function faultOf(error: ErrorObject, part: RequestPart): FieldFault {
  const name = namedMember(error);
  const path = name === undefined ? error.instancePath : `${error.instancePath}/${escaped(name)}`;
  return { pointer: pointerTo(path, part), code: codeOf(error), detail: detailOf(error) };
}

/** The member that is missing, or that should not be there: the fault lies below the path. */
function namedMember({ keyword, params }: ErrorObject): string | undefined {
  switch (keyword) {
    case 'required':
    case 'dependentRequired':
      return String(params['missingProperty']);
    case 'additionalProperties':
      return String(params['additionalProperty']);
    case 'unevaluatedProperties':
      return String(params['unevaluatedProperty']);
    case 'propertyNames':
      return String(params['propertyName']);
    default:
      return undefined;
  }
}

const escaped = (name: string) => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** A name that a client made may hold anything, a card number too; then the pointer stops above it. */
const printableName = /^(?!.*[0-9]{8})(?:[A-Za-z0-9_.:-]|~[01]){1,64}$/;

function pointerTo(path: string, part: RequestPart): string {
  const names = path.split('/').slice(1);
  const end = names.findIndex((name) => !printableName.test(name));
  const printable = end < 0 ? names : names.slice(0, end);
  if (part === 'query') return `?${printable.join('.')}`;
  if (part === 'path') return `:${printable.join('.')}`;
  return printable.map((name) => `/${name}`).join('');
}

const generalCodes: Record<string, string> = {
  required: 'field_required',
  dependentRequired: 'field_required',
  additionalProperties: 'field_unknown',
  unevaluatedProperties: 'field_unknown',
};

function codeOf({ keyword, params, parentSchema, data }: ErrorObject): string {
  const schema = parentSchema as Annotated | undefined;
  const general = generalCodes[keyword];
  if (general === 'field_required') {
    const member = schema?.properties?.[String(params['missingProperty'])];
    return member?.['x-codes']?.['required'] ?? schema?.['x-codes']?.['required'] ?? general;
  }
  const codes = schema?.['x-codes'];
  const isZero = keyword === 'minimum' && data === 0;
  return codes?.[isZero ? 'zero' : keyword] ?? codes?.['default'] ?? general ?? 'field_invalid';
}

const typeNames: Record<string, string> = {
  integer: 'an integer',
  number: 'a number',
  string: 'a text',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  null: 'null',
};

const formatNames: Record<string, string> = {
  uuid: 'a UUID',
  'date-time': 'a time after RFC 3339',
  date: 'a date of the form YYYY-MM-DD',
  email: 'an e-mail address',
  uri: 'an absolute address',
};

const patternSentences: Record<string, string> = {
  '^[A-Z]{3}$': 'Must be an ISO 4217 code in capitals, for example EUR.',
  [mailNamePattern]:
    'Must hold letters, digits, spaces, hyphens, apostrophes and full stops that no letter follows, and begin with a letter.',
};

const countText = (limit: unknown, noun: string) => `${limit} ${noun}${limit === 1 ? '' : 's'}`;
const jsonList = (values: unknown) =>
  Array.isArray(values) ? values.map((value) => JSON.stringify(value)).join(', ') : '';

/** Words come from the schema alone: what was sent may be card data. */
const details: Record<string, (params: Record<string, unknown>) => string> = {
  type: ({ type }) => `Must be ${[type].flat().map(nameOfType).join(' or ')}.`,
  required: () => 'Is required.',
  dependentRequired: ({ property }) => `Is required together with ${property}.`,
  additionalProperties: () => 'Is not a known member.',
  unevaluatedProperties: () => 'Is not a known member here.',
  propertyNames: () => 'Has a name of a form that is not accepted.',
  minimum: ({ limit }) => `Must be at least ${limit}.`,
  maximum: ({ limit }) => `Must be at most ${limit}.`,
  exclusiveMinimum: ({ limit }) => `Must be more than ${limit}.`,
  exclusiveMaximum: ({ limit }) => `Must be less than ${limit}.`,
  multipleOf: ({ multipleOf }) => `Must be a multiple of ${multipleOf}.`,
  minLength: ({ limit }) => `Must have at least ${countText(limit, 'character')}.`,
  maxLength: ({ limit }) => `Must have at most ${countText(limit, 'character')}.`,
  minItems: ({ limit }) => `Must have at least ${countText(limit, 'item')}.`,
  maxItems: ({ limit }) => `Must have at most ${countText(limit, 'item')}.`,
  minProperties: ({ limit }) => `Must have at least ${countText(limit, 'member')}.`,
  maxProperties: ({ limit }) => `Must have at most ${countText(limit, 'member')}.`,
  uniqueItems: () => 'Must not hold the same item twice.',
  pattern: ({ pattern }) =>
    patternSentences[String(pattern)] ?? 'Does not have the documented form.',
  format: ({ format }) => `Must be ${formatNames[String(format)] ?? 'of the documented format'}.`,
  enum: ({ allowedValues }) => `Must be one of ${jsonList(allowedValues)}.`,
  const: ({ allowedValue }) => `Must be ${JSON.stringify(allowedValue)}.`,
};

function nameOfType(type: unknown): string {
  return typeNames[String(type)] ?? 'of the documented type';
}

function detailOf({ keyword, params }: ErrorObject): string {
  return details[keyword]?.(params) ?? 'Does not have any of the documented forms.';
}
