/** The field classes of jPOS and the format that each has on the wire. */
import type {
  Content,
  FieldFormat,
  FieldSize,
  LengthEncoding,
  TagsFormat,
  ValueEncoding,
} from '@switchyard/iso8583';

/** The attributes of a field in a packager file that change its format. */
export type FieldAttributes = {
  readonly length: number;
  /** An odd number of packed digits has its filler on the left. */
  readonly pad: boolean;
  /** The length also counts its own bytes. */
  readonly inclusive: boolean;
};

/** A format without the name, which the packager file gives. */
export type ClassFormat = Omit<FieldFormat, 'name'>;

type CreateFormat = (attributes: FieldAttributes) => ClassFormat;

/** jPOS uses code page 1047 for EBCDIC. */
const ebcdic = 'ebcdic1047';

type Letters = 'A' | 'B' | 'E';
const lengthEncodings: Readonly<Record<Letters, LengthEncoding>> = {
  A: 'ascii',
  B: 'bcd',
  E: ebcdic,
};

const fixed =
  (content: Content, encoding: ValueEncoding, fill?: FieldFormat['fill']): CreateFormat =>
  ({ length }) => ({
    content,
    size: 'fixed',
    max: length,
    encoding,
    ...(fill === undefined ? undefined : { fill }),
  });

const variable =
  (
    digits: number,
    lengthEncoding: LengthEncoding,
    content: Content,
    encoding: ValueEncoding,
    more: Partial<ClassFormat> = {},
  ): CreateFormat =>
  ({ length, inclusive }) => ({
    content,
    size: 'L'.repeat(digits) as FieldSize,
    max: length,
    encoding,
    lengthEncoding,
    ...(inclusive ? { lengthInclusive: true } : undefined),
    ...more,
  });

/** Packed digits: `pad` puts the filler of an odd number on the left, where it is always 0. */
const packed =
  (create: CreateFormat, rightFiller: '0' | 'F' = '0'): CreateFormat =>
  (attributes) => ({
    ...create(attributes),
    justify: attributes.pad ? 'right' : 'left',
    pad: attributes.pad ? '0' : rightFiller,
  });

/** Classes such as IFA_LLCHAR: the letters of the length encoding, the Ls and the content. */
function variableClasses(): [string, CreateFormat][] {
  const classes: [string, CreateFormat][] = [];
  const add = (
    letter: Letters,
    digits: readonly number[],
    suffix: string,
    content: Content,
    encoding: ValueEncoding,
  ) => {
    for (const count of digits) {
      const name = `IF${letter}_${'L'.repeat(count)}${suffix}`;
      classes.push([name, variable(count, lengthEncodings[letter], content, encoding)]);
    }
  };
  add('A', [1, 2, 3, 4, 5, 6], 'CHAR', 'ans', 'ascii');
  add('A', [1, 2, 3, 4, 5, 6], 'BINARY', 'b', 'raw');
  add('A', [2, 3], 'NUM', 'n', 'ascii');
  add('A', [2, 3], 'ABINARY', 'b', 'hexAscii');
  add('B', [2, 3, 4, 6], 'CHAR', 'ans', 'ascii');
  add('B', [2, 3, 4], 'BINARY', 'b', 'raw');
  add('E', [1, 2, 3, 4], 'CHAR', 'ans', ebcdic);
  add('E', [1, 2, 3, 4], 'BINARY', 'b', 'raw');
  add('E', [1, 2, 3], 'NUM', 'n', ebcdic);
  add('E', [3], 'EBINARY', 'ans', ebcdic);
  for (const [ls, bytes] of [
    ['LL', 1],
    ['LLL', 2],
  ] as const) {
    const digits = bytes * 2;
    const binaryLength = (content: Content, encoding: ValueEncoding) =>
      variable(digits, 'binary', content, encoding);
    classes.push(
      [`IFB_${ls}HCHAR`, binaryLength('ans', 'ascii')],
      [`IFB_${ls}HECHAR`, binaryLength('ans', ebcdic)],
      [`IFB_${ls}HBINARY`, binaryLength('b', 'raw')],
      [`IFB_${ls}HNUM`, packed(binaryLength('n', 'bcd'))],
      [`IFB_${ls}NUM`, packed(variable(ls.length, 'bcd', 'n', 'bcd'))],
      [`IFB_F${ls}NUM`, packed(variable(ls.length, 'bcd', 'n', 'bcd'), 'F')],
      [`IFB_${ls}HEX`, variable(ls.length, 'bcd', 'b', 'raw', { lengthCounts: 'nibbles' })],
      [
        `IFEB_${ls}NUM`,
        variable(ls.length, ebcdic, 'n', 'bcd', {
          lengthCounts: 'bytes',
          justify: 'left',
          pad: 'F',
        }),
      ],
    );
  }
  return classes;
}

