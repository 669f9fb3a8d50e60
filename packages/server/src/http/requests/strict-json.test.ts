import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import fc from 'fast-check';
import { maxDepth, parseStrictJson } from './strict-json.ts';

const bytes = (text: string) => Buffer.from(text, 'utf8');

function problemErrorOf(body: Buffer): ProblemError | undefined {
  try {
    parseStrictJson(body);
    return undefined;
  } catch (error) {
    if (error instanceof ProblemError) return error;
    throw error;
  }
}

/** The words of RFC 8259, one character at a time. */
function createReader(text: string) {
  let at = 0;
  const stop = (): never => {
    throw new SyntaxError(`at ${at}`);
  };
  const expectCharacter = (expected: string) => {
    if (!text.startsWith(expected, at)) stop();
    at += expected.length;
  };
  const takeEscaped = (): string => {
    const letter = text[at] ?? stop();
    at += 1;
    if (letter === 'u') {
      const hex = /^[0-9a-fA-F]{4}/.exec(text.slice(at, at + 4)) ?? stop();
      at += 4;
      return String.fromCharCode(Number.parseInt(hex[0], 16));
    }
    const plain = '"\\/bfnrt'.indexOf(letter);
    return plain < 0 ? stop() : ('"\\/\b\f\n\r\t'[plain] ?? stop());
  };
  const takeString = (): string => {
    expectCharacter('"');
    let out = '';
    while (text[at] !== '"') {
      const character = text[at] ?? stop();
      if (character < ' ') stop();
      at += 1;
      out += character === '\\' ? takeEscaped() : character;
    }
    expectCharacter('"');
    return /\p{Surrogate}|\0/u.test(out) ? stop() : out;
  };
  return {
    stop,
    take: expectCharacter,
    takeString,
    next: () => text[at],
    isAtEnd: () => at === text.length,
    skipSpace() {
      while (' \t\n\r'.includes(text[at] ?? '-')) at += 1;
    },
    takeWord(): string {
      const match = /^(true|false|null|0|-?[1-9][0-9]*)/.exec(text.slice(at)) ?? stop();
      at += match[0].length;
      return match[0];
    },
  };
}

/** A plain parser of RFC 8259 that rejects the same texts as the strict parser. */
function parseSlowly(text: string): { value: unknown } | undefined {
  const reader = createReader(text);
  const list = (depth: number): unknown[] => {
    const out: unknown[] = [];
    reader.take('[');
    reader.skipSpace();
    while (reader.next() !== ']') {
      if (out.length > 0) reader.take(',');
      out.push(element(depth));
    }
    reader.take(']');
    return out;
  };
  const record = (depth: number): unknown => {
    const out = new Map<string, unknown>();
    reader.take('{');
    reader.skipSpace();
    while (reader.next() !== '}') {
      if (out.size > 0) reader.take(',');
      reader.skipSpace();
      const name = reader.takeString();
      reader.skipSpace();
      reader.take(':');
      const value = element(depth);
      if (out.has(name) || name === '__proto__') reader.stop();
      if (name === 'constructor' && Object.hasOwn(Object(value), 'prototype')) reader.stop();
      out.set(name, value);
    }
    reader.take('}');
    return Object.fromEntries(out);
  };
  const nestedArray = (depth: number): unknown => {
    const first = reader.next();
    if (first === '"') return reader.takeString();
    if (first !== '{' && first !== '[') return JSON.parse(reader.takeWord());
    if (depth === maxDepth) reader.stop();
    return first === '{' ? record(depth + 1) : list(depth + 1);
  };
  function element(depth: number): unknown {
    reader.skipSpace();
    const value = nestedArray(depth);
    reader.skipSpace();
    return value;
  }
  try {
    const value = element(0);
    return reader.isAtEnd() ? { value } : undefined;
  } catch {
    return undefined;
  }
}

function agree(text: string): void {
  const expected = parseSlowly(text);
  const body = bytes(text);
  if (expected === undefined) {
    assert.equal(problemErrorOf(body)?.code, 'malformed_json', JSON.stringify(text));
  } else {
    assert.deepEqual(parseStrictJson(body), expected.value, JSON.stringify(text));
  }
}

