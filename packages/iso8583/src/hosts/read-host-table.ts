// Reads a host table from JSON: missing members come from the base table, and every error has a JSON pointer.

import { isObject } from '@switchyard/contract';
import type { DialectTable, FieldFormat } from '../dialect-table.ts';
import { Iso8583Error } from '../errors.ts';
import { lengthForms } from '../frame.ts';
import { operationNames } from '../operation-names.ts';
import { builtInHosts } from './built-in.ts';
import { checkHostTable } from './check-host-table.ts';
import { type CompiledHost, compileHost } from './compile-host.ts';
import { repeatableFields } from './correlation.ts';
import { messagesShape, subFieldDefinitions } from './field-format-shape.ts';
import { checkFraming } from './host-framing.ts';
import { echoComparisons } from './host-settings.ts';
import type { HostTable } from './host-table.ts';
import { runChecks, throwTableError } from './host-table-error.ts';
import { patternParts } from './reference-numbers.ts';
import { sampleTime } from './sample-messages.ts';
import { shippedTables } from './shipped-tables.ts';
import {
  type Check,
  eachIn,
  type JsonSchema,
  layout,
  listOf,
  matching,
  oneOf,
  orNothing,
  recursive,
  type Shape,
  shaped,
  textOrObject,
  whole,
} from './table-shape.ts';

type Document = { readonly [member: string]: unknown };

/**
 * The names of the tables that are part of the platform.
 *
 * @example
 * ```ts
 * hostTableNames.includes('base24'); // true
 * ```
 */
export const hostTableNames: readonly string[] = [
  ...Object.keys(builtInHosts),
  ...Object.keys(shippedTables),
];

const hexadecimal = matching(
  /^(?:[0-9A-F]{2}){1,31}$/,
  'up to 31 bytes in hexadecimal digits and capital letters',
);
const headerText = matching(/^[\x20-\x7e]{1,200}$/, 'a text of up to 200 characters');
const code = matching(/^[\x20-\x7e]{1,40}$/, 'a code of up to 40 characters in quotation marks');
/** The longest text of any field; a later check compares the text with its own field. */
const constant = matching(/^[\x20-\x7e]{1,999}$/, 'a text in quotation marks');
const codesBy = (key: RegExp, keys: string) => eachIn(key, keys, code);
const field = whole(2, 128);
const fieldKey = /^(?:[2-9]|[1-9][0-9]|1[01][0-9]|12[0-8])$/;
const fieldKeys = 'field numbers from 2 to 128';
const hostCodes = 'response codes of the host';

const constants = eachIn(fieldKey, fieldKeys, constant);

const sourceName = matching(/^[A-Za-z0-9.]{1,40}$/, 'the name of a source');
const constantSource = shaped({ constant }, ['constant']);
const codedSource = shaped(
  {
    source: sourceName,
    codes: eachIn(/^.{1,40}$/, 'values of the source', constant),
    maxLength: whole(1, 999),
  },
  ['source'],
);
const partContent = recursive('content', () => content);
const parts = shaped({ parts: eachIn(/^.{1,40}$/, 'the parts of the field', partContent) });
const content: Check = textOrObject(sourceName, {
  constant: constantSource,
  source: codedSource,
  parts,
});
const contents = eachIn(fieldKey, fieldKeys, content);

const operation = shaped({
  type: matching(
    /^0[124][024]0$/,
    'the type of a first copy, such as 0200, with the first digit of 1987',
  ),
  processingCode: matching(/^[0-9]{6}$/, 'six digits in quotation marks'),
  fromOriginal: listOf('the fields 11, 12, 13 and 37', oneOf(11, 12, 13, 37)),
  constants,
  omit: listOf('fields', field),
  contents: eachIn(fieldKey, fieldKeys, orNothing(content)),
});

const network = {
  signOn: code,
  signOff: code,
  echo: code,
  keyChange: code,
  keyRequest: code,
};

