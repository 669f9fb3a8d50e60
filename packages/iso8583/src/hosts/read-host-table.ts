// Reads a host table from JSON: missing members come from the base table, and every error has a JSON pointer.

import { isObject } from '@switchyard/contract';
import type { DialectTable, FieldFormat } from '../dialect-table.ts';
import { Iso8583Error } from '../errors.ts';
import { operationNames } from '../operation-names.ts';
import { builtInHosts } from './built-in.ts';
import { checkHostTable } from './check-host-table.ts';
import { type CompiledHost, compileHost } from './compile-host.ts';
import type { HostTable } from './host-table.ts';
import { throwTableError } from './host-table-error.ts';
import { sampleTime } from './sample-messages.ts';
import { compileValueLayout } from './value-layout.ts';

type Check = (value: unknown, at: string) => void;
type Shape = { readonly [member: string]: Check };
type Document = { readonly [member: string]: unknown };

const matching =
  (pattern: RegExp, problem: string): Check =>
  (value, at) => {
    if (typeof value !== 'string' || !pattern.test(value))
      throwTableError(at, `must be ${problem}`);
  };

const oneOf =
  (...choices: readonly (string | number | boolean)[]): Check =>
  (value, at) => {
    if (!choices.some((choice) => choice === value))
      throwTableError(
        at,
        `must be one of ${choices.map((choice) => JSON.stringify(choice)).join(', ')}`,
      );
  };

const whole =
  (least: number, most: number): Check =>
  (value, at) => {
    if (!Number.isInteger(value) || Number(value) < least || Number(value) > most) {
      throwTableError(at, `must be a whole number from ${least} to ${most}`);
    }
  };

const shaped =
  (shape: Shape): Check =>
  (value, at) => {
    if (!isObject(value)) return throwTableError(at, 'must be an object');
    for (const [member, inner] of Object.entries(value)) {
      const check = shape[member];
      if (check === undefined) {
        const members = Object.keys(shape).join(', ');
        return throwTableError(
          `${at}/${member}`,
          `is not a member here; the members are ${members}`,
        );
      }
      check(inner, `${at}/${member}`);
    }
  };

const orNothing =
  (check: Check): Check =>
  (value, at) => {
    if (value !== null) check(value, at);
  };

const eachIn =
  (key: RegExp, keys: string, check: Check): Check =>
  (value, at) => {
    if (!isObject(value)) return throwTableError(at, 'must be an object');
    for (const [member, inner] of Object.entries(value)) {
      if (!key.test(member))
        throwTableError(`${at}/${member}`, `has a wrong name; the names are ${keys}`);
      check(inner, `${at}/${member}`);
    }
  };

const layout =
  (...names: readonly string[]): Check =>
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
  };

const code = matching(/^[\x20-\x7e]{1,20}$/, 'a code of up to 20 characters in quotation marks');
/** No field has a longer text; the check compares it with the field. */
const constant = matching(/^[\x20-\x7e]{1,999}$/, 'a text in quotation marks');
const codesBy = (key: RegExp, keys: string) => eachIn(key, keys, code);
const field = whole(2, 128);
const fieldKey = /^(?:[2-9]|[1-9][0-9]|1[01][0-9]|12[0-8])$/;
const fieldKeys = 'field numbers from 2 to 128';
const charset = oneOf('ascii', 'ebcdic');
const lengths = oneOf('ascii', 'ebcdic', 'bcd', 'binary');

const fieldFormat = shaped({
  name: matching(/^.{1,100}$/, 'a name'),
  content: oneOf('n', 'an', 'ans', 'z', 'x+n', 'b', 'tlv'),
  size: oneOf('fixed', 'LL', 'LLL', 'LLLL', 'LLLLLL'),
  max: whole(1, 9999),
  encoding: oneOf('ascii', 'ebcdic', 'bcd', 'raw', 'hex'),
  lengthEncoding: lengths,
  justify: oneOf('left', 'right'),
  pad: oneOf('0', 'F'),
});

const hostCodes = 'response codes of the host';

const listOf =
  (problem: string, check: Check): Check =>
  (value, at) => {
    if (!Array.isArray(value)) return throwTableError(at, `must be a list of ${problem}`);
    for (const [index, each] of value.entries()) check(each, `${at}/${index}`);
  };