const signedBcd: CreateFormat = (attributes) => ({
  ...packed(fixed('x+n', 'bcd', 'leftZeros'))(attributes),
  signEncoding: 'ascii',
});

const hexDigits: CreateFormat = ({ length }) => ({
  content: 'b',
  size: 'fixed',
  max: Math.ceil(length / 2),
  encoding: 'raw',
});

const zoned: CreateFormat = ({ length }) => ({
  content: 'x+n',
  size: 'fixed',
  max: length + 1,
  encoding: 'zoned',
  fill: 'leftZeros',
});

const withoutBytes: CreateFormat = () => ({
  content: 'ans',
  size: 'fixed',
  max: 0,
  encoding: 'ascii',
});

const formats: ReadonlyMap<string, CreateFormat> = new Map<string, CreateFormat>([
  ...variableClasses(),
  ['IF_CHAR', fixed('ans', 'ascii', 'rightBlanks')],
  ['IF_ECHAR', fixed('ans', ebcdic, 'rightBlanks')],
  ['IF_NOP', withoutBytes],
  ['IFA_NUMERIC', fixed('n', 'ascii', 'leftZeros')],
  ['IFA_AMOUNT', fixed('x+n', 'ascii', 'leftZeros')],
  ['IFA_AMOUNT2003', fixed('n', 'ascii', 'leftZeros')],
  ['IFA_BINARY', fixed('b', 'hexAscii')],
  ['IFA_LLBNUM', packed(variable(2, 'ascii', 'n', 'bcd', { lengthCounts: 'nibbles' }))],
  ['IFA_FLLCHAR', variable(2, 'ascii', 'ans', 'ascii', { fill: 'rightBlanks' })],
  ['IFA_FLLNUM', variable(2, 'ascii', 'n', 'ascii', { fill: 'rightBlanks' })],
  ['IFB_NUMERIC', packed(fixed('n', 'bcd', 'leftZeros'))],
  ['IFB_FNUMERIC', packed(fixed('n', 'bcd', 'leftZeros'), 'F')],
  ['IFB_AMOUNT', signedBcd],
  ['IFB_AMOUNT2003', packed(fixed('n', 'bcd', 'leftZeros'))],
  ['IFB_BINARY', fixed('b', 'raw')],
  ['IFB_HEX', hexDigits],
  ['IFB_LLHFBINARY', variable(2, 'binary', 'b', 'raw', { fill: 'rightZeros' })],
  ['IFE_CHAR', fixed('ans', ebcdic, 'rightBlanks')],
  ['IFE_NUMERIC', fixed('n', ebcdic, 'leftZeros')],
  ['IFE_SIGNED_NUMERIC', zoned],
  ['IFE_AMOUNT', fixed('x+n', ebcdic, 'leftZeros')],
  ['IFE_BINARY', fixed('b', 'hexEbcdic')],
  ['IFEA_LLCHAR', variable(2, ebcdic, 'ans', 'ascii')],
  ['IFAE_LLCHAR', variable(2, 'ascii', 'ans', ebcdic)],
]);

/** The format of a class without a tag; undefined for another class. */
export function formatOfClass(
  className: string,
  attributes: FieldAttributes,
): ClassFormat | undefined {
  return formats.get(className)?.(attributes);
}

