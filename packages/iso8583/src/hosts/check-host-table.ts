// Refuses a host table whose members contradict each other, or that removes a field on which money depends.
import { responseCodes } from '@switchyard/contract';
import { compileDialect, type Dialect } from '../compile-dialect.ts';
import { Iso8583Error } from '../errors.ts';
import type { HostTable } from './host-table.ts';
import { fault } from './host-table-error.ts';

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

/** A constant would replace their values; a host may still refuse these fields altogether. */
const variableFields: Readonly<Record<number, string>> = {
  ...requiredFields,
  35: 'track 2',
  38: 'the authorisation code',
  48: 'the security code, the address check and new keys',
  52: 'the PIN block',
  54: 'tip and cashback',
  55: 'the chip data',
};

const entryModeField = 22;
const functionCodeField = 24;
const conditionField = 25;
const responseCodeField = 39;

/** The fields that other members of the table fill. */
function filledFields(table: HostTable): readonly [number, string][] {
  const { originalData, replacement, network, keyChange, functionCodes } = table;
  const filledByCodes: [number, string][] =
    functionCodes === undefined ? [] : [[functionCodeField, 'functionCodes']];
  return [
    [originalData.field, 'originalData'],
    [replacement.field, 'replacement'],
    [network.field, 'network'],
    [keyChange.field, 'keyChange'],
    ...filledByCodes,
  ];
}

function checkConstants(table: HostTable): void {
  for (const key of Object.keys(table.constants ?? {})) {
    const at = `/constants/${key}`;
    const field = Number(key);
    const fact = variableFields[field];
    if (fact !== undefined)
      fault(at, `is not allowed: field ${key} contains ${fact}. Remove this constant`);
    const [, member] = filledFields(table).find(([each]) => each === field) ?? [];
    if (member !== undefined)
      fault(at, `is not allowed: ${member} writes field ${key}. Remove this constant`);
  }
}

function checkOmittedFields({ omit = [] }: HostTable): void {
  for (const [index, field] of omit.entries()) {
    const fact = requiredFields[field];
    if (fact !== undefined)
      fault(`/omit/${index}`, `must not be ${field}: this field contains ${fact}`);
  }
}

const formatProblems: Readonly<Record<string, string>> = {
  field_unknown: 'the table has no such field',
  length_mismatch: 'the field has another length',
  length_exceeded: 'the field is shorter',
  content_invalid: 'the field does not allow these characters',
};

/** Encodes the value in its field, as the platform would in a message. */
function checkValue(dialect: Dialect, field: number, value: string, at: string): void {
  try {
    dialect.encode({ mti: '0200', fields: { [field]: value } });
  } catch (error) {
    if (!(error instanceof Iso8583Error)) throw error;
    const problem = formatProblems[error.code] ?? error.code;
    fault(at, `has the value ${value}, which does not fit field ${field}: ${problem}`);
  }
}

function checkResponseCodes({ responseCodes: codesByKind }: HostTable, dialect: Dialect): void {
  for (const [kind, codes] of Object.entries(codesByKind ?? {})) {
    for (const [hostCode, meaning] of Object.entries(codes)) {
      const at = `/responseCodes/${kind}/${hostCode}`;
      checkValue(dialect, responseCodeField, hostCode, at);
      if (!Object.hasOwn(responseCodes, meaning))
        fault(
          at,
          `must be a response code of two characters that the platform knows, such as 05 or 68`,
        );
    }
  }
}

/** The codes of the host are values of fields. */
function checkCodes(table: HostTable, dialect: Dialect): void {
  const { network, reversalReasons, functionCodes, entryModes, conditions, constants = {} } = table;
  const checkAll = (codes: object | undefined, field: number, at: string) => {
    if (table.omit?.includes(field)) return;
    for (const [name, value] of Object.entries(codes ?? {}))
      checkValue(dialect, field, value, `${at}/${name}`);
  };
  checkAll(network.codes, network.field, '/network/codes');
  checkAll(functionCodes, functionCodeField, '/functionCodes');
  checkAll(entryModes, entryModeField, '/entryModes');
  checkAll(conditions, conditionField, '/conditions');
  for (const [field, value] of Object.entries(constants))
    checkValue(dialect, Number(field), value, `/constants/${field}`);
  if (reversalReasons === undefined) return;
  for (const member of ['field', 'codes', 'otherwise'] as const) {
    if (reversalReasons[member] === undefined) fault(`/reversalReasons/${member}`, 'is missing');
  }
  const { field, codes, otherwise } = reversalReasons;
  checkAll(codes, field, '/reversalReasons/codes');
  checkValue(dialect, field, otherwise, '/reversalReasons/otherwise');
}

function checkMac({ mac, messages }: HostTable): void {
  if (mac === undefined) return;
  for (const member of ['algorithm', 'place', 'over', 'messages'] as const) {
    if (mac[member] === undefined) fault(`/mac/${member}`, 'is missing');
  }
  if (mac.over === 'BeforeField' && mac.place === 64) {
    fault('/mac/over', 'must be WholeMessage where the place is 64: it need not be the last field');
  }
  for (const macField of mac.place === 'Last' ? ([64, 128] as const) : [mac.place]) {
    if (messages.fields[macField] === undefined)
      fault(`/messages/fields/${macField}`, 'is missing');
  }
}

/** @throws HostTableError with the place of the first fault */
export function checkHostTable(table: HostTable): void {
  checkMac(table);
  checkConstants(table);
  checkOmittedFields(table);
  const dialect = compileDialect(table.messages);
  checkResponseCodes(table, dialect);
  checkCodes(table, dialect);
}
