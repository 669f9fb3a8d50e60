// Parses JSON bodies and rejects what JSON.parse accepts but would lose: duplicate members, fractions, invalid Unicode.
import { isUtf8 } from 'node:buffer';
import { throwProblem } from '@switchyard/contract';

export const maxDepth = 32;

const reasons = {
  empty: 'The body is empty.',
  encoding: 'The body is not valid UTF-8.',
  syntax: 'The body is not valid JSON.',
  number: 'A number has a fraction or an exponent, or is a negative zero.',
  depth: `The body is nested deeper than ${maxDepth} levels.`,
  duplicate: 'An object has the same field twice.',
  text: 'A string contains U+0000 or half of a surrogate pair.',
  prototype: 'A field has a name that is not accepted (__proto__ or constructor).',
} as const;

const failMalformed = (reason: keyof typeof reasons): never =>
  throwProblem('malformed_json', reasons[reason]);

const quote = 0x22;
const minus = 0x2d;
const point = 0x2e;
const zero = 0x30;
const nine = 0x39;
const colon = 0x3a;
const upperE = 0x45;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const lowerE = 0x65;
const lowerU = 0x75;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** `true` and `false` end in e as well; only the e of an exponent follows a digit. */
const isDigit = (byte: number | undefined) => byte !== undefined && byte >= zero && byte <= nine;

type ScanResult = { colons: number; hasUnicodeEscape: boolean };

/**
 * One pass over the bytes that ignores syntax errors, since JSON.parse rejects them. Comparisons of
 * constants are a third faster than a table here.
 */
function scan(bytes: Buffer): ScanResult {
  const end = bytes.length;
  let colons = 0;
  let depth = 0;
  let hasUnicodeEscape = false;
  for (let index = 0; index < end; index += 1) {
    const byte = bytes[index];
    if (byte === quote) {
      for (index += 1; index < end; index += 1) {
        const inner = bytes[index];
        if (inner === quote) break;
        if (inner === backslash) {
          index += 1;
          if (bytes[index] === lowerU) hasUnicodeEscape = true;
        }
      }
    } else if (byte === colon) {
      colons += 1;
    } else if (byte === openBrace || byte === openBracket) {
      depth += 1;
      if (depth > maxDepth) failMalformed('depth');
    } else if (byte === closeBrace || byte === closeBracket) {
      depth -= 1;
    } else if (byte === point || byte === upperE) {
      failInvalidNumber(bytes);
    } else if (byte === lowerE) {
      if (isDigit(bytes[index - 1])) failInvalidNumber(bytes);
    } else if (byte === minus) {
      if (bytes[index + 1] === zero) failInvalidNumber(bytes);
    }
  }
  return { colons, hasUnicodeEscape };
}

function checkText(text: string): void {
  if (!text.isWellFormed() || text.includes('\0')) failMalformed('text');
}

/** A client chooses unknown names, which may contain a card number. */
const printableName = /^(?!.*[0-9]{8})[A-Za-z][A-Za-z0-9_]{0,63}$/;
const plainNumber = /^(?:0|-?[1-9][0-9]*)$/;

/** Slow, and only used for an error: the name of the member with the invalid number. */
function findInvalidNumberMember(text: string): string | undefined {
  let member: string | undefined;
  try {
    JSON.parse(text, (name: string, value: unknown, context?: { source?: string }) => {
      const isInvalid = typeof value === 'number' && !plainNumber.test(context?.source ?? '');
      if (isInvalid && printableName.test(name)) member ??= name;
      return value;
    });
  } catch {
    return undefined;
  }
  return member;
}

function failInvalidNumber(body: Buffer): never {
  const member = findInvalidNumberMember(body.toString('utf8'));
  if (member === undefined) return failMalformed('number');
  return throwProblem(
    'malformed_json',
    `The number ${member} has a fraction or an exponent, or is a negative zero; send amounts as integers in minor units.`,
  );
}

/** Counts the members of all objects and rejects names that change a prototype. */
function countMembers(value: object, texts: boolean): number {
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += countMembersOf(item, texts);
    return count;
  }
  for (const name in value) {
    if (name === '__proto__') failMalformed('prototype');
    if (texts) checkText(name);
    const member = (value as Record<string, unknown>)[name];
    if (name === 'constructor' && Object.hasOwn(Object(member), 'prototype'))
      failMalformed('prototype');
    count += 1 + countMembersOf(member, texts);
  }
  return count;
}

/** Only an escape sequence can make a string ill-formed or bring U+0000 into it. */
function countMembersOf(value: unknown, texts: boolean): number {
  if (typeof value === 'object' && value !== null) return countMembers(value, texts);
  if (texts && typeof value === 'string') checkText(value);
  return 0;
}

/**
 * A duplicate member leaves more colons in the text than members in the value.
 *
 * @throws ProblemError malformed_json
 */
export function parseStrictJson(body: Buffer): unknown {
  if (body.length === 0) failMalformed('empty');
  if (!isUtf8(body)) failMalformed('encoding');
  const { colons, hasUnicodeEscape } = scan(body);
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    failMalformed('syntax');
  }
  if (countMembersOf(value, hasUnicodeEscape) !== colons) failMalformed('duplicate');
  return value;
}