/** A class whose bytes begin with a tag, or with a length and a tag. */
export type TaggedClass = {
  readonly tags: Omit<TagsFormat, 'type' | 'parts' | 'lead'>;
  readonly content: 'ans' | 'b';
  readonly encoding: ValueEncoding;
};

const tagFirst = (
  tagSize: number,
  lengthSize: number,
  content: 'ans' | 'b',
  {
    tag = 'ascii',
    length = 'ascii',
    text = 'ascii',
  }: { tag?: 'ascii' | typeof ebcdic; length?: LengthEncoding; text?: ValueEncoding } = {},
): TaggedClass => ({
  tags: { tagSize, tagEncoding: tag, lengthSize, lengthEncoding: length },
  content,
  encoding: content === 'b' ? 'raw' : text,
});

const lengthFirst = (
  lengthSize: number,
  content: 'ans' | 'b',
  charset: 'ascii' | typeof ebcdic,
  text: ValueEncoding,
): TaggedClass => ({
  tags: {
    tagSize: 2,
    tagEncoding: charset,
    lengthSize,
    lengthEncoding: charset,
    order: 'lengthFirst',
    lengthCountsTag: true,
  },
  content,
  encoding: text,
});

const inEbcdic = { tag: ebcdic, length: ebcdic, text: ebcdic } as const;

const taggedClasses: ReadonlyMap<string, TaggedClass> = new Map([
  ...[1, 2, 3, 4].flatMap((digits): [string, TaggedClass][] => {
    const ls = 'L'.repeat(digits);
    return [
      [`IFA_TT${ls}CHAR`, tagFirst(2, digits, 'ans')],
      [`IFA_TT${ls}BINARY`, tagFirst(2, digits, 'b')],
    ];
  }),
  ['IFA_TTTLLLCHAR', tagFirst(3, 3, 'ans')],
  ['IFMC_LLCHAR', tagFirst(2, 2, 'ans')],
  ['IFMC_LLLCHAR', tagFirst(2, 3, 'ans')],
  ['IFMC_LLBINARY', tagFirst(2, 2, 'b')],
  ['IFMC_LLLBINARY', tagFirst(2, 3, 'b')],
  ['IFEMC_LLCHAR', tagFirst(2, 2, 'ans', { length: ebcdic, text: ebcdic })],
  ['IFEMC_LLLCHAR', tagFirst(4, 3, 'ans', inEbcdic)],
  ['IFEPE_LLCHAR', tagFirst(2, 2, 'ans', inEbcdic)],
  ['IFEPE_LLLCHAR', tagFirst(3, 3, 'ans', inEbcdic)],
  ['IFEPE_LLBINARY', tagFirst(2, 2, 'b', inEbcdic)],
  ['IFIPM_LLLCHAR', tagFirst(4, 3, 'ans')],
  ['IFEP_LLCHAR', lengthFirst(2, 'ans', 'ascii', 'ascii')],
  ['IFEP_LLLCHAR', lengthFirst(3, 'ans', ebcdic, 'ascii')],
  ['IFEP_LLLBINARY', lengthFirst(3, 'b', ebcdic, 'raw')],
  ['IFELPE_LLLCHAR', lengthFirst(3, 'ans', ebcdic, ebcdic)],
]);

/** The layout of a tagged class; undefined for another class. */
export function taggedClass(className: string): TaggedClass | undefined {
  return taggedClasses.get(className);
}

/** One character in front of tagged parts, as MasterCard has it in field 48. */
export const leadClasses: ReadonlyMap<string, ValueEncoding> = new Map([
  ['IFMC_TCC', 'ascii'],
  ['IFEMC_TCC', ebcdic],
]);

/** The encoding of a bitmap by its class. */
export const bitmapClasses = {
  IFA_BITMAP: 'hexAscii',
  IFB_BITMAP: 'binary',
  IFE_BITMAP: 'hexEbcdic',
  X92_BITMAP: 'hexAscii',
  Base1_BITMAP126: 'binary',
} as const;

export const isBitmapClass = (className: string): className is keyof typeof bitmapClasses =>
  Object.hasOwn(bitmapClasses, className);
