// Validates a line: its type, its operation, and the members of the single routes.
import {
  BulkLine,
  type BulkOperation,
  type BulkResult,
  bulkTypes,
  defined,
  ProblemError,
} from '@switchyard/contract';
import type { TSchema } from 'typebox';
import { createSchemaValidation } from '../../../http/index.ts';
import type { ResourceInput } from '../../resources/resource-definition.ts';
import type { BodyLine } from './import-body.ts';
import {
  findImportableType,
  type ImportableType,
  importableTypes,
  type ParentReference,
} from './importable-types.ts';

export type ImportLine = {
  readonly line: number;
  readonly importableType: ImportableType;
  readonly operation: BulkOperation;
  /** The members that the single route also has. */
  readonly data: ResourceInput;
  /** The members that only a line has. */
  readonly lineMembers: ResourceInput;
};

/** A valid line, or the refusal of an invalid one. */
export type ParsedLine =
  | ImportLine
  | (LineNames & { readonly line: number; readonly problem: ProblemError });

type LineNames = Pick<BulkResult, 'type' | 'externalId'>;

type SchemaCheck = (value: unknown) => void;

const validation = createSchemaValidation();

/** Returns the same codes, pointers and texts as for the body of a single request. */
function compileCheck(schema: TSchema): SchemaCheck {
  const check = validation.compile({ schema, httpPart: 'body' });
  return (value) => {
    const validity = check(value);
    if (validity !== true) throw validity.error;
  };
}

const checkLine = compileCheck(BulkLine);

const checks = new Map(
  importableTypes.map(({ type, input, replacement, deletion, lineMembers }) => [
    type,
    {
      lineMembers: compileCheck(lineMembers),
      input: compileCheck(input),
      replacement: compileCheck(replacement),
      deletion: compileCheck(deletion),
    },
  ]),
);

/** Replaces a parent that is named by its external identifier during the schema check. */
const placeholderId = '00000000-0000-7000-8000-000000000000';

function checkData(line: ImportLine, schema: 'input' | 'replacement' | 'deletion'): void {
  const { importableType, data, lineMembers } = line;
  const { properties } = importableType[schema];
  const parentIds = importableType.parents
    .filter(
      ({ externalIdMember, idMember }) => externalIdMember in lineMembers && idMember in properties,
    )
    .map(({ idMember }) => [idMember, placeholderId]);
  checks.get(importableType.type)?.[schema]({ ...Object.fromEntries(parentIds), ...data });
}

/** @throws ProblemError with the same errors as the single route */
export const checkLineAsCreation = (line: ImportLine): void => checkData(line, 'input');

const schemaOfOperation = {
  create: 'input',
  replace: 'replacement',
  // The members for an existing entity; if none exists, the line is checked again as a creation.
  upsert: 'replacement',
  delete: 'deletion',
} as const;

/** Two names of one parent could mean two different entities. */
function requireOneNameForParent(
  parents: readonly ParentReference[],
  data: ResourceInput,
  lineMembers: ResourceInput,
): void {
  for (const { externalIdMember, idMember } of parents) {
    if (!(externalIdMember in lineMembers && (idMember in data || idMember in lineMembers)))
      continue;
    const detail = `cannot be combined with ${idMember}; send one of the two`;
    throw new ProblemError('field_invalid', `${externalIdMember} ${detail}.`, {
      errors: [{ pointer: `/${externalIdMember}`, code: 'field_invalid', detail }],
    });
  }
}

/** @throws ProblemError for faults that are visible without a database lookup */
function validateLine(line: number, value: unknown): ImportLine {
  checkLine(value);
  const { type, operation = 'upsert', data: all } = value as BulkLine;
  const importableType = findImportableType(type);
  const lineMemberNames = Object.keys(importableType.lineMembers.properties);
  const isLineMember = ([name]: [string, unknown]) => lineMemberNames.includes(name);
  const lineMembers = Object.fromEntries(Object.entries(all).filter(isLineMember));
  const data = Object.fromEntries(Object.entries(all).filter((one) => !isLineMember(one)));
  const importLine: ImportLine = { line, importableType, operation, data, lineMembers };
  checks.get(type)?.lineMembers(lineMembers);
  requireOneNameForParent(importableType.parents, data, lineMembers);
  checkData(importLine, schemaOfOperation[operation]);
  return importLine;
}

const displayableText = /^[^\p{Cc}]{1,64}$/u;

/** The names that help a client to find a wrong line. */
function findLineNames(value: unknown): LineNames {
  const { type, data } = Object(value) as { type?: unknown; data?: unknown };
  const { externalId } = Object(data) as { externalId?: unknown };
  const knownType = bulkTypes.find((one) => one === type);
  const isDisplayable = typeof externalId === 'string' && displayableText.test(externalId);
  return {
    ...defined({ type: knownType }),
    ...(isDisplayable ? { externalId } : {}),
  };
}

export function parseBodyLine({ line, content }: BodyLine): ParsedLine {
  if ('problem' in content) return { line, problem: content.problem };
  try {
    return validateLine(line, content.value);
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    return { line, problem: error, ...findLineNames(content.value) };
  }
}

/** The error in the form of an API problem (RFC 9457). */
export function toImportError({
  code,
  detail,
  errors,
  extensions,
}: ProblemError): NonNullable<BulkResult['error']> {
  const dependants = extensions?.dependants;
  return {
    code,
    detail,
    ...defined({ errors: errors === undefined ? undefined : [...errors], dependants }),
  };
}

export function buildFailedResult(one: ParsedLine, problem: ProblemError): BulkResult {
  const { type, externalId } =
    'problem' in one ? one : { type: one.importableType.type, externalId: one.data['externalId'] };
  return {
    line: one.line,
    status: 'failed',
    ...defined({ type, externalId: externalId === undefined ? undefined : String(externalId) }),
    error: toImportError(problem),
  };
}
