// The shapes of the fields of a host table, and of the structures inside their values.
import type {
  Charset,
  Content,
  FieldSize,
  Fill,
  HexEncoding,
  LengthEncoding,
  ValueEncoding,
} from '../dialect-table.ts';
import {
  byType,
  type Check,
  eachIn,
  listOf,
  matching,
  oneOf,
  orNothing,
  recursive,
  type Shape,
  shaped,
  whole,
} from './table-shape.ts';

const charsets: readonly Charset[] = ['ascii', 'ebcdic', 'ebcdic1047', 'ebcdic500'];
const hexEncodings: readonly HexEncoding[] = ['hex', 'hexAscii', 'hexEbcdic'];
const contents: readonly Content[] = ['n', 'an', 'ans', 'z', 'x+n', 'b', 'tlv'];
const sizes: readonly FieldSize[] = ['fixed', 'L', 'LL', 'LLL', 'LLLL', 'LLLLL', 'LLLLLL'];
const valueEncodings: readonly ValueEncoding[] = [
  ...charsets,
  'bcd',
  'raw',
  'zoned',
  ...hexEncodings,
];
const lengthEncodings: readonly LengthEncoding[] = [
  ...charsets,
  'bcd',
  'binary',
  'littleEndian',
  ...hexEncodings,
];
const fills: readonly Fill[] = ['leftZeros', 'leftBlanks', 'rightZeros', 'rightBlanks'];

const lengthMax = 999_999;
const name = matching(/^.{1,100}$/, 'a name');
const id = matching(/^[A-Za-z0-9_-]{1,40}$/, 'an identifier of letters, digits, - and _');
const isTrue = oneOf(true, false);

const encodings = {
  text: oneOf(...charsets),
  numerics: oneOf(...charsets, 'bcd'),
  lengths: oneOf(...lengthEncodings),
  binaries: oneOf('raw', ...hexEncodings),
};

const subFields = recursive('subFields', () => subFieldShape);

const value = {
  name,
  content: oneOf(...contents),
  max: whole(0, lengthMax),
  encoding: oneOf(...valueEncodings),
  justify: oneOf('left', 'right'),
  pad: oneOf('0', 'F'),
  signEncoding: oneOf(...charsets, 'nibble'),
  subFields,
} as const satisfies Shape;

const length = {
  lengthEncoding: oneOf(...lengthEncodings),
  lengthBytes: whole(1, 4),
  lengthCounts: oneOf('bytes', 'nibbles'),
} as const satisfies Shape;

const field = {
  ...value,
  ...length,
  size: oneOf(...sizes),
  lengthInclusive: isTrue,
  fill: oneOf(...fills),
  trim: isTrue,
} as const satisfies Shape;

const requiredOfField = ['name', 'content', 'size', 'max'];
const wholeField = shaped(field, requiredOfField);
const part = shaped({ id, ...field }, ['id', ...requiredOfField]);

/** Members that every structure can have. */
const structure = (type: string, shape: Shape, required: readonly string[] = []): Check =>
  shaped({ type: oneOf(type), ...shape, encodings: shaped(encodings) }, ['type', ...required]);

const subFieldShape = byType({
  Positions: structure('Positions', { parts: listOf('parts', part) }, ['parts']),
  Tags: structure(
    'Tags',
    {
      tagSize: whole(1, 4),
      tagEncoding: oneOf(...charsets, 'bcd', 'binary'),
      lengthSize: whole(1, 6),
      ...length,
      order: oneOf('tagFirst', 'lengthFirst'),
      lengthCountsTag: isTrue,
      lead: part,
      parts: eachIn(/^.{1,8}$/, 'tags', shaped(value, ['name', 'content', 'max'])),
    },
    ['tagSize', 'lengthSize'],
  ),
  BerTlv: structure('BerTlv', {
    names: eachIn(/^(?:[0-9A-F]{2}){1,4}$/, 'tags in hexadecimal digits', name),
  }),
  Bitmap: structure(
    'Bitmap',
    {
      bitmap: oneOf('binary', ...hexEncodings),
      bitmapBytes: whole(1, 24),
      grows: isTrue,
      lead: part,
      parts: eachIn(/^[1-9][0-9]{0,2}$/, 'numbers of bits', wholeField),
    },
    ['bitmap', 'bitmapBytes', 'parts'],
  ),
  Separated: structure(
    'Separated',
    {
      separator: matching(/^[\s\S]{1,4}$/, 'one to four characters'),
      endsWithSeparator: isTrue,
      parts: listOf('parts', shaped({ id, name }, ['id', 'name'])),
    },
    ['separator', 'parts'],
  ),
  Tokens: structure('Tokens', {
    names: eachIn(/^.{2}$/, 'identifiers of two characters', name),
    parts: eachIn(
      /^.{2}$/,
      'identifiers of two characters',
      shaped({ name, length: whole(1, 9999), subFields }, ['name']),
    ),
  }),
});

/** Definitions of the schema that its parts refer to. */
export const subFieldDefinitions = { subFields: subFieldShape.schema };

/** Without 65, the third bitmap. */
const messageFieldKey = /^(?:[2-9]|[1-57-9][0-9]|6[0-46-9]|1[0-8][0-9]|19[0-2])$/;

/** A line over that of the base: `null` removes a member. */
const lineOverBase = shaped(
  Object.fromEntries(
    Object.entries(field).map(([member, check]) => {
      const isRequired = requiredOfField.includes(member);
      return [member, isRequired ? check : orNothing(check)];
    }),
  ),
);

/** The member `messages`. A field that changes a field of the base needs no complete line. */
export const messagesShape = shaped({
  mti: oneOf(...charsets, 'bcd'),
  bitmap: oneOf('binary', ...hexEncodings),
  bitmapSize: oneOf('grows', 'fixed16'),
  thirdBitmap: oneOf('afterSecond', 'field65'),
  ...encodings,
  fields: eachIn(
    messageFieldKey,
    'field numbers from 2 to 128, or to 192 with thirdBitmap',
    orNothing(lineOverBase),
  ),
});