const hostile: [string, string][] = [
  ['an empty body', ''],
  ['white space alone', ' \n'],
  ['a fraction of zero', '{"amount":10.0}'],
  ['a fraction', '[0.5]'],
  ['an exponent', '{"amount":1e3}'],
  ['an upper-case exponent', '{"amount":1E3}'],
  ['an exponent with a sign', '[1e+3]'],
  ['a negative zero', '{"amount":-0}'],
  ['a leading zero', '[01]'],
  ['a plus sign', '[+1]'],
  ['a bare minus', '[-]'],
  ['a hexadecimal number', '[0x10]'],
  ['NaN', '[NaN]'],
  ['Infinity', '[Infinity]'],
  ['the same member twice', '{"a":1,"a":1}'],
  ['the same member twice, once escaped', '{"a":1,"\\u0061":2}'],
  ['the same member twice, deep', '[{"x":{"a":{},"b":[],"a":[]}}]'],
  ['the same index twice', '{"0":1,"0":2}'],
  ['the lone high half of a pair', '["\\ud800"]'],
  ['the lone low half of a pair', '{"\\udc00":1}'],
  ['a reversed pair', '["\\udc00\\ud800"]'],
  ['U+0000 in a value', '["a\\u0000"]'],
  ['U+0000 in a name', '{"\\u0000":1}'],
  ['a raw control character', '["\u0001"]'],
  ['__proto__', '{"__proto__":{"admin":true}}'],
  ['__proto__, escaped', '{"\\u005f_proto__":1}'],
  ['__proto__ of a member', '{"a":[{"__proto__":null}]}'],
  ['constructor.prototype', '{"constructor":{"prototype":{"admin":true}}}'],
  ['depth 33', '['.repeat(33) + ']'.repeat(33)],
  ['a whole body of brackets', '['.repeat(1 << 20)],
  ['a whole body of braces', '{"a":'.repeat(200_000)],
  ['trailing garbage', '{} x'],
  ['two values', '{}{}'],
  ['a trailing comma', '{"a":1,}'],
  ['a comment', '{/* a */}'],
  ['single quotes', "{'a':1}"],
  ['a byte order mark', '\ufeff{}'],
  ['an unclosed string', '{"a'],
  ['an unclosed escape', '{"a\\'],
  ['an unclosed object', '{"a":1'],
  ['a colon too many', '{"a"::1}'],
  ['a bad escape', '["\\x41"]'],
];

// Spec: JSON-4 JSON-5
describe('strict JSON', () => {
  for (const [name, text] of hostile) {
    it(`refuses ${name}`, () => {
      assert.equal(problemErrorOf(bytes(text))?.code, 'malformed_json');
      if (text.length < 1000) agree(text);
    });
  }

  it('refuses bytes that are not UTF-8', () => {
    for (const hex of ['22ff22', '22c0af22', '22eda08022', '22f4908080', 'ff']) {
      assert.equal(problemErrorOf(Buffer.from(hex, 'hex'))?.code, 'malformed_json', hex);
    }
  });

  it('accepts valid bodies that look unusual', () => {
    for (const text of [
      '{"a":"1.0e5 -0 : {[ \\" \\\\"}',
      '{"true":true,"false":false,"null":null}',
      '[true,false,-1,0,1e0]'.replace('1e0', '10'),
      '["\\ud83d\\ude00","😀","é"]',
      '{"constructor":"x","prototype":1,"toString":2,"hasOwnProperty":3}',
      '{"constructor":null}',
      ` ${'['.repeat(maxDepth)}${']'.repeat(maxDepth)}\n`,
      '"text"',
      'null',
      '999999999999',
    ]) {
      assert.deepEqual(parseStrictJson(bytes(text)), JSON.parse(text), text);
      agree(text);
    }
  });

  it('never repeats the sent value', () => {
    const problemError = problemErrorOf(bytes('{"number":"4111111111111111",}'));
    assert.ok(problemError !== undefined && !problemError.detail.includes('4111'));
  });

  it('names the member with an invalid number when its name is printable', () => {
    const detailOf = (text: string) => problemErrorOf(bytes(text))?.detail ?? '';
    assert.match(
      detailOf('{"order":{"amount":12.50,"other":1}}'),
      /^The number amount has a fraction/,
    );
    assert.match(detailOf('{"a":1,"tip":-0}'), /^The number tip /);
    assert.match(detailOf('{"total":1e3}'), /^The number total /);
    assert.match(detailOf('[1.5]'), /^A number has a fraction/);
    assert.doesNotMatch(detailOf('{"4111111111111111":1.5}'), /4111/);
    assert.match(detailOf('{"amount":1.5'), /^A number has a fraction/);
  });

  it('agrees with a slow parser on values', () => {
    const json = fc.jsonValue({ maxDepth: 5 }).map((value) => JSON.stringify(value));
    fc.assert(fc.property(json, agree), { numRuns: 1000 });
  });

  it('agrees with a slow parser on texts made of JSON tokens', () => {
    const tokens = ['{', '}', '[', ']', ':', ',', '"', '"a"', '"b":', '{"a":1', '\\', '\\u0061'];
    tokens.push('-', '0', '1', '.', 'e', 'E', 'true', 'false', 'null', ' ', '"\\ud800"', '"é"');
    const text = fc.array(fc.constantFrom(...tokens), { maxLength: 12 }).map((all) => all.join(''));
    fc.assert(fc.property(text, agree), { numRuns: 5000 });
  });

  it('agrees with a slow parser on mutated bodies', () => {
    const body =
      '{"amount":1999,"currency":"EUR","nested":{"list":[1,-2,{"a":"\\u00e9"}],"t":true}}';
    const mutated = fc
      .array(
        fc.record({
          at: fc.nat(body.length),
          drop: fc.nat(3),
          put: fc.constantFrom(
            '',
            '"',
            '{',
            '}',
            ':',
            ',',
            '0',
            '.',
            'e',
            '-',
            '\\',
            'a',
            '"a":1,',
          ),
        }),
        { minLength: 1, maxLength: 3 },
      )
      .map((edits) =>
        edits.reduce(
          (text, { at, drop, put }) => text.slice(0, at) + put + text.slice(at + drop),
          body,
        ),
      );
    fc.assert(fc.property(mutated, agree), { numRuns: 3000 });
  });
});
