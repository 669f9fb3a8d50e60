/** Reads JSON within limits and reports what `JSON.parse` ignores. */
import { amountDigitsMax, depthMax, messageBytesMax, valuesMax } from '../limits.ts';
import { isLongerThan } from './text-bytes.ts';

/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
/** A JSON object. */
export type JsonObject = { readonly [member: string]: Json };

/** A parsed text: its value, and where numbers have more digits than a double holds. */
export type Parsed = { readonly value: Json; readonly inexact: ReadonlySet<string> };

/** Why a text is no JSON that is read here. */
export class JsonError extends Error {
  override readonly name = 'JsonError';
  /** A JSON pointer to the value that was being read. */
  readonly pointer: string;

  constructor(pointer: string, problem: string) {
    super(problem);
    this.pointer = pointer;
  }
}

const white = ' \t\n\r';
const escapedOrControl = /[\\\p{Cc}]/u;
const anyText = /"(?:[^"\\]|\\.)*"/sy;
const numeral = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const words: readonly (readonly [string, Json])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];

/** Position and counters of the reader. */
type Cursor = { text: string; at: number; values: number; inexact: Set<string> };

/** The pointer of a member. */
export function memberOf(pointer: string, member: string | number): string {
  const name = String(member);
  if (!name.includes('~') && !name.includes('/')) return `${pointer}/${name}`;
  return `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/**
 * Parses a text or bytes of UTF-8.
 *
 * It rejects texts with more bytes, depth or values than the limits, bytes that are not UTF-8, lone
 * surrogates, repeated members in one object, and `__proto__`. It reads numbers of more than
 * fifteen digits as doubles and returns their positions.
 *
 * @throws JsonError
 */
export function parseBounded(source: string | Uint8Array): Parsed {
  const cursor: Cursor = { text: textOf(source), at: 0, values: 0, inexact: new Set() };
  const value = readValue(cursor, '', 1);
  skipWhite(cursor);
  if (cursor.at < cursor.text.length) throw new JsonError('', 'goes on behind its value');
  return { value, inexact: cursor.inexact };
}

function textOf(source: string | Uint8Array): string {
  if (isLongerThan(source, messageBytesMax)) {
    throw new JsonError('', `is larger than ${messageBytesMax} bytes`);
  }
  if (typeof source !== 'string') {
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(source);
    } catch {
      throw new JsonError('', 'is not UTF-8');
    }
  }
  if (!source.isWellFormed()) throw new JsonError('', 'holds half a character');
  return source;
}

function readValue(cursor: Cursor, pointer: string, depth: number): Json {
  cursor.values += 1;
  if (cursor.values > valuesMax)
    throw new JsonError(pointer, `holds more than ${valuesMax} values`);
  if (depth > depthMax) throw new JsonError(pointer, `lies deeper than ${depthMax}`);
  skipWhite(cursor);
  const first = cursor.text[cursor.at];
  if (first === '{') return readObject(cursor, pointer, depth);
  if (first === '[') return readList(cursor, pointer, depth);
  if (first === '"') return readText(cursor, pointer);
  for (const [word, value] of words) {
    if (!cursor.text.startsWith(word, cursor.at)) continue;
    cursor.at += word.length;
    return value;
  }
  return readNumber(cursor, pointer);
}

function readObject(cursor: Cursor, pointer: string, depth: number): JsonObject {
  const object: Record<string, Json> = {};
  cursor.at += 1;
  if (skips(cursor, '}')) return object;
  do {
    skipWhite(cursor);
    const member = readText(cursor, pointer);
    const at = memberOf(pointer, member);
    if (member === '__proto__') throw new JsonError(at, 'is a name that is not read');
    if (Object.hasOwn(object, member)) throw new JsonError(at, 'occurs twice');
    expect(cursor, ':', pointer);
    object[member] = readValue(cursor, at, depth + 1);
  } while (skips(cursor, ','));
  expect(cursor, '}', pointer);
  return object;
}

function readList(cursor: Cursor, pointer: string, depth: number): readonly Json[] {
  const list: Json[] = [];
  cursor.at += 1;
  if (skips(cursor, ']')) return list;
  do {
    list.push(readValue(cursor, memberOf(pointer, list.length), depth + 1));
  } while (skips(cursor, ','));
  expect(cursor, ']', pointer);
  return list;
}

function readText(cursor: Cursor, pointer: string): string {
  const { text, at } = cursor;
  const end = text[at] === '"' ? text.indexOf('"', at + 1) : -1;
  if (end === -1) throw new JsonError(pointer, 'is not JSON');
  const plain = text.slice(at + 1, end);
  if (!escapedOrControl.test(plain)) {
    cursor.at = end + 1;
    return plain;
  }
  const escaped = match(cursor, anyText);
  const value = escaped === undefined ? undefined : unescaped(escaped);
  if (value === undefined) throw new JsonError(pointer, 'is not JSON');
  if (!value.isWellFormed()) throw new JsonError(pointer, 'holds half a character');
  return value;
}

function unescaped(text: string): string | undefined {
  try {
    return JSON.parse(text) as string;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function readNumber(cursor: Cursor, pointer: string): number {
  const text = match(cursor, numeral);
  if (text === undefined) throw new JsonError(pointer, 'is not JSON');
  const value = Number(text);
  if (!Number.isFinite(value)) throw new JsonError(pointer, 'is no number that can be held');
  const digits = text
    .replace(/[eE].*$/, '')
    .replace(/\D/g, '')
    .replace(/^0+/, '');
  if (digits.length > amountDigitsMax) cursor.inexact.add(pointer);
  return value;
}

function match(cursor: Cursor, pattern: RegExp): string | undefined {
  pattern.lastIndex = cursor.at;
  const match = pattern.exec(cursor.text)?.[0];
  if (match !== undefined) cursor.at += match.length;
  return match;
}

function skipWhite(cursor: Cursor): void {
  for (
    let character = cursor.text[cursor.at];
    character !== undefined;
    character = cursor.text[cursor.at]
  ) {
    if (!white.includes(character)) return;
    cursor.at += 1;
  }
}

function skips(cursor: Cursor, expected: string): boolean {
  skipWhite(cursor);
  if (cursor.text[cursor.at] !== expected) return false;
  cursor.at += 1;
  return true;
}

function expect(cursor: Cursor, expected: string, pointer: string): void {
  if (!skips(cursor, expected)) throw new JsonError(pointer, 'is not JSON');
}
