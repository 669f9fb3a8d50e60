// Random tables: random messages survive the round trip, and random bytes are refused with our error and no other.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  compileDialect,
  compileSubFields,
  type DialectTable,
  type Encodings,
  type FieldFormat,
  Iso8583Error,
  type SubFieldFormat,
} from './index.ts';

/** `SWITCHYARD_PROPERTY_RUNS=100000` tries as many tables. */
const numRuns = Number(process.env['SWITCHYARD_PROPERTY_RUNS'] ?? 300);
const runs = { numRuns, seed: Number(process.env['SWITCHYARD_TEST_SEED'] ?? randomInt(2 ** 31)) };

const valueMax = 40;
const charsets = ['ascii', 'ebcdic', 'ebcdic1047', 'ebcdic500'] as const;
const hexEncodings = ['hex', 'hexAscii', 'hexEbcdic'] as const;
const lengthEncodings = [...charsets, 'bcd', 'binary', 'littleEndian', ...hexEncodings] as const;
const sizes = ['fixed', 'L', 'LL', 'LLL', 'LLLL', 'LLLLL', 'LLLLLL'] as const;
const contents = ['n', 'an', 'ans', 'z', 'x+n', 'b', 'tlv'] as const;
const fills = ['leftZeros', 'leftBlanks', 'rightZeros', 'rightBlanks'] as const;

const maybe = <Value>(...values: readonly Value[]) =>
  fc.option(fc.constantFrom(...values), { nil: undefined, freq: 2 });

const encodings: fc.Arbitrary<Encodings> = fc.record({
  text: fc.constantFrom(...charsets),
  numerics: fc.constantFrom(...charsets, 'bcd'),
  lengths: fc.constantFrom(...lengthEncodings),
  binaries: fc.constantFrom('raw', ...hexEncodings),
});

function withoutUndefined<Value extends object>(value: Value): Value {
  return Object.fromEntries(
    Object.entries(value).filter(([, each]) => each !== undefined),
  ) as unknown as Value;
}

/** Removes the members that the other members of a line do not allow. */
function consistent(format: FieldFormat): FieldFormat {
  const { content, size, fill, trim, encoding, lengthEncoding, signEncoding } = format;
  const isBytes = content === 'b' || content === 'tlv';
  const isText = content === 'an' || content === 'ans';
  const isFixed = size === 'fixed';
  const isByteEncoding = encoding === 'raw' || encoding?.startsWith('hex');
  const allowsEncoding =
    isBytes === isByteEncoding &&
    (encoding !== 'bcd' || !isText) &&
    (encoding !== 'zoned' || content === 'x+n');
  const hasBinaryLength = lengthEncoding === 'binary' || lengthEncoding === 'littleEndian';
  const isZeros = fill?.endsWith('Zeros');
  const allowsFill = isFixed
    ? isText || (isZeros && content !== 'z' && (content !== 'x+n' || fill === 'leftZeros'))
    : fill?.startsWith('right') && content !== 'x+n';
  return withoutUndefined({
    ...format,
    max: content === 'x+n' ? format.max + 2 : size === 'L' ? Math.min(format.max, 3) : format.max,
    encoding: allowsEncoding ? encoding : undefined,
    lengthEncoding: isFixed ? undefined : lengthEncoding,
    lengthBytes: isFixed || !hasBinaryLength ? undefined : format.lengthBytes,
    lengthCounts: isFixed || content === 'x+n' ? undefined : format.lengthCounts,
    lengthInclusive: isFixed ? undefined : format.lengthInclusive,
    signEncoding: content === 'x+n' && encoding === 'bcd' ? signEncoding : undefined,
    fill: allowsFill ? fill : undefined,
    trim: isFixed && allowsFill && (isText || content === 'n') ? trim : undefined,
  } as FieldFormat);
}