const shape: Shape = {
  name: matching(/^[a-z0-9][a-z0-9-]{0,39}$/, 'small letters, digits and hyphens'),
  base: oneOf(...hostTableNames),
  messages: messagesShape,
  framing: shaped({
    length: oneOf(...lengthForms),
    inclusive: oneOf(true, false),
    beforeLength: hexadecimal,
    afterLength: hexadecimal,
    tpduBytes: whole(0, 31),
    tpdu: hexadecimal,
    header: headerText,
    answerHeader: headerText,
    headerCharacters: oneOf('ascii', 'ebcdic', 'hex'),
    start: oneOf('STX'),
    end: oneOf('ETX'),
    lrc: oneOf(true, false),
    emptyFrames: oneOf('Ignored', 'Answered'),
  }),
  correlation: shaped({
    fields: listOf('fields', oneOf(...repeatableFields)),
    echo: eachIn(
      new RegExp(`^(?:${repeatableFields.join('|')})$`),
      `the fields ${repeatableFields.join(', ')}`,
      oneOf(...echoComparisons),
    ),
  }),
  traceNumber: shaped({ digits: whole(4, 12), uniqueBy: oneOf('Terminal', 'Link') }),
  retrievalReference: shaped({
    assignedBy: oneOf('Platform', 'Host'),
    inRequests: oneOf('Always', 'IfAssigned'),
    pattern: layout(...patternParts),
  }),
  version: oneOf('0', '1', '2'),
  localTime: oneOf('TimeAndDate', 'DateTime', 'LongDateTime'),
  amountFormat: oneOf('WithCurrency'),
  pan: oneOf('Always', 'WithoutTrack2'),
  functionCodes: codesBy(
    /^0[0-9]{3}(?: partial| offline)?$/,
    'message types such as 0200, and 0420 partial, 0220 offline',
  ),
  entryModes: codesBy(/^[0-9]{3}$/, 'entry modes such as 051'),
  conditions: codesBy(/^[0-9]{2}$/, 'condition codes such as 08'),
  reversalReasons: shaped({
    field,
    codes: codesBy(/^4[0-9]{3}$/, 'reasons such as 4021'),
    otherwise: code,
  }),
  responseCodes: shaped({
    financial: codesBy(/^.{1,4}$/, hostCodes),
    reversal: codesBy(/^.{1,4}$/, hostCodes),
    network: codesBy(/^.{1,4}$/, hostCodes),
  }),
  originalData: shaped({
    field,
    layout: layout(
      'type',
      'stan',
      'sent',
      'institution',
      'rrn',
      'approval',
      'date',
      'time',
      'terminal',
      'amount',
    ),
    time: oneOf('Transmission', 'Local'),
  }),
  replacement: shaped({
    field,
    layout: layout('remaining', 'before', 'currency', 'decimals'),
    amountIs: oneOf('Reversed', 'Remaining'),
  }),
  network: shaped({
    field,
    codes: shaped(network),
    signOnBy: oneOf('Connection', 'Terminal', 'None'),
    echoSeconds: orNothing(whole(5, 3600)),
  }),
  keyChange: shaped({ field, layout: layout('usage', 'algorithm', 'index', 'check', 'wrapped') }),
  securityControl: layout('format', 'index'),
  mac: shaped({
    algorithm: oneOf('AesCmac', 'Iso9797Alg3'),
    place: oneOf('Last', 64, 128),
    over: oneOf('BeforeField', 'WholeMessage'),
    messages: oneOf('Financial', 'All'),
  }),
  constants,
  omit: listOf('fields', field),
  operations: shaped(Object.fromEntries(operationNames.map((name) => [name, operation]))),
  repeatIndicator: shaped({ field, first: code, repeat: code }, ['field', 'repeat']),
  contents,
  responseContents: contents,
  description: matching(/^.{1,200}$/, 'a text of one line with up to 200 characters'),
  $schema: matching(/^.{1,500}$/, 'the address of the JSON Schema'),
};

/** `null` removes these members of the base. */
const removableMembers = [
  'amountFormat',
  'functionCodes',
  'entryModes',
  'conditions',
  'reversalReasons',
  'responseCodes',
  'securityControl',
  'mac',
  'constants',
  'omit',
  'operations',
  'repeatIndicator',
  'originalData',
  'contents',
  'responseContents',
] as const;

const documentShape = shaped(
  Object.fromEntries(
    Object.entries(shape).map(([member, check]) => {
      const isRemovable = removableMembers.some((each) => each === member);
      return [member, isRemovable ? orNothing(check) : check];
    }),
  ),
  ['name', 'base'],
);

/**
 * The JSON Schema of a host table. It states names and values of members; {@link readHostTable} also checks that the
 * members agree with each other.
 *
 * @example
 * ```ts
 * writeFileSync('host-table.schema.json', JSON.stringify(hostTableSchema()));
 * ```
 */
export function hostTableSchema(): JsonSchema {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Host table of Switchyard',
    ...documentShape.schema,
    $defs: { ...subFieldDefinitions, content: content.schema },
  };
}

