/** Reads and writes estate files: YAML or JSON, checked whole before anything else happens. */

import { readFileSync, statSync } from 'node:fs';
import { defined } from '@switchyard/contract';
import Schema from 'typebox/schema';
import { isNode, LineCounter, parseDocument, stringify } from 'yaml';
import { CommandFault, fail, reasonOf } from '../runtime/command-error.ts';
import { documentOf, estateOf } from './estate-document.ts';
import { estateSchema } from './estate-file-schema.ts';
import {
  type Estate,
  isObject,
  type Json,
  type Members,
  nameOf,
  type Thing,
} from './estate-model.ts';
import { kindOf } from './resource-kinds.ts';

const fileMaxBytes = 256 * 1024 * 1024;
const faultsShown = 100;

type Place = readonly (string | number)[];
type FileFault = { readonly line?: number; readonly pointer: string; readonly detail: string };

const pointerOf = (place: Place): string =>
  place.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

const placeOf = (pointer: string): Place =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => {
      const plain = part.replaceAll('~1', '/').replaceAll('~0', '~');
      return /^(?:0|[1-9][0-9]*)$/.test(plain) ? Number(plain) : plain;
    });

type Parsed = { readonly value: unknown; lineOf(place: Place): number | undefined };

/** JSON is YAML as well; its own parser is much faster, so YAML reads it only to find the lines. */
function parseJson(text: string): Parsed | undefined {
  try {
    const value: unknown = JSON.parse(text);
    let lines: Parsed['lineOf'] | undefined;
    return {
      value,
      lineOf(place) {
        lines ??= locating(text).lineOf;
        return lines(place);
      },
    };
  } catch {
    // The other parser tells the line.
    return undefined;
  }
}

function locating(text: string) {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  return { document, lines, lineOf: (place: Place) => lineIn(document, lines, place) };
}

function parse(file: string, text: string): Parsed {
  const json = file.endsWith('.json') ? parseJson(text) : undefined;
  if (json !== undefined) return json;
  const { document, lines, lineOf } = locating(text);
  const faults = document.errors.map(({ message, pos: [start] }) => ({
    line: lines.linePos(start).line,
    pointer: '',
    detail: message.split('\n')[0] ?? '',
  }));
  if (faults.length > 0) throw fileFault(file, faults);
  try {
    return { value: document.toJS({ maxAliasCount: 100 }), lineOf };
  } catch (error) {
    return fail('usage', `${file} cannot be read: ${(error as Error).message}`);
  }
}

/** The line of the place, or of the nearest thing around it. */
function lineIn(
  document: ReturnType<typeof parseDocument>,
  lines: LineCounter,
  place: Place,
): number | undefined {
  for (let length = place.length; length >= 0; length -= 1) {
    const node = document.getIn(place.slice(0, length), true);
    const start = isNode(node) ? node.range?.[0] : undefined;
    if (start !== undefined) return lines.linePos(start).line;
  }
  return undefined;
}

function fileFault(file: string, faults: readonly FileFault[]): CommandFault {
  const rest = faults.length - faultsShown;
  const lines = faults
    .slice(0, faultsShown)
    .map(
      ({ line, pointer, detail }) =>
        `${line === undefined ? '' : `line ${line}: `}${pointer === '' ? '' : `${pointer} `}${detail}`,
    );
  const count = faults.length === 1 ? 'one fault' : `${faults.length} faults`;
  return new CommandFault('usage', `${file} has ${count}; nothing was sent.`, {
    more: rest > 0 ? [...lines, `… and ${rest} more`] : lines,
    facts: { faults: faults.slice(0, faultsShown) },
  });
}

/** What the schema cannot say: names that lead nowhere, and things that stand there twice. */
function* meaningFaults(estate: Estate): Generator<{ place: Place; detail: string }> {
  const known = new Set(estate.things.map((thing) => `${thing.kind} ${thing.key}`));
  for (const thing of estate.things) {
    const place = thing.at ?? [];
    const isTwice =
      thing.key !== kindOf(thing.kind).keyOf(thing.members) && !kindOf(thing.kind).hasId;
    if (isTwice)
      yield {
        place,
        detail: `${nameOf({ ...thing, key: thing.key.replace(/~\d+$/, '') })} stands here twice`,
      };
    for (const { member, kind } of kindOf(thing.kind).references) {
      if (!estate.managed.has(kind) || estate.only !== undefined) continue;
      for (const key of referred(thing, member)) {
        if (known.has(`${kind} ${key}`) || isForeign(kind, key)) continue;
        yield {
          place: [...place, member],
          detail: `names a ${kind} “${key}” that the file does not have`,
        };
      }
    }
  }
  for (const each of estate.below) yield* meaningFaults(each);
}

/** Services and packages of other organisations are named by their ids. */
export const isForeign = (kind: Thing['kind'], key: string): boolean =>
  (kind === 'service' || kind === 'package') &&
  /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(key);

export function referred(thing: Thing, member: string): readonly string[] {
  const value = thing.members[member];
  if (value === undefined) return [];
  return Array.isArray(value) ? value.map(String) : [String(value)];
}

/** Every fault of the file at once, with its line. */
export function readEstate(file: string): Estate {
  let text: string;
  try {
    if (statSync(file).size > fileMaxBytes)
      fail('usage', `${file} is larger than ${fileMaxBytes >> 20} MiB.`);
    text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
  } catch (error) {
    if (error instanceof CommandFault) throw error;
    if (error instanceof TypeError) return fail('usage', `${file} is not UTF-8.`);
    return fail('usage', `${file} cannot be read: ${reasonOf(error)}.`);
  }
  const { value, lineOf } = parse(file, text);
  const told = (place: Place, detail: string): FileFault => {
    const line = lineOf(place);
    return { ...defined({ line }), pointer: pointerOf(place), detail };
  };
  if (!isObject(value)) throw fileFault(file, [told([], 'is no estate: an object is expected')]);
  const [isGood, errors] = Schema.Errors(estateSchema(), value);
  if (!isGood) {
    throw fileFault(
      file,
      errors
        .filter(({ keyword }) => keyword !== 'additionalProperties')
        .map(({ keyword, instancePath, message }) =>
          // A closed object says so of each member that it does not know.
          told(placeOf(instancePath), keyword === 'boolean' ? 'is no known member' : message),
        ),
    );
  }
  const estate = estateOf(value as Members);
  const faults = [...meaningFaults(estate)].map(({ place, detail }) => told(place, detail));
  if (faults.length > 0) throw fileFault(file, faults);
  return estate;
}

/** The same estate gives the same bytes. */
export function estateText(estate: Estate, isJson: boolean): string {
  const document: Json = documentOf(estate);
  if (isJson) return `${JSON.stringify(document, undefined, 2)}\n`;
  return stringify(document, { lineWidth: 0, aliasDuplicateObjects: false });
}
