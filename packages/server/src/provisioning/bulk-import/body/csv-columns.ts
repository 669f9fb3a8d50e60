// Maps the columns of a CSV import to the members of a line.
import { type FieldError, ProblemError } from '@switchyard/contract';
import { nearestName } from '../../../platform/index.ts';
import { importableTypes } from './importable-types.ts';

/** The target of a cell: `type`, `operation`, or a path within `data`. */
export type Column = { readonly name: string; readonly path: readonly string[] };

const lineMembers = ['type', 'operation'];
const labelColumn = /^labels\.(.+)$/;
const columnsMax = 200;
const displayedCharsMax = 40;

/** Names of members in nested objects, such as `address.city`. */
function listMemberNames(schema: { readonly properties?: object }): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, part]) => {
    const inner = (part as { properties?: Record<string, unknown> }).properties;
    if (name === 'labels') return [];
    return inner === undefined ? [name] : Object.keys(inner).map((below) => `${name}.${below}`);
  });
}

const knownColumns = new Set([
  ...lineMembers,
  ...importableTypes.flatMap((one) => [
    one.definition.idMember,
    ...listMemberNames(one.input),
    ...listMemberNames(one.lineMembers),
  ]),
]);

/** A column name may contain any text, so the error shows it only if it looks like a name. */
const displayName = (name: string) =>
  /^[A-Za-z][A-Za-z0-9_. -]*$/.test(name)
    ? `“${name.slice(0, displayedCharsMax)}”`
    : 'without a name';

function findColumnError(
  name: string,
  index: number,
  names: readonly string[],
): FieldError | undefined {
  const pointer = `/${index}`;
  if (names.indexOf(name) < index) {
    return {
      pointer,
      code: 'field_invalid',
      detail: `The column ${displayName(name)} occurs twice.`,
    };
  }
  if (knownColumns.has(name) || labelColumn.test(name)) return undefined;
  const nearest = nearestName(name.slice(0, displayedCharsMax), [...knownColumns, 'labels.']);
  const hint = nearest === 'labels.' ? 'labels. and the name of a label' : nearest;
  const detail = `The column ${displayName(name)} is unknown; the most similar name is ${hint}.`;
  return { pointer, code: 'field_unknown', detail };
}

function throwColumnProblem(errors: readonly FieldError[]): never {
  const [first] = errors;
  const code = first?.code === 'field_unknown' ? 'field_unknown' : 'field_invalid';
  throw new ProblemError(code, errors.map(({ detail }) => detail).join(' '), { errors });
}

/** @throws ProblemError that names every wrong column, with the most similar known name */
export function parseColumns(names: readonly string[]): Column[] {
  if (names.length > columnsMax) {
    const detail = `A CSV file has at most ${columnsMax} columns.`;
    throwColumnProblem([{ pointer: '', code: 'field_invalid', detail }]);
  }
  const errors = names
    .map((name, index) => findColumnError(name, index, names))
    .filter((fault) => fault !== undefined);
  if (errors.length > 0) throwColumnProblem(errors);
  if (!names.includes('type')) {
    const detail = 'The first row must name the columns, including type.';
    throw new ProblemError('field_required', detail, {
      errors: [{ pointer: '/type', code: 'field_required', detail }],
    });
  }
  return names.map((name) => {
    const label = labelColumn.exec(name)?.[1];
    return { name, path: label === undefined ? name.split('.') : ['labels', label] };
  });
}

type Draft = { [name: string]: string | Draft };

/** Builds the line for a row; an empty cell is an omitted member. */
export function buildLine(columns: readonly Column[], cells: readonly string[]): unknown {
  const line: Draft = {};
  const data: Draft = {};
  for (const [index, { name, path }] of columns.entries()) {
    const cell = cells[index] ?? '';
    if (cell === '') continue;
    if (lineMembers.includes(name)) line[name] = cell;
    else setMember(data, path, cell);
  }
  return { ...line, data };
}

function setMember(target: Draft, [first = '', ...rest]: readonly string[], cell: string): void {
  if (rest.length === 0) {
    Object.defineProperty(target, first, { value: cell, enumerable: true, configurable: true });
    return;
  }
  const inner = Object.hasOwn(target, first) ? (target[first] as Draft) : {};
  setMember(inner, rest, cell);
  target[first] = inner;
}
