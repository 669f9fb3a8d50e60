// Refuses fields of a host table that cannot hold the payment data that they are built from.
import { compileDialect } from '../compile-dialect.ts';
import type { SubFieldFormat } from '../dialect-table.ts';
import { Iso8583Error } from '../errors.ts';
import { operationNames } from '../operation-names.ts';
import {
  compileSubFields,
  findPart,
  type StructuredFormat,
} from '../sub-fields/compile-sub-fields.ts';
import {
  type ContentSource,
  type FieldContent,
  isConstant,
  isStructured,
  toCodedSource,
} from './field-content.ts';
import type { HostTable } from './host-table.ts';
import { throwTableError } from './host-table-error.ts';
import {
  findSource,
  type PaymentSource,
  requestSources,
  responseSources,
} from './payment-sources.ts';

type ContentRules = {
  /** Content of the fields that no message may omit. */
  readonly requiredFields: Readonly<Record<number, string>>;
  /** Fields that other members of the table fill. */
  readonly filledFields: readonly (readonly [field: number, member: string])[];
};

/** Members that write network messages only, which have no built fields. */
const networkMembers = ['network', 'keyChange'];

type Sources = { readonly [name: string]: PaymentSource };

function checkField(
  table: HostTable,
  field: number,
  at: string,
  { requiredFields, filledFields }: ContentRules,
): void {
  const content = requiredFields[field];
  if (content !== undefined)
    throwTableError(at, `is not allowed: field ${field} contains ${content}. Use another field`);
  const [, member] =
    filledFields.find(([each, name]) => each === field && !networkMembers.includes(name)) ?? [];
  if (member !== undefined)
    throwTableError(at, `is not allowed: ${member} writes field ${field}. Use another field`);
  if (table.messages.fields[field] === undefined)
    throwTableError(at, `needs a format: add field ${field} to /messages/fields`);
}

/** The values that a source can write, the longest one for a source without codes. */
function listSamples(content: ContentSource, sources: Sources, at: string): readonly string[] {
  if (isConstant(content)) return [content.constant];
  const { source: name, codes, maxLength } = toCodedSource(content);
  const source = findSource(sources, name);
  if (source === undefined)
    throwTableError(
      at,
      `names the source ${name}, which does not exist. The sources are ` +
        `${Object.keys(sources).join(', ')}${sources === requestSources ? ', and chip with a tag, such as chip.9F26' : ''}`,
    );
  const { sample } = source;
  const longest = sample === undefined ? [] : [sample];
  return (codes === undefined ? longest : Object.values(codes)).map((value) =>
    value.slice(0, maxLength),
  );
}

const cutRemedy = 'or add maxLength to the source, which cuts longer values';

const problems: Readonly<Record<string, string>> = {
  field_unknown: 'the field has no such part',
  length_mismatch: `it has another fixed length. Change its length, add a fill for shorter values, ${cutRemedy}`,
  length_exceeded: `it has a smaller maximum length. Increase its max, ${cutRemedy}`,
  content_invalid: 'it does not allow these characters',
};

const abbreviatedLength = 20;

const abbreviate = (value: string): string =>
  value.length > 2 * abbreviatedLength
    ? `${value.slice(0, abbreviatedLength)}… of ${value.length} characters`
    : value;

function refuse(error: unknown, value: string, at: string): never {
  if (!(error instanceof Iso8583Error)) throw error;
  return throwTableError(
    at,
    `cannot hold the value ${abbreviate(value)}: ${problems[error.code] ?? error.code}`,
  );
}

/** Refuses a value that the field cannot hold, with the pointer of its source. */
type CheckValue = (value: string, at: string) => void;

function checkContent(
  field: number,
  format: StructuredFormat | undefined,
  content: FieldContent,
  sources: Sources,
  at: string,
  checkValue: CheckValue,
): void {
  if (!isStructured(content)) {
    for (const value of listSamples(content, sources, at)) checkValue(value, at);
    return;
  }
  const fieldAt = `/messages/fields/${field}`;
  if (format?.subFields === undefined)
    throwTableError(at, `needs a structure: add subFields to ${fieldAt}`);
  const subFields = compileSubFields(format, field);
  const constants: Record<string, string> = {};
  for (const [id, part] of Object.entries(content.parts))
    if (!isStructured(part) && isConstant(part)) constants[id] = part.constant;
  for (const [id, part] of Object.entries(content.parts)) {
    checkEarlierParts(format.subFields, { ...constants, [id]: '' }, id, field);
    const partFormat = findPart(format, id);
    checkContent(field, partFormat, part, sources, `${at}/parts/${id}`, (value, valueAt) => {
      let text: string;
      try {
        // Data of the other parts can be missing.
        text = subFields.encode({ ...constants, [id]: value });
      } catch (error) {
        refuse(error, value, valueAt);
      }
      checkValue(text, fieldAt);
    });
  }
}

/** A part by position needs a form without data, if a later part can have data. */
function checkEarlierParts(
  structure: SubFieldFormat,
  present: { readonly [id: string]: string },
  last: string,
  field: number,
): void {
  if (structure.type !== 'Positions') return;
  const earlier = structure.parts.findIndex(({ id }) => id === last);
  for (const [index, { id, size, max, fill }] of structure.parts
    .slice(0, Math.max(0, earlier))
    .entries()) {
    if (Object.hasOwn(present, id) || size !== 'fixed' || fill !== undefined || max === 0) continue;
    throwTableError(
      `/messages/fields/${field}/subFields/parts/${index}`,
      `needs a fill, such as rightBlanks or leftZeros: the part ${id} can be empty in front of the part ${last}`,
    );
  }
}

/** @throws HostTableError with the JSON pointer of the first mistake */
export function checkContents(table: HostTable, rules: ContentRules): void {
  const { contents = {}, responseContents = {}, operations = {} } = table;
  const dialect = compileDialect(table.messages);
  const checkAll = (
    all: { readonly [field: number]: FieldContent | null },
    sources: Sources,
    at: string,
  ) => {
    for (const [key, content] of Object.entries(all)) {
      if (content === null) continue;
      const field = Number(key);
      checkField(table, field, `${at}/${key}`, rules);
      const format = table.messages.fields[field];
      checkContent(field, format, content, sources, `${at}/${key}`, (value, valueAt) => {
        try {
          dialect.encode({ mti: '0200', fields: { [field]: value } });
        } catch (error) {
          refuse(error, value, valueAt);
        }
      });
    }
  };
  checkAll(contents, requestSources, '/contents');
  checkAll(responseContents, responseSources, '/responseContents');
  for (const name of operationNames)
    checkAll(operations[name]?.contents ?? {}, requestSources, `/operations/${name}/contents`);
}
