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
import type { SourceLine } from './import-body.ts';
import { type BulkKind, bulkKindOf, bulkKinds, type Parent } from './importable-types.ts';

export type Line = {
  readonly line: number;
  readonly bulkKind: BulkKind;
  readonly operation: BulkOperation;
  /** The members that the single route also has. */
  readonly data: ResourceInput;
  /** The members that only a line has. */
  readonly besides: ResourceInput;
};

/** A valid line, or the refusal of an invalid one. */
export type ReadLine = Line | (Named & { readonly line: number; readonly refusal: ProblemError });

type Named = Pick<BulkResult, 'type' | 'externalId'>;

type Check = (value: unknown) => void;

const validation = createSchemaValidation();

/** Returns the same codes, pointers and texts as for the body of a single request. */
function checkOf(schema: TSchema): Check {
  const check = validation.compile({ schema, httpPart: 'body' });
  return (value) => {
    const verdict = check(value);
    if (verdict !== true) throw verdict.error;
  };
}

const checkLine = checkOf(BulkLine);

const checks = new Map(
  bulkKinds.map(({ type, input, replacement, deletion, besides }) => [
    type,
    {
      besides: checkOf(besides),
      input: checkOf(input),
      replacement: checkOf(replacement),
      deletion: checkOf(deletion),
    },
  ]),
);

/** Replaces a parent that is named by its external identifier during the schema check. */
const anyId = '00000000-0000-7000-8000-000000000000';

function checkData(line: Line, schema: 'input' | 'replacement' | 'deletion'): void {
  const { bulkKind, data, besides } = line;
  const { properties } = bulkKind[schema];
  const named = bulkKind.parents
    .filter(({ external, member }) => external in besides && member in properties)
    .map(({ member }) => [member, anyId]);
  checks.get(bulkKind.type)?.[schema]({ ...Object.fromEntries(named), ...data });
}

/** @throws Refusal with the same errors as the single route */
export const checkInput = (line: Line): void => checkData(line, 'input');

const schemas = {
  create: 'input',
  replace: 'replacement',
  // The members for an existing entity; if none exists, the line is checked again as a creation.
  upsert: 'replacement',
  delete: 'deletion',
} as const;

/** Two names of one parent could mean two different entities. */
function refuseTwice(
  parents: readonly Parent[],
  data: ResourceInput,
  besides: ResourceInput,
): void {
  for (const { external, member } of parents) {
    if (!(external in besides && (member in data || member in besides))) continue;
    const detail = `stands in place of ${member}: give one of the two`;
    throw new ProblemError('field_invalid', `${external} ${detail}.`, {
      errors: [{ pointer: `/${external}`, code: 'field_invalid', detail }],
    });
  }
}

/** @throws Refusal for faults that are visible without a database lookup */
function lineOf(line: number, value: unknown): Line {
  checkLine(value);
  const { type, operation = 'upsert', data: all } = value as BulkLine;
  const bulkKind = bulkKindOf(type);
  const ofLine = Object.keys(bulkKind.besides.properties);
  const isBeside = ([name]: [string, unknown]) => ofLine.includes(name);
  const besides = Object.fromEntries(Object.entries(all).filter(isBeside));
  const data = Object.fromEntries(Object.entries(all).filter((one) => !isBeside(one)));
  const read: Line = { line, bulkKind, operation, data, besides };
  checks.get(type)?.besides(besides);
  refuseTwice(bulkKind.parents, data, besides);
  checkData(read, schemas[operation]);
  return read;
}

const showable = /^[^\p{Cc}]{1,64}$/u;

/** The names that help a client to find a wrong line. */
function namesIn(value: unknown): Named {
  const { type, data } = Object(value) as { type?: unknown; data?: unknown };
  const { externalId } = Object(data) as { externalId?: unknown };
  const known = bulkTypes.find((one) => one === type);
  const isShown = typeof externalId === 'string' && showable.test(externalId);
  return {
    ...defined({ type: known }),
    ...(isShown ? { externalId } : {}),
  };
}

export function readLine({ line, said }: SourceLine): ReadLine {
  if ('refusal' in said) return { line, refusal: said.refusal };
  try {
    return lineOf(line, said.value);
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    return { line, refusal: error, ...namesIn(said.value) };
  }
}

/** The error in the form of an API problem (RFC 9457). */
export function errorOf({
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

export function failedAnswer(one: ReadLine, refusal: ProblemError): BulkResult {
  const { type, externalId } =
    'refusal' in one ? one : { type: one.bulkKind.type, externalId: one.data['externalId'] };
  return {
    line: one.line,
    status: 'failed',
    ...defined({ type, externalId: externalId === undefined ? undefined : String(externalId) }),
    error: errorOf(refusal),
  };
}
