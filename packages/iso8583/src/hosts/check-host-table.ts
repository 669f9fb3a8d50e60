// Refuses a host table whose members contradict each other, or that removes a required field.
import { responseCodes } from '@switchyard/contract';
import { compileDialect } from '../compile-dialect.ts';
import { Iso8583Error } from '../errors.ts';
import type { Message } from '../message.ts';
import { checkContents } from './check-contents.ts';
import { checkOperations } from './check-operations.ts';
import type { CompiledHost } from './compile-host.ts';
import { identifiesOriginal } from './convert-message.ts';
import { checkCorrelation } from './correlation.ts';
import type { HostTable } from './host-table.ts';
import { runChecks, throwTableError } from './host-table-error.ts';
import { checkReferenceNumbers } from './reference-numbers.ts';
import { createHostSamples, createPlatformSamples } from './sample-messages.ts';
import { compileValueLayout } from './value-layout.ts';

/** Fields that identify a message or state its amount: a host that does not get them books the wrong payment. */
const requiredFields: Readonly<Record<number, string>> = {
  2: 'the card number',
  3: 'the processing code, which distinguishes a refund from a sale',
  4: 'the amount',
  7: 'the transmission time',
  11: 'the trace number',
  37: 'the retrieval reference number',
  39: 'the response code, and distinguishes the advice of an offline sale from a capture',
  41: 'the terminal',
  42: 'the merchant',
  49: 'the currency',
  70: 'the function of a network message',
  90: 'the original message',
  95: 'the remaining amount of a partial reversal',
};

/** Fields that a constant must not replace. Those that are not required can be omitted. */
const variableFields: Readonly<Record<number, string>> = {
  ...requiredFields,
  35: 'track 2',
  38: 'the authorisation code',
  48: 'the security code, the address check and new keys',
  52: 'the PIN block',
  54: 'tip and cashback',
  55: 'the chip data',
};

/** Required fields of network messages, of requests and of responses. */
const networkFields: readonly number[] = [7, 11, 39, 41];

const cardNumberField = 2;
const amountField = 4;
const entryModeField = 22;
const functionCodeField = 24;
const conditionField = 25;
const rrnField = 37;
const transmissionTimeField = 7;
const localTimeFields = [12, 13];
const currencyField = 49;
const responseCodeField = 39;
const keyField = 48;
const networkField = 70;
const originalField = 90;
const replacementField = 95;

/** The fields that other members of the table fill. */
function filledFields(table: HostTable): readonly [number, string][] {
  const { originalData, replacement, network, keyChange, functionCodes } = table;
  const filledByCodes: [number, string][] =
    functionCodes === undefined ? [] : [[functionCodeField, 'functionCodes']];
  const filledByOriginal: [number, string][] =
    originalData === undefined ? [] : [[originalData.field, 'originalData']];
  return [
    ...filledByOriginal,
    [replacement.field, 'replacement'],
    [network.field, 'network'],
    [keyChange.field, 'keyChange'],
    ...filledByCodes,
  ];
}

/** A member must not replace a required field, or the field of another member. */
function checkTargetFields(table: HostTable): void {
  const { functionCodes, originalData, replacement, reversalReasons, network, keyChange } = table;
  const check = (
    members: readonly [string, number | undefined, number?][],
    isRequired: (field: number) => boolean,
  ) => {
    const memberByField = new Map<number, string>();
    for (const [member, field, ownField] of members) {
      if (field === undefined) continue;
      const at = `/${member}/field`;
      if (field !== ownField && isRequired(field))
        throwTableError(at, `must not be ${field}: this field contains ${variableFields[field]}`);
      const other = memberByField.get(field);
      if (other !== undefined)
        throwTableError(at, `must not be ${field}: ${other} writes this field`);
      memberByField.set(field, member);
    }
  };
  check(
    [
      ['functionCodes', functionCodes && functionCodeField],
      ['originalData', originalData?.field, originalField],
      ['replacement', replacement.field, replacementField],
      // A request has a response code only as the advice of an offline sale.
      ['reversalReasons', reversalReasons?.field, responseCodeField],
    ],
    (field) => variableFields[field] !== undefined,
  );
  check(
    [
      ['network', network.field, networkField],
      ['keyChange', keyChange.field, keyField],
    ],
    (field) => networkFields.includes(field),
  );
}

function checkConstants(table: HostTable): void {
  for (const key of Object.keys(table.constants ?? {})) {
    const at = `/constants/${key}`;
    const field = Number(key);
    const content = variableFields[field];
    if (content !== undefined)
      throwTableError(at, `is not allowed: field ${key} contains ${content}. Remove this constant`);
    const [, member] = filledFields(table).find(([each]) => each === field) ?? [];
    if (member !== undefined)
      throwTableError(at, `is not allowed: ${member} writes field ${key}. Remove this constant`);
  }
}

