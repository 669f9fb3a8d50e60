// Refuses fields of a host table that cannot hold the payment data that they are built from.
import { compileDialect } from '../compile-dialect.ts';
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
  const [, member] = filledFields.find(([each]) => each === field) ?? [];
  if (member !== undefined)
    throwTableError(at, `is not allowed: ${member} writes field ${field}. Use another field`);
  if (table.messages.fields[field] === undefined)
    throwTableError(at, `needs a format: add field ${field} to /messages/fields`);
}

/** The values that a source can write, the longest one for a source without codes. */
function listSamples(content: ContentSource, sources: Sources, at: string): readonly string[] {
  if (isConstant(content)) return [content.constant];
  const { source: name, codes } = toCodedSource(content);
  const source = findSource(sources, name);
  if (source === undefined)
    throwTableError(
      at,
      `names the source ${name}, which does not exist. The sources are ` +
        `${Object.keys(sources).join(', ')}${sources === requestSources ? ', and chip with a tag, such as chip.9F26' : ''}`,
    );
  if (codes !== undefined) return Object.values(codes);
  return source.sample === undefined ? [] : [source.sample];
}

const problems: Readonly<Record<string, string>> = {
  field_unknown: 'the field has no such part',
  length_mismatch: 'it has a fixed length. Change its length, or add a fill',
  length_exceeded: 'it has a smaller maximum length',
  content_invalid: 'it does not allow these characters',
};

function refuse(error: unknown, value: string, at: string): never {
  if (!(error instanceof Iso8583Error)) throw error;
  return throwTableError(
    at,
    `cannot hold the value ${value}: ${problems[error.code] ?? error.code}`,
  );
}

type Encode = (value: string) => void;

function checkContent(
  field: number,
  format: StructuredFormat | undefined,
  content: FieldContent,
  sources: Sources,
  at: string,
  encode: Encode,
): void {
  if (!isStructured(content)) {
    for (const value of listSamples(content, sources, at)) {
      try {
        encode(value);
      } catch (error) {
        refuse(error, value, at);
      }
    }
    return;
  }
  if (format?.subFields === undefined)
    throwTableError(at, `needs a structure: add subFields to /messages/fields/${field}`);
  const subFields = compileSubFields(format, field);
  for (const [id, part] of Object.entries(content.parts)) {
    const partFormat = findPart(format, id);
    checkContent(field, partFormat, part, sources, `${at}/parts/${id}`, (value) =>
      encode(subFields.encode({ [id]: value })),
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
      checkContent(field, table.messages.fields[field], content, sources, `${at}/${key}`, (value) =>
        dialect.encode({ mti: '0200', fields: { [field]: value } }),
      );
    }
  };
  checkAll(contents, requestSources, '/contents');
  checkAll(responseContents, responseSources, '/responseContents');
  for (const name of operationNames)
    checkAll(operations[name]?.contents ?? {}, requestSources, `/operations/${name}/contents`);
}