/** Members that are merged with those of the base. Every other member replaces that of the base. */
const merged = [
  'framing',
  'correlation',
  'traceNumber',
  'retrievalReference',
  'originalData',
  'replacement',
  'keyChange',
  'network',
] as const;

/** `null` removes a member of the line. */
function mergeField(base: FieldFormat | undefined, overrides: Document): FieldFormat {
  const members = Object.entries({ ...base, ...overrides });
  return Object.fromEntries(members.filter(([, value]) => value !== null)) as FieldFormat;
}

function mergeFields(base: DialectTable['fields'], overrides: Document): DialectTable['fields'] {
  const fields: { [field: number]: FieldFormat } = { ...base };
  for (const [key, format] of Object.entries(overrides)) {
    if (format === null) delete fields[Number(key)];
    else fields[Number(key)] = mergeField(fields[Number(key)], format as Document);
  }
  return fields;
}

function mergeWithBase(
  base: HostTable,
  { base: _base, $schema: _schema, ...overrides }: Document,
): HostTable {
  const { description: _description, ...inherited } = base;
  const table: Record<string, unknown> = { ...inherited, ...overrides };
  for (const member of removableMembers) if (overrides[member] === null) delete table[member];
  for (const member of merged) {
    const overridingPart = overrides[member];
    if (isObject(overridingPart)) table[member] = { ...base[member], ...overridingPart };
  }
  const { correlation } = overrides;
  if (isObject(correlation) && isObject(correlation['echo'])) {
    const echo = { ...base.correlation.echo, ...correlation['echo'] };
    table['correlation'] = { ...base.correlation, ...correlation, echo };
  }
  const { codes } = isObject(overrides['network']) ? overrides['network'] : { codes: undefined };
  if (isObject(codes)) {
    const all = { ...base.network.codes, ...codes };
    table['network'] = { ...base.network, ...(overrides['network'] as Document), codes: all };
  }
  const messages = isObject(overrides['messages']) ? overrides['messages'] : {};
  const ownFields = isObject(messages['fields']) ? messages['fields'] : {};
  table['messages'] = {
    ...base.messages,
    ...messages,
    name: overrides['name'],
    fields: mergeFields(base.messages.fields, ownFields),
  };
  return table as HostTable;
}

/** A field that the base does not have needs these members. */
function requireWholeFields({ messages }: HostTable): void {
  const fields = Object.entries(messages.fields);
  runChecks(
    fields.flatMap(([key, format]) =>
      (['name', 'content', 'size', 'max'] as const)
        .filter((member) => format[member] === undefined)
        .map((member) => () => throwTableError(`/messages/fields/${key}/${member}`, 'is missing')),
    ),
  );
}

function compileTable(table: HostTable): CompiledHost {
  checkFraming(table);
  try {
    return compileHost(table, { now: () => sampleTime });
  } catch (error) {
    if (!(error instanceof Iso8583Error)) throw error;
    const at = error.field === undefined ? '/messages' : `/messages/fields/${error.field}`;
    return throwTableError(at, error.problem ?? 'contradicts the rest of the table');
  }
}

const completedTables = new Map<string, HostTable>(Object.entries(builtInHosts));

/**
 * A table that is part of the platform; undefined for another name.
 *
 * @param name one of {@link hostTableNames}
 * @example
 * ```ts
 * findHostTable('base24')?.framing.header; // 'ISO026000050'
 * ```
 */
export function findHostTable(name: string): HostTable | undefined {
  if (!completedTables.has(name) && Object.hasOwn(shippedTables, name)) {
    const document: Document | undefined = shippedTables[name];
    if (document !== undefined) completedTables.set(name, applyToBase(document));
  }
  return completedTables.get(name);
}

function applyToBase(document: Document): HostTable {
  const base = findHostTable(String(document['base']));
  if (base === undefined) return throwTableError('/base', 'is not a table of the platform');
  return mergeWithBase(base, document);
}

/**
 * Reads a table that a person wrote, as it came out of `JSON.parse`. `base` names the table
 * of the platform that it differs from; a field that is `null` is not known to the host.
 *
 * @param document the table
 * @throws HostTableError with all mistakes and their JSON pointers
 * @example
 * ```ts
 * const table = readHostTable({ name: 'north', base: 'iso1987-binary', framing: { length: 'bcd2' } });
 * ```
 */
export function readHostTable(document: unknown): HostTable {
  documentShape(document, '');
  const table = applyToBase(document as Document);
  requireWholeFields(table);
  checkHostTable(compileTable(table));
  return table;
}