function checkOmittedFields(table: HostTable): void {
  const { omit = [], reversalReasons, retrievalReference } = table;
  // The platform writes new keys in no message, so field 48 can be omitted.
  const filled = filledFields(table).filter(([field]) => field !== keyField);
  if (reversalReasons !== undefined) filled.push([reversalReasons.field, 'reversalReasons']);
  const checkField = (field: number, at: string) => {
    const content = requiredFields[field];
    const isAssignedByHost = field === rrnField && retrievalReference.assignedBy === 'Host';
    // The local time distinguishes messages with the same trace number.
    const hasLocalTime = localTimeFields.every((each) => !omit.includes(each));
    const isReplaced = field === transmissionTimeField && hasLocalTime;
    if (content !== undefined && !isAssignedByHost && !isReplaced)
      throwTableError(at, `must not be ${field}: ${describeOmission(table, field, content)}`);
    const [, member] = filled.find(([each]) => each === field) ?? [];
    if (member !== undefined)
      throwTableError(at, `must not be ${field}: ${member} writes this field`);
  };
  runChecks(omit.map((field, index) => () => checkField(field, `/omit/${index}`)));
}

function describeOmission({ originalData }: HostTable, field: number, content: string): string {
  if (field === originalField && originalData?.field !== originalField)
    return 'the platform does not send it with this originalData. Remove it from omit';
  return `this field contains ${content}`;
}

const functionCodesOf1993 = ['0100', '0200', '0220', '0220 offline', '0420', '0420 partial'];

function checkFunctionCodes({ version, functionCodes }: HostTable): void {
  if (version === '0') return;
  const missing = functionCodesOf1993.find((type) => functionCodes?.[type] === undefined);
  if (missing === undefined) return;
  throwTableError(
    functionCodes === undefined ? '/functionCodes' : `/functionCodes/${missing}`,
    'is missing: a host with ISO 8583:1993 distinguishes messages by field 24, such as partial reversals. ' +
      `Add a code for each of ${functionCodesOf1993.join(', ')}`,
  );
}

function describeProblem({ code, field }: Iso8583Error, { messages }: HostTable): string {
  const length = field === undefined ? undefined : messages.fields[field]?.max;
  const problems: Readonly<Record<string, string>> = {
    field_unknown: 'the table has no such field',
    length_mismatch: `the field has the fixed length ${length}`,
    length_exceeded: `the field has the maximum length ${length}`,
    content_invalid: 'the field does not allow these characters',
  };
  return problems[code] ?? code;
}

type ValueCheck = (field: number, value: string, at: string) => void;

/** Encodes a value in its field, as the platform would in a message. */
function createValueCheck(table: HostTable): ValueCheck {
  const dialect = compileDialect(table.messages);
  return (field, value, at) => {
    try {
      dialect.encode({ mti: '0200', fields: { [field]: value } });
    } catch (error) {
      if (!(error instanceof Iso8583Error)) throw error;
      const problem = describeProblem(error, table);
      throwTableError(at, `has the value ${value}, which does not fit field ${field}: ${problem}`);
    }
  };
}

function checkResponseCodes(
  { responseCodes: codesByKind }: HostTable,
  checkValue: ValueCheck,
): void {
  for (const [kind, codes] of Object.entries(codesByKind ?? {})) {
    for (const [hostCode, meaning] of Object.entries(codes)) {
      const at = `/responseCodes/${kind}/${hostCode}`;
      checkValue(responseCodeField, hostCode, at);
      if (!Object.hasOwn(responseCodes, meaning))
        throwTableError(
          at,
          `must be a response code of two characters that the platform knows, such as 05 or 68`,
        );
    }
  }
}

/** The codes of the host are values of fields. */
function checkCodes(table: HostTable, checkValue: ValueCheck): void {
  const { network, reversalReasons, functionCodes, entryModes, conditions, constants = {} } = table;
  const checkAll = (codes: object | undefined, field: number, at: string) => {
    if (table.omit?.includes(field)) return;
    for (const [name, value] of Object.entries(codes ?? {}))
      checkValue(field, value, `${at}/${name}`);
  };
  checkAll(network.codes, network.field, '/network/codes');
  checkAll(functionCodes, functionCodeField, '/functionCodes');
  checkAll(entryModes, entryModeField, '/entryModes');
  checkAll(conditions, conditionField, '/conditions');
  for (const [field, value] of Object.entries(constants))
    checkValue(Number(field), value, `/constants/${field}`);
  if (reversalReasons === undefined) return;
  for (const member of ['field', 'codes', 'otherwise'] as const) {
    if (reversalReasons[member] === undefined)
      throwTableError(`/reversalReasons/${member}`, 'is missing');
  }
  const { field, codes, otherwise } = reversalReasons;
  checkAll(codes, field, '/reversalReasons/codes');
  checkValue(field, otherwise, '/reversalReasons/otherwise');
}