const fieldFormat: fc.Arbitrary<FieldFormat> = fc
  .record({
    name: fc.constant('x'),
    content: fc.constantFrom(...contents),
    size: fc.constantFrom(...sizes),
    max: fc.integer({ min: 1, max: valueMax }),
    encoding: maybe(...charsets, 'bcd', 'raw', 'zoned', ...hexEncodings),
    lengthEncoding: maybe(...lengthEncodings),
    lengthBytes: maybe(1, 2, 3, 4),
    lengthCounts: maybe('bytes', 'nibbles'),
    lengthInclusive: maybe(true, false),
    justify: maybe('left', 'right'),
    pad: maybe('0', 'F'),
    signEncoding: maybe(...charsets, 'nibble'),
    fill: maybe(...fills),
    trim: maybe(true, false),
  })
  .map((format) => consistent(format as FieldFormat));

const characters = (text: string) => fc.constantFrom(...text);
const units: Readonly<Record<string, fc.Arbitrary<string>>> = {
  n: characters('0123456789'),
  an: characters('ABCxyz019 '),
  ans: characters('ABCxyz019 .-/[]^|!\u00e9\u00df'),
  z: characters('0123456789='),
  hex: characters('0123456789ABCDEF'),
};

const text = (unit: string, minLength: number, maxLength: number) =>
  fc.string({ unit: units[unit] as fc.Arbitrary<string>, minLength, maxLength });

/** A value as it is read: filled if its field does not trim, and with an even number of digits if bytes are counted. */
function valueFor(format: FieldFormat): fc.Arbitrary<string> {
  const { content, size, max, fill, trim, lengthCounts } = format;
  const min = size === 'fixed' && trim !== true ? max : 0;
  if (content === 'b' || content === 'tlv') {
    return text('hex', min * 2, max * 2).filter((value) => value.length % 2 === 0);
  }
  if (content === 'x+n') {
    const least = Math.max(1, min - 1);
    return fc.tuple(characters('CD0'), text('n', least, max - 1)).map((parts) => parts.join(''));
  }
  const value = text(content, min, max);
  if (trim === true) {
    const character = fill?.endsWith('Blanks') ? ' ' : '0';
    const isTrimmed = (each: string) =>
      fill?.startsWith('left') ? !each.startsWith(character) : !each.endsWith(character);
    return value.filter(isTrimmed);
  }
  return lengthCounts === undefined ? value : value.filter((each) => each.length % 2 === 0);
}

type TableAndMessage = { table: DialectTable; mti: string; fields: Record<string, string> };

const fieldNumbers = (last: number) =>
  fc.integer({ min: 2, max: last }).filter((field) => field !== 65);

const tableAndMessage: fc.Arbitrary<TableAndMessage> = fc
  .record({
    mti: fc.constantFrom(...charsets, 'bcd' as const),
    bitmap: fc.constantFrom('binary' as const, ...hexEncodings),
    bitmapSize: fc.constantFrom('grows' as const, 'fixed16' as const),
    thirdBitmap: maybe('afterSecond' as const, 'field65' as const),
    shared: encodings,
  })
  .chain(({ shared, ...rest }) => {
    const last = rest.thirdBitmap === undefined ? 128 : 192;
    const line = fc.tuple(fieldNumbers(last), fieldFormat);
    return fc.array(line, { minLength: 1, maxLength: 12 }).map((lines) => {
      const all = { ...withoutUndefined(rest), ...shared, name: 'random' };
      const tableWith = (fields: DialectTable['fields']) => ({ ...all, fields }) as DialectTable;
      const possible = lines.filter(([field, format]) =>
        isPossible(tableWith({ [field]: format })),
      );
      return tableWith(Object.fromEntries(possible));
    });
  })
  .chain((table) => {
    const values = Object.entries(table.fields).map(
      ([field, format]) => [field, fc.option(valueFor(format), { nil: undefined })] as const,
    );
    return fc.record({
      table: fc.constant(table),
      mti: text('n', 4, 4),
      fields: fc
        .record(Object.fromEntries(values), { noNullPrototype: true })
        .map((fields) => withoutUndefined(fields) as Record<string, string>),
    });
  });

