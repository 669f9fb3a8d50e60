// Translates errors of the schema validator into pointers, codes and sentences for the client.
import {
  currencyListPattern,
  defined,
  type FieldError,
  mailNamePattern,
} from '@switchyard/contract';
import type { ErrorObject } from 'ajv/dist/2020.js';

export type RequestPart = 'body' | 'query' | 'path';
export type FieldFault = FieldError;

/** A client does not need more to correct a request. */
const maxFieldErrors = 20;

/** The codes that a schema declares for its errors, by keyword. */
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
  const path =
    name === undefined ? error.instancePath : `${error.instancePath}/${escapePointerStep(name)}`;
  return { pointer: pointerTo(path, part), code: codeOf(error), detail: detailOf(error) };
}

/** The member that is missing or unknown; the validator reports the path of its object only. */
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

/** A step of a JSON pointer (RFC 6901, 3). */
export const escapePointerStep = (name: string): string =>
  name.replaceAll('~', '~0').replaceAll('/', '~1');

/** A client chooses unknown names, which may contain a card number; the pointer then stops above the name. */
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
  string: 'a string',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
  null: 'null',
};

const formatNames: Record<string, string> = {
  uuid: 'a UUID',
  'date-time': 'a time in RFC 3339 format',
  date: 'a date in the format YYYY-MM-DD',
  email: 'an email address',
  uri: 'an absolute URI',
};

const patternSentences: Record<string, string> = {
  '^[A-Z]{3}$': 'Must be an ISO 4217 code in capitals, for example EUR.',
  [currencyListPattern]: 'Must be ISO 4217 codes in capitals, for example EUR or EUR,USD.',
  [mailNamePattern]:
    'Must begin with a letter and contain only letters, digits, spaces, hyphens, apostrophes, and full stops that are not followed by a letter.',
};

const countText = (limit: unknown, noun: string) => `${limit} ${noun}${limit === 1 ? '' : 's'}`;
const jsonList = (values: unknown) =>
  Array.isArray(values) ? values.map((value) => JSON.stringify(value)).join(', ') : '';

/** The sentences use the schema only, never the sent value, which may be card data. */
const details: Record<string, (params: Record<string, unknown>) => string> = {
  type: ({ type }) => `Must be ${[type].flat().map(nameOfType).join(' or ')}.`,
  required: () => 'Is required.',
  dependentRequired: ({ property }) => `Is required together with ${property}.`,
  additionalProperties: () => 'Is not a known field.',
  unevaluatedProperties: () => 'Is not a known field of this object.',
  propertyNames: () => 'Has a name that is not in the accepted format.',
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
  uniqueItems: () => 'Must not contain the same item twice.',
  pattern: ({ pattern }) =>
    patternSentences[String(pattern)] ?? 'Does not match the documented format.',
  format: ({ format }) => `Must be ${formatNames[String(format)] ?? 'in the documented format'}.`,
  enum: ({ allowedValues }) => `Must be one of ${jsonList(allowedValues)}.`,
  const: ({ allowedValue }) => `Must be ${JSON.stringify(allowedValue)}.`,
};

function nameOfType(type: unknown): string {
  return typeNames[String(type)] ?? 'of the documented type';
}

function detailOf({ keyword, params }: ErrorObject): string {
  return details[keyword]?.(params) ?? 'Does not match any of the documented schemas.';
}

const unionKeywords = new Set(['anyOf', 'oneOf']);

/**
 * For each failed union, keeps the errors of one branch or one error of the whole union. Ajv lists the
 * errors of the branches before the error of the union, inner unions first.
 */
function selectUnionErrors(validationErrors: readonly ErrorObject[]): ErrorObject[] {
  let errors = validationErrors.filter(
    (error) => error.propertyName === undefined && error.keyword !== 'if',
  );
  for (const choice of validationErrors) {
    if (unionKeywords.has(choice.keyword) && errors.includes(choice))
      errors = selectErrors(choice, errors);
  }
  return errors;
}

function selectErrors(choice: ErrorObject, errors: readonly ErrorObject[]): ErrorObject[] {
  const within = `${choice.schemaPath}/`;
  const branches = new Map<string, ErrorObject[]>();
  for (const error of errors) {
    if (!error.schemaPath.startsWith(within)) continue;
    const branch = error.schemaPath.slice(within.length).split('/', 1)[0] ?? '';
    branches.set(branch, [...(branches.get(branch) ?? []), error]);
  }
  const intended = intendedBranch(choice, [...branches.values()]);
  const selected = intended ?? [errorOfChoice(choice, [...branches.values()].flat())];
  return errors.flatMap((error) => {
    if (error === choice) return selected;
    return error.schemaPath.startsWith(within) ? [] : [error];
  });
}

/** The only branch whose type and constant members match. */
function intendedBranch(choice: ErrorObject, branches: ErrorObject[][]): ErrorObject[] | undefined {
  const fitting = branches.filter((branch) => !branch.some((error) => isMismatch(choice, error)));
  return fitting.length === 1 ? fitting[0] : undefined;
}

function isMismatch(choice: ErrorObject, error: ErrorObject): boolean {
  if (error.instancePath === choice.instancePath) {
    return ['type', 'const', 'enum'].includes(error.keyword);
  }
  if (error.keyword !== 'const') return false;
  return !error.instancePath.slice(choice.instancePath.length + 1).includes('/');
}

/** When all branches fail at the same constant member, that member is the error. */
function errorOfChoice(choice: ErrorObject, errors: readonly ErrorObject[]): ErrorObject {
  const constants = errors.filter(({ keyword }) => keyword === 'const' || keyword === 'enum');
  const [first] = constants;
  const isShared = constants.every(({ instancePath }) => instancePath === first?.instancePath);
  if (first === undefined || !isShared) return choice;
  const allowedValues = constants.flatMap(
    ({ params }) => params['allowedValues'] ?? [params['allowedValue']],
  );
  const parentSchema =
    first.instancePath === choice.instancePath ? choice.parentSchema : first.parentSchema;
  return {
    ...first,
    keyword: 'enum',
    params: { allowedValues },
    ...defined({ parentSchema }),
  };
}