function checkMac({ mac, messages }: HostTable): void {
  if (mac === undefined) return;
  for (const member of ['algorithm', 'place', 'over', 'messages'] as const) {
    if (mac[member] === undefined) throwTableError(`/mac/${member}`, 'is missing');
  }
  if (mac.over === 'BeforeField' && mac.place === 64) {
    throwTableError(
      '/mac/over',
      'must be WholeMessage if the place is 64, because field 64 is not always the last field',
    );
  }
  for (const macField of mac.place === 'Last' ? ([64, 128] as const) : [mac.place]) {
    if (messages.fields[macField] === undefined)
      throwTableError(`/messages/fields/${macField}`, 'is missing');
  }
}

/** The member that converts a required field; the others are converted by their format alone. */
const convertingMembers: Readonly<Record<number, string>> = {
  [amountField]: '/replacement',
  [responseCodeField]: '/responseCodes',
  [originalField]: '/originalData',
  [replacementField]: '/replacement',
};

/** Type, trace number and time of the original: many hosts do not require the institutions after them. */
const originalLength = 20;

function convertSample(host: CompiledHost, name: string, message: Message): Message {
  try {
    return host.decode(host.encode(message));
  } catch (error) {
    if (!(error instanceof Iso8583Error)) throw error;
    const { field } = error;
    const at = field === undefined ? '/messages' : `/messages/fields/${field}`;
    const remedy =
      field === undefined || requiredFields[field] !== undefined
        ? ''
        : '. Change its format, or add it to omit';
    const problem = `does not allow the sample message "${name}": ${describeProblem(error, host.table)}${remedy}`;
    return throwTableError(at, problem);
  }
}

/** Encodes and decodes the sample messages, and compares the fields of the platform's messages that vary. */
function checkSampleMessages(host: CompiledHost): void {
  const { table } = host;
  const { layout, amountIs } = table.replacement;
  const hasPreviousAmount = compileValueLayout(layout)?.names.includes('before') === true;
  const isOriginalComparable = identifiesOriginal(table);
  const isComparable = (name: string, field: number, { 35: track2 }: Message['fields']) => {
    if (field === originalField && !isOriginalComparable) return false;
    if (table.contents?.[field] !== undefined) return false;
    // Functions can share a code. Without the previous amount, field 4 does not give the reversed amount.
    if (field === networkField || table.omit?.includes(field)) return false;
    // Track 2 contains the card number.
    if (field === cardNumberField && table.pan === 'WithoutTrack2') return track2 === undefined;
    const isAmount = field === amountField || field === replacementField;
    return !(name === 'partial' && isAmount && amountIs === 'Remaining' && !hasPreviousAmount);
  };
  for (const [name, sample] of Object.entries<Message>(createPlatformSamples(table.messages))) {
    const { fields, operation } = convertSample(host, name, sample);
    const { omit = [] } = (operation && table.operations?.[operation.name]) ?? {};
    for (const [key, content] of Object.entries(variableFields)) {
      const field = Number(key);
      const length = field === originalField ? originalLength : undefined;
      const expected = sample.fields[field]?.slice(0, length);
      const actual = fields[field]?.slice(0, length);
      if (expected === undefined || expected === actual || omit.includes(field)) continue;
      if (!isComparable(name, field, fields)) continue;
      throwTableError(
        convertingMembers[field] ?? `/messages/fields/${key}`,
        `changes ${content}: field ${key} of the sample message "${name}" is ${actual ?? 'missing'} ` +
          `after encoding and decoding, and must be ${expected}`,
      );
    }
  }
  for (const [name, sample] of Object.entries(createHostSamples(table.messages)))
    convertSample(host, name, sample);
}

/** @throws HostTableError with the JSON pointers of the mistakes; samples are encoded only without other mistakes */
export function checkHostTable(host: CompiledHost): void {
  const { table } = host;
  const checkValue = createValueCheck(table);
  runChecks([
    () => checkMac(table),
    () => checkTargetFields(table),
    () => checkConstants(table),
    () => checkOmittedFields(table),
    () => checkFunctionCodes(table),
    () => checkCorrelation(table),
    () => checkReferenceNumbers(table, checkValue),
    () => checkResponseCodes(table, checkValue),
    () => checkCodes(table, checkValue),
  ]);
  const { [currencyField]: currency, ...otherRequiredFields } = requiredFields;
  checkContents(table, {
    requiredFields: table.amountFormat === undefined ? requiredFields : otherRequiredFields,
    filledFields: filledFields(table),
  });
  checkOperations(host, {
    variableFields,
    requiredFields,
    filledFields: filledFields(table),
    checkValue,
    convertSample,
  });
  checkSampleMessages(host);
}
