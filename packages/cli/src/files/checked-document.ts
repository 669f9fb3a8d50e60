/** Reads files in YAML or JSON and reports all their errors with their lines. */

import { readFileSync, statSync } from 'node:fs';
import { defined } from '@switchyard/contract';
import type { TSchema } from 'typebox';
import Schema from 'typebox/schema';
import { isNode, LineCounter, parseDocument } from 'yaml';
import { CommandError, describeFileError, fail } from '../runtime/command-error.ts';

const fileMaxBytes = 256 * 1024 * 1024;
const errorsMax = 100;

export type DocumentPath = readonly (string | number)[];
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
  return new CommandError('usage', `${file} has ${count}; nothing was changed.`, {
    more: rest > 0 ? [...lines, `… and ${rest} more`] : lines,
    facts: { fileErrors: fileErrors.slice(0, errorsMax) },
  });
}

function readText(file: string): string {
  try {
    if (statSync(file).size > fileMaxBytes)
      fail('usage', `${file} is larger than ${fileMaxBytes >> 20} MiB.`);
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
  } catch (error) {
    if (error instanceof CommandError) throw error;
    if (error instanceof TypeError) return fail('usage', `${file} is not UTF-8.`);
    return fail('usage', `${file} cannot be read: ${describeFileError(error)}.`);
  }
}

export type CheckedDocument = {
  readonly value: Record<string, unknown>;
  /** @throws CommandError with the lines of the errors, if there is one */
  requireNoErrors(errors: readonly { path: DocumentPath; detail: string }[]): void;
};

/**
 * Reads a document and checks it against a schema.
 *
 * @throws CommandError with all errors of the file
 * @example const { value } = readCheckedDocument('estate.yaml', estateSchema());
 */
export function readCheckedDocument(file: string, schema: TSchema): CheckedDocument {
  const { value, lineOf } = parse(file, readText(file));
  const requireNoErrors: CheckedDocument['requireNoErrors'] = (errors) => {
    if (errors.length === 0) return;
    const fileErrors = errors.map(({ path, detail }) => {
      const line = lineOf(path);
      return { ...defined({ line }), pointer: pointerOf(path), detail };
    });
    throw toCommandError(file, fileErrors);
  };
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    requireNoErrors([{ path: [], detail: 'the file must contain an object' }]);
  const [isGood, errors] = Schema.Errors(schema, value);
  if (!isGood) {
    requireNoErrors(
      errors
        .filter(({ keyword }) => keyword !== 'additionalProperties')
        .map(({ keyword, instancePath, message }) => ({
          path: parsePointer(instancePath),
          // The keyword “boolean” reports an unknown member.
          detail: keyword === 'boolean' ? 'is an unknown member' : message,
        })),
    );
  }
  return { value: value as Record<string, unknown>, requireNoErrors };
}
