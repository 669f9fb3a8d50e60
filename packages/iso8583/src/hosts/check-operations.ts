// Refuses operations of a host table that lose a field, or that the host cannot distinguish.
import type { Message } from '../message.ts';
import { type OperationName, operationNames } from '../operation-names.ts';
import type { CompiledHost } from './compile-host.ts';
import { hasOwnOperations } from './convert-message.ts';
import type { HostTable } from './host-table.ts';
import { runChecks, throwTableError } from './host-table-error.ts';
import { canonicalOperations, compileOperations, hasOriginal } from './operations.ts';
import { createOperationSamples } from './sample-messages.ts';
import { compileValueLayout } from './value-layout.ts';

export type FieldRules = {
  /** Content of the fields that a constant must not replace. */
  readonly variableFields: Readonly<Record<number, string>>;
  /** Content of the fields that no message may omit. */
  readonly requiredFields: Readonly<Record<number, string>>;
  /** Fields that other members of the table fill. */
  readonly filledFields: readonly (readonly [field: number, member: string])[];
  checkValue(field: number, value: string, at: string): void;
  /** Encodes and decodes a sample. */
  convertSample(host: CompiledHost, name: string, sample: Message): Message;
};

/** A follow-up message can omit them, because it has the numbers of its original. */
const omittableFields = [2, 37];

/** Each part is sufficient to find an original; `approval` exists only after an approval. */
const partsThatFindOriginal = ['stan', 'rrn', 'approval'];

function checkConstant(
  { variableFields, filledFields, checkValue }: FieldRules,
  field: number,
  value: string,
  at: string,
): void {
  const content = variableFields[field];
  if (content !== undefined)
    throwTableError(at, `is not allowed: field ${field} contains ${content}. Use another field`);
  const [, member] = filledFields.find(([each]) => each === field) ?? [];
  if (member !== undefined)
    throwTableError(at, `is not allowed: ${member} writes field ${field}. Use another field`);
  checkValue(field, value, at);
}

function checkMembers({ operations = {} }: HostTable, rules: FieldRules): void {
  for (const name of operationNames) {
    const { constants = {}, omit = [], fromOriginal = [] } = operations[name] ?? {};
    const at = `/operations/${name}`;
    // Network messages are no operation, and an operation can have its own function code.
    const filledFields = rules.filledFields.filter(
      ([, member]) => member !== 'network' && member !== 'functionCodes',
    );
    for (const [key, value] of Object.entries(constants))
      checkConstant({ ...rules, filledFields }, Number(key), value, `${at}/constants/${key}`);
    for (const [index, field] of omit.entries()) {
      const content = rules.requiredFields[field];
      const isOriginal = field === 90 || (hasOriginal(name) && omittableFields.includes(field));
      if (content !== undefined && !isOriginal)
        throwTableError(
          `${at}/omit/${index}`,
          `must not be ${field}: this field contains ${content}`,
        );
    }
    if (fromOriginal.length > 0 && !hasOriginal(name))
      throwTableError(`${at}/fromOriginal`, `is not allowed: this operation has no original`);
  }
}

function checkRepeatIndicator({ repeatIndicator }: HostTable, rules: FieldRules): void {
  if (repeatIndicator === undefined) return;
  const { field, first, repeat } = repeatIndicator;
  checkConstant(rules, field, repeat, '/repeatIndicator/repeat');
  if (first !== undefined) checkConstant(rules, field, first, '/repeatIndicator/first');
}

/** The parts of an original that the messages of an operation contain. */
function partsOfOriginal({ originalData, omit: omitted = [] }: HostTable, settings: Settings) {
  const { fromOriginal = [], omit = [] } = settings;
  const hasField = originalData !== undefined && !omit.includes(originalData.field);
  const names = hasField ? (compileValueLayout(originalData.layout)?.names ?? []) : [];
  const repeated = [fromOriginal.includes(11) && 'stan', fromOriginal.includes(37) && 'rrn'];
  const hasApproval = ![...omit, ...omitted].includes(38);
  return [...names, ...repeated, hasApproval && 'approval'];
}

type Settings = { readonly fromOriginal?: readonly number[]; readonly omit?: readonly number[] };

function checkOriginals(
  table: HostTable,
  settings: { readonly [name in OperationName]: Settings },
): void {
  for (const name of operationNames.filter(hasOriginal)) {
    const parts = partsOfOriginal(table, settings[name]);
    // After a time-out the platform has no approval code, and no number that the host assigned.
    const isAssigned = table.retrievalReference.assignedBy === 'Host';
    const ownNumbers = isAssigned ? ['stan'] : ['stan', 'rrn'];
    const required = name === 'reversal' ? ownNumbers : partsThatFindOriginal;
    if (required.some((part) => parts.includes(part))) continue;
    const fields = required.includes('rrn') ? '11 or 37' : '11';
    throwTableError(
      `/operations/${name}`,
      `does not identify its original: add ${required.join(' or ')} to the layout of originalData, ` +
        `or ${fields} to fromOriginal`,
    );
  }
}

/** Encodes and decodes a message of each operation. */
function checkSamples(
  host: CompiledHost,
  operations: ReturnType<typeof compileOperations>,
  { convertSample }: FieldRules,
): void {
  const { originalData, messages } = host.table;
  const samples = createOperationSamples(messages);
  for (const name of operationNames) {
    const sample = samples[name];
    const { operation, original, fields } = convertSample(host, name, sample);
    const { type, processingCode = sample.fields[3] } = operations.settings[name];
    const remedy =
      'Give it another type, another processingCode, or a constant in a field that the other operation does not have';
    if (operation === undefined)
      throwTableError(
        `/operations/${name}`,
        `cannot be read by the host: no operation has the type ${type} and the processing code ${processingCode}. ${remedy}`,
      );
    const other = operation.name;
    if (canonicalOperations[other].group !== canonicalOperations[name].group)
      throwTableError(
        `/operations/${name}`,
        `cannot be distinguished from ${other}: the host reads a message of the type ${type} with the processing ` +
          `code ${processingCode} as ${other}. ${remedy}`,
      );
    const isOriginalSent = hasOriginal(name) && fields[90] === undefined;
    const layout = isOriginalSent ? compileValueLayout(originalData?.layout ?? '') : undefined;
    const { omit = [] } = operations.settings[name];
    for (const part of omit.includes(originalData?.field ?? 0) ? [] : (layout?.names ?? [])) {
      if (!isOriginalPart(part) || original?.[part] === sample.original?.[part]) continue;
      throwTableError(
        '/originalData/layout',
        `changes the part ${part}: it is ${original?.[part] ?? 'missing'} after encoding and decoding, and must be ` +
          `${sample.original?.[part]}. Increase its length`,
      );
    }
  }
}

const comparedParts = ['stan', 'rrn', 'approval', 'date', 'time', 'terminal', 'amount'] as const;

const isOriginalPart = (part: string): part is (typeof comparedParts)[number] =>
  comparedParts.some((each) => each === part);

/** @throws HostTableError with the JSON pointer of the first mistake */
export function checkOperations(host: CompiledHost, rules: FieldRules): void {
  const { table } = host;
  runChecks([() => checkMembers(table, rules), () => checkRepeatIndicator(table, rules)]);
  if (!hasOwnOperations(table)) return;
  const operations = compileOperations(table);
  checkOriginals(table, operations.settings);
  checkSamples(host, operations, rules);
}
