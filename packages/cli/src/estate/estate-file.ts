/** Reads and writes estate files in YAML or JSON; a file is checked completely when it is read. */

import { readFileSync, statSync } from 'node:fs';
import { defined } from '@switchyard/contract';
import Schema from 'typebox/schema';
import { isNode, LineCounter, parseDocument, stringify } from 'yaml';
import { CommandError, describeFileError, fail } from '../runtime/command-error.ts';
import { parseEstateDocument, toDocument } from './convert-estate-document.ts';
import { estateSchema } from './estate-file-schema.ts';
import {
  type Estate,
  isObject,
  type Json,
  type Members,
  type Resource,
  resourceLabel,
} from './estate-model.ts';
import { resourceDefinition } from './resource-kinds.ts';

const fileMaxBytes = 256 * 1024 * 1024;
const errorsMax = 100;

type DocumentPath = readonly (string | number)[];
type FileError = { readonly line?: number; readonly pointer: string; readonly detail: string };

const pointerOf = (path: DocumentPath): string =>
  path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

const parsePointer = (pointer: string): DocumentPath =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => {
      const plain = part.replaceAll('~1', '/').replaceAll('~0', '~');
      return /^(?:0|[1-9][0-9]*)$/.test(plain) ? Number(plain) : plain;
    });

type Parsed = { readonly value: unknown; lineOf(path: DocumentPath): number | undefined };

/** JSON.parse is much faster than YAML; the YAML parser only finds the lines of errors. */
function parseJson(text: string): Parsed | undefined {
  try {
    const value: unknown = JSON.parse(text);
    let lines: Parsed['lineOf'] | undefined;
    return {
      value,
      lineOf(path) {
        lines ??= parseYaml(text).lineOf;
        return lines(path);
      },
    };
  } catch {
    // The YAML parser reports the error with its line.
    return undefined;
  }
}

function parseYaml(text: string) {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  return { document, lines, lineOf: (path: DocumentPath) => findLine(document, lines, path) };
}

function parse(file: string, text: string): Parsed {
  const json = file.endsWith('.json') ? parseJson(text) : undefined;
  if (json !== undefined) return json;
  const { document, lines, lineOf } = parseYaml(text);
  const fileErrors = document.errors.map(({ message, pos: [start] }) => ({
    line: lines.linePos(start).line,
    pointer: '',
    detail: message.split('\n')[0] ?? '',
  }));
  if (fileErrors.length > 0) throw toCommandError(file, fileErrors);
  try {
    return { value: document.toJS({ maxAliasCount: 100 }), lineOf };
  } catch (error) {
    return fail('usage', `${file} cannot be read: ${(error as Error).message}`);
  }
}

/** The line of the path, or of its nearest parent in the file. */
function findLine(
  document: ReturnType<typeof parseDocument>,
  lines: LineCounter,
  path: DocumentPath,
): number | undefined {
  for (let length = path.length; length >= 0; length -= 1) {
    const node = document.getIn(path.slice(0, length), true);
    const start = isNode(node) ? node.range?.[0] : undefined;
    if (start !== undefined) return lines.linePos(start).line;
  }
  return undefined;
}

function toCommandError(file: string, fileErrors: readonly FileError[]): CommandError {
  const rest = fileErrors.length - errorsMax;
  const lines = fileErrors
    .slice(0, errorsMax)
    .map(
      ({ line, pointer, detail }) =>
        `${line === undefined ? '' : `line ${line}: `}${pointer === '' ? '' : `${pointer} `}${detail}`,
    );
  const count = fileErrors.length === 1 ? 'one error' : `${fileErrors.length} errors`;
  return new CommandError('usage', `${file} has ${count}; nothing was sent.`, {
    more: rest > 0 ? [...lines, `… and ${rest} more`] : lines,
    facts: { fileErrors: fileErrors.slice(0, errorsMax) },
  });
}

/** Errors beyond the schema: references to missing resources, and duplicates. */
function* findReferenceErrors(estate: Estate): Generator<{ path: DocumentPath; detail: string }> {
  const knownKeys = new Set(estate.resources.map((resource) => `${resource.kind} ${resource.key}`));
  for (const resource of estate.resources) {
    const path = resource.at ?? [];
    const isDuplicate =
      resource.key !== resourceDefinition(resource.kind).keyOf(resource.members) &&
      !resourceDefinition(resource.kind).hasId;
    if (isDuplicate)
      yield {
        path,
        detail: `${resourceLabel({ ...resource, key: resource.key.replace(/~\d+$/, '') })} is in the list twice`,
      };
    for (const { member, kind } of resourceDefinition(resource.kind).references) {
      if (!estate.managed.has(kind) || estate.only !== undefined) continue;
      for (const key of referencedKeys(resource, member)) {
        if (knownKeys.has(`${kind} ${key}`) || isForeignId(kind, key)) continue;
        yield {
          path: [...path, member],
          detail: `refers to a ${kind} “${key}” that the file does not have`,
        };
      }
    }
  }
  for (const each of estate.subOrganizations) yield* findReferenceErrors(each);
}

/** Services and packages of other organisations are referred to by id. */
export const isForeignId = (kind: Resource['kind'], key: string): boolean =>
  (kind === 'service' || kind === 'package') &&
  /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(key);

export function referencedKeys(resource: Resource, member: string): readonly string[] {
  const value = resource.members[member];
  if (value === undefined) return [];
  return Array.isArray(value) ? value.map(String) : [String(value)];
}

/** Reports all errors of the file at once, with their lines. */
export function readEstateFile(file: string): Estate {
  let text: string;
  try {
    if (statSync(file).size > fileMaxBytes)
      fail('usage', `${file} is larger than ${fileMaxBytes >> 20} MiB.`);
    text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
  } catch (error) {
    if (error instanceof CommandError) throw error;
    if (error instanceof TypeError) return fail('usage', `${file} is not UTF-8.`);
    return fail('usage', `${file} cannot be read: ${describeFileError(error)}.`);
  }
  const { value, lineOf } = parse(file, text);
  const toFileError = (path: DocumentPath, detail: string): FileError => {
    const line = lineOf(path);
    return { ...defined({ line }), pointer: pointerOf(path), detail };
  };
  if (!isObject(value))
    throw toCommandError(file, [
      toFileError([], 'is not an estate: the file must contain an object'),
    ]);
  const [isGood, errors] = Schema.Errors(estateSchema(), value);
  if (!isGood) {
    throw toCommandError(
      file,
      errors
        .filter(({ keyword }) => keyword !== 'additionalProperties')
        .map(({ keyword, instancePath, message }) =>
          // The keyword “boolean” reports an unknown member.
          toFileError(
            parsePointer(instancePath),
            keyword === 'boolean' ? 'is an unknown member' : message,
          ),
        ),
    );
  }
  const estate = parseEstateDocument(value as Members);
  const fileErrors = [...findReferenceErrors(estate)].map(({ path, detail }) =>
    toFileError(path, detail),
  );
  if (fileErrors.length > 0) throw toCommandError(file, fileErrors);
  return estate;
}

/** The same estate always gives the same bytes. */
export function formatEstate(estate: Estate, isJson: boolean): string {
  const document: Json = toDocument(estate);
  if (isJson) return `${JSON.stringify(document, undefined, 2)}\n`;
  return stringify(document, { lineWidth: 0, aliasDuplicateObjects: false });
}