const constants = eachIn(fieldKey, fieldKeys, constant);

const operation = shaped({
  type: matching(
    /^0[124][024]0$/,
    'the type of a first copy, such as 0200, with the first digit of 1987',
  ),
  processingCode: matching(/^[0-9]{6}$/, 'six digits in quotation marks'),
  fromOriginal: listOf('the fields 11, 12, 13 and 37', oneOf(11, 12, 13, 37)),
  constants,
  omit: listOf('fields', field),
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
  base: oneOf(...Object.keys(builtInHosts)),
  messages: shaped({
    mti: oneOf('ascii', 'ebcdic', 'bcd'),
    bitmap: oneOf('binary', 'hex'),
    bitmapSize: oneOf('grows', 'fixed16'),
    text: charset,
    numerics: oneOf('ascii', 'ebcdic', 'bcd'),
    lengths,
    binaries: oneOf('raw', 'hex'),
    fields: eachIn(fieldKey, fieldKeys, (value, at) => {
      if (value !== null) fieldFormat(value, at);
    }),
  }),
  framing: shaped({
    length: oneOf('binary2', 'bcd2', 'ascii4', 'vml4'),
    inclusive: oneOf(true, false),
    tpduBytes: oneOf(0, 5),
    tpdu: matching(/^[0-9A-F]{10}$/, 'ten hexadecimal digits'),
  }),
  version: oneOf('0', '1'),
  localTime: oneOf('TimeAndDate', 'DateTime'),
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
    financial: codesBy(/^.{1,3}$/, hostCodes),
    reversal: codesBy(/^.{1,3}$/, hostCodes),
    network: codesBy(/^.{1,3}$/, hostCodes),
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
    layout: layout('remaining', 'before'),
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
  repeatIndicator: shaped({ field, first: code, repeat: code }),
};

/** What a host may do without: `null` takes it away from the base. */
const withoutIt = [
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
] as const;

const documentShape: Shape = Object.fromEntries(
  Object.entries(shape).map(([member, check]) => {
    const optional = withoutIt.some((each) => each === member);
    return [member, optional ? orNothing(check) : check];
  }),
);

/** Members that are merged with those of the base; every other one takes its place. */
const merged = ['framing', 'originalData', 'replacement', 'keyChange', 'network'] as const;

function fieldsOver(base: DialectTable['fields'], overrides: Document): DialectTable['fields'] {
  const fields: { [field: number]: FieldFormat } = { ...base };
  for (const [key, format] of Object.entries(overrides)) {
    if (format === null) delete fields[Number(key)];
    else fields[Number(key)] = { ...fields[Number(key)], ...(format as FieldFormat) };
  }
  return fields;
}

function over(base: HostTable, { base: _base, ...overrides }: Document): HostTable {
  const table: Record<string, unknown> = { ...base, ...overrides };
  for (const member of withoutIt) if (overrides[member] === null) delete table[member];
  for (const member of merged) {
    const overridingPart = overrides[member];
    if (isObject(overridingPart)) table[member] = { ...base[member], ...overridingPart };
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
    fields: fieldsOver(base.messages.fields, ownFields),
  };
  return table as HostTable;
}

function compileTable(table: HostTable): CompiledHost {
  try {
    return compileHost(table, { now: () => sampleTime });
  } catch (error) {
    if (!(error instanceof Iso8583Error)) throw error;
    const at = error.field === undefined ? '/framing' : `/messages/fields/${error.field}`;
    return throwTableError(at, 'contradicts the rest of the table');
  }
}

/**
 * Reads a table that a person wrote, as it came out of `JSON.parse`. `base` names the built-in
 * host that it differs from; a field that is `null` is not known to the host.
 *
 * @param document the table
 * @throws HostTableError with the JSON pointer of the first mistake
 * @example
 * ```ts
 * const table = readHostTable({ name: 'north', base: 'iso1987-binary', framing: { length: 'bcd2' } });
 * ```
 */
export function readHostTable(document: unknown): HostTable {
  shaped(documentShape)(document, '');
  const { name, base } = document as Document;
  if (name === undefined) throwTableError('/name', 'is missing');
  if (base === undefined) throwTableError('/base', 'is missing');
  const table = over(builtInHosts[base as keyof typeof builtInHosts], document as Document);
  checkHostTable(compileTable(table));
  return table;
}