let tried = 0;
let refusedTables = 0;

/** A length of the table can be too short for a line, and nothing else of a consistent line is refused. */
function isPossible(table: DialectTable): boolean {
  tried += 1;
  try {
    compileDialect(table);
    return true;
  } catch (error) {
    assert.ok(error instanceof Iso8583Error);
    assert.equal(error.code, 'table_invalid');
    refusedTables += 1;
    return false;
  }
}

function readsOrRefuses(read: () => unknown): void {
  try {
    read();
  } catch (error) {
    assert.ok(error instanceof Iso8583Error, `seed ${runs.seed}: ${String(error)}`);
  }
}

const noise = fc.uint8Array({ maxLength: 120 }).map((bytes) => Buffer.from(bytes));
const changes = fc.array(fc.record({ at: fc.nat(), to: fc.nat(255) }), { maxLength: 4 });

describe(`${numRuns} random tables, seed ${runs.seed}`, () => {
  it('read the messages that they write, and refuse other bytes with an Iso8583Error', () => {
    fc.assert(
      fc.property(tableAndMessage, changes, noise, ({ table, mti, fields }, edits, random) => {
        const dialect = compileDialect(table);
        const bytes = dialect.encode({ mti, fields });
        assert.deepEqual(dialect.decode(bytes), { mti, fields });
        readsOrRefuses(() => dialect.decode(random));
        for (const { at, to } of edits) bytes[at % bytes.length] = to;
        readsOrRefuses(() => dialect.decode(bytes));
      }),
      runs,
    );
    assert.ok(refusedTables * 4 < tried, `${refusedTables} of ${tried} lines were refused`);
  });

  const structures: readonly [
    FieldFormat['content'],
    SubFieldFormat,
    Record<string, FieldFormat>,
  ][] = (() => {
    const line = (content: FieldFormat['content'], max: number): FieldFormat => ({
      name: 'x',
      content,
      size: 'LL',
      max,
    });
    const parts = { 2: line('ans', 20), 3: line('n', 9), 12: line('an', 5) };
    const bitmap = { type: 'Bitmap', bitmap: 'binary', bitmapBytes: 2, parts } as const;
    const listed = Object.entries(parts).map(([id, part]) => ({ id: `p${id}`, ...part }));
    const byId = Object.fromEntries(listed.map(({ id, ...part }) => [id, part]));
    const tagged = { AB: line('ans', 9), C1: line('ans', 30) };
    const tlv = { '9F02': line('b', 30), '72': line('b', 200), '72.2': line('b', 3) };
    return [
      ['b', bitmap, parts],
      ['ans', { ...bitmap, bitmap: 'hex' }, parts],
      ['ans', { type: 'Positions', parts: listed }, byId],
      ['ans', { type: 'Tags', tagSize: 2, lengthSize: 3 }, tagged],
      ['ans', { type: 'Tags', tagSize: 2, lengthSize: 2, order: 'lengthFirst' }, tagged],
      ['tlv', { type: 'BerTlv' }, tlv],
      ['ans', { type: 'Tokens' }, tagged],
    ];
  })();

  for (const [content, subFields, parts] of structures) {
    it(`read the parts that they write in ${subFields.type} of ${content}`, () => {
      const compiled = compileSubFields({ name: 'x', content, size: 'LLL', max: 999, subFields });
      const values = Object.entries(parts).map(([id, part]) => [id, valueFor(part)] as const);
      const random = content === 'ans' ? text('ans', 0, 60) : text('hex', 0, 60);
      fc.assert(
        fc.property(
          fc.record(Object.fromEntries(values), { noNullPrototype: true }),
          random,
          (all, other) => {
            assert.deepEqual(compiled.decode(compiled.encode(all)), all);
            readsOrRefuses(() => compiled.decode(other));
          },
        ),
        { ...runs, numRuns: Math.min(numRuns, 2000) },
      );
    });
  }
});
