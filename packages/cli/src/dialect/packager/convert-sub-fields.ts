/** Converts the packagers of sub-fields to the structure of a value. */
import type {
  FieldFormat,
  PartFormat,
  SubFieldFormat,
  TaggedPartFormat,
} from '@switchyard/iso8583';
import {
  bitmapClasses,
  type ClassFormat,
  formatOfClass,
  isBitmapClass,
  leadClasses,
  type TaggedClass,
  taggedClass,
} from './field-classes.ts';
import type { ImportReport } from './import-report.ts';
import type { PackagerField, PackagerStructure } from './read-packager.ts';

/** Packagers whose bytes follow from their attributes and fields alone. */
const structuredPackagers = new Set([
  'GenericPackager',
  'GenericSubFieldPackager',
  'GenericTaggedFieldsPackager',
  'Base1SubFieldPackager',
  'EuroSubFieldPackager',
  'GICCSubFieldPackager',
  'MasterCardEBCDICSubFieldPackager',
]);
const berTlvPackagers =
  /^(?:ICCDataPackager|org\.jpos\.tlv\.packager\.bertlv\.BERTLVBinaryPackager)$/;
const datasetPackager = 'DatasetPackager';
/** Data sets up to this identifier contain BER-TLV. */
const tlvDatasetMax = 0x70;
const datasetMax = 0xffff;
const bitmapBytesOfMessage = 8;

/** The field in the report: `field 48.12`. */
const subjectOf = (path: string): string => `field ${path}`;

type SubFieldContext = { readonly path: string; readonly report: ImportReport };

const pathOf = ({ path }: SubFieldContext, { id }: PackagerField) => `${path}.${id}`;

function leave({ report }: SubFieldContext, path: string, line: number, reason: string): undefined {
  report.openItems.push({ line, subject: subjectOf(path), reason });
  return undefined;
}

/** Whether the parts are characters, so that they also fit a field of text. */
const isCharacters = ({ encoding, lengthEncoding = 'ascii' }: Partial<FieldFormat>): boolean =>
  (encoding === 'ascii' || encoding === 'hexAscii') && lengthEncoding === 'ascii';

/** A bitmap that announces no parts is bytes. */
const bytesOfBitmap = ({ className, length }: PackagerField): ClassFormat | undefined => {
  if (!isBitmapClass(className)) return undefined;
  const bitmap = bitmapClasses[className];
  const encoding = bitmap === 'binary' ? 'raw' : bitmap;
  return { content: 'b', size: 'fixed', max: length, encoding };
};

function partOf(context: SubFieldContext, field: PackagerField): FieldFormat | undefined {
  const format = formatOfClass(field.className, field) ?? bytesOfBitmap(field);
  if (format === undefined) {
    return leave(context, pathOf(context, field), field.line, reasonOf(field));
  }
  const part: FieldFormat = { name: field.name || `Part ${field.id}`, ...format };
  if (field.subFields === undefined) return part;
  return withSubFields(part, field, { ...context, path: pathOf(context, field) });
}

/** Why a class has no format. */
export function reasonOf({ className, token }: PackagerField): string {
  if (taggedClass(className) !== undefined) return `${className} needs fields with tags around it`;
  if (token !== undefined) return `${className} ends with the token ${JSON.stringify(token)}`;
  return `the class ${className} is not one of jPOS with a documented format; describe the field by hand`;
}

function bitmapStructure(
  context: SubFieldContext,
  { packagerClass, headerLength, fields }: PackagerStructure,
  bitmap: PackagerField,
): SubFieldFormat | undefined {
  if (!isBitmapClass(bitmap.className)) return undefined;
  const hasOneBitmap =
    bitmap.className === 'Base1_BITMAP126' || packagerClass === 'Base1SubFieldPackager';
  // Bit 1 announces a second bitmap, unless it is the bit of a part.
  const hasPartOne = fields.some((field) => field.id === 1 && field !== bitmap);
  const grows = bitmap.length > bitmapBytesOfMessage && !hasOneBitmap && !hasPartOne;
  const parts: Record<number, FieldFormat> = {};
  for (const field of fields) {
    // A field 0 beside the bitmap has no bit: jPOS does not write it.
    if (field === bitmap || field.id < 1) continue;
    const part = partOf(context, field);
    if (part !== undefined) parts[field.id] = part;
  }
  const header: PartFormat = {
    id: 'header',
    name: 'Header',
    content: 'b',
    size: 'fixed',
    max: headerLength,
    encoding: 'raw',
  };
  const bitmapBytes = Math.min(bitmap.length, bitmapBytesOfMessage);
  return {
    type: 'Bitmap',
    bitmap: bitmapClasses[bitmap.className],
    bitmapBytes,
    ...(grows ? { grows } : undefined),
    ...(headerLength > 0 ? { lead: header } : undefined),
    parts,
  };
}

function positions(
  context: SubFieldContext,
  { firstField = 1, fields }: PackagerStructure,
): SubFieldFormat {
  const parts: PartFormat[] = [];
  for (const field of fields) {
    if (field.id < firstField) continue;
    const part = partOf(context, field);
    // Without this part the positions of the next ones are not certain.
    if (part === undefined) break;
    parts.push({ id: String(field.id), ...part });
  }
  return { type: 'Positions', parts };
}

function separated(
  context: SubFieldContext,
  { fields }: PackagerStructure,
): SubFieldFormat | undefined {
  const [{ token } = { token: undefined }] = fields;
  const isSame = token !== undefined && fields.every((field) => field.token === token);
  const other = fields.find(({ className }) => className !== 'IF_TCHAR') ?? fields[0];
  if (!isSame && other !== undefined) {
    return leave(
      context,
      pathOf(context, other),
      other.line,
      'the parts end with different tokens',
    );
  }
  return {
    type: 'Separated',
    separator: token ?? '',
    endsWithSeparator: true,
    parts: fields.map(({ id, name }) => ({ id: String(id), name: name || `Part ${id}` })),
  };
}

function taggedParts(
  context: SubFieldContext,
  fields: readonly PackagerField[],
  first: TaggedClass,
): SubFieldFormat {
  const layout = JSON.stringify(first.tags);
  const parts: Record<string, TaggedPartFormat> = {};
  let lead: PartFormat | undefined;
  for (const field of fields) {
    const tagged = taggedClass(field.className);
    const name = field.name || `Part ${field.id}`;
    const leadEncoding = leadClasses.get(field.className);
    if (leadEncoding !== undefined) {
      lead = {
        id: String(field.id),
        name,
        content: 'ans',
        size: 'fixed',
        max: 1,
        encoding: leadEncoding,
      };
    } else if (field.id === 0 && tagged === undefined) {
      const part = partOf(context, field);
      if (part !== undefined) lead = { id: '0', ...part };
    } else if (tagged === undefined) {
      leave(context, pathOf(context, field), field.line, reasonOf(field));
    } else if (JSON.stringify(tagged.tags) !== layout) {
      const reason = `${field.className} has another tag or length than the other parts`;
      leave(context, pathOf(context, field), field.line, reason);
    } else {
      const tag = String(field.id).padStart(tagged.tags.tagSize, '0');
      const { content, encoding } = tagged;
      const part = { name, content, max: field.length, encoding, size: 'LLL' } as const;
      const whole =
        field.subFields === undefined
          ? part
          : withSubFields(part, field, { ...context, path: pathOf(context, field) });
      const { size: _size, ...taggedPart } = whole;
      parts[tag] = taggedPart;
    }
  }
  return {
    type: 'Tags',
    ...first.tags,
    ...(lead === undefined ? undefined : { lead }),
    parts,
  };
}

function datasets({ fields }: PackagerStructure): SubFieldFormat {
  const parts = fields.map(({ id, name }) => {
    const part: TaggedPartFormat = {
      name: name || `Data set ${id}`,
      content: 'b',
      max: datasetMax,
      encoding: 'raw',
      ...(id <= tlvDatasetMax ? { subFields: { type: 'BerTlv' } as const } : undefined),
    };
    return [id.toString(16).toUpperCase().padStart(2, '0'), part] as const;
  });
  return {
    type: 'Tags',
    tagSize: 1,
    tagEncoding: 'binary',
    lengthSize: 4,
    lengthEncoding: 'binary',
    parts: Object.fromEntries(parts),
  };
}

function structureOf(
  context: SubFieldContext,
  structure: PackagerStructure,
  line: number,
): SubFieldFormat | undefined {
  const { packagerClass, emitsBitmap, bitmapField, fields } = structure;
  if (berTlvPackagers.test(packagerClass)) return { type: 'BerTlv' };
  if (packagerClass === datasetPackager) return datasets(structure);
  if (!structuredPackagers.has(packagerClass)) {
    const reason = `its sub-fields have the packager ${packagerClass}, which is not one of jPOS with a documented format`;
    return leave(context, context.path, line, reason);
  }
  if (fields.length === 0)
    return leave(context, context.path, line, 'its packager has no sub-fields');
  const tagged = fields
    .map(({ className }) => taggedClass(className))
    .find((each) => each !== undefined);
  if (tagged !== undefined) return taggedParts(context, fields, tagged);
  const bitmap = fields.find(
    ({ id, className }) => isBitmapClass(className) && (id === bitmapField || id === 0),
  );
  if (emitsBitmap && bitmap !== undefined) return bitmapStructure(context, structure, bitmap);
  if (fields.some(({ className }) => className === 'IF_TCHAR'))
    return separated(context, structure);
  return positions(context, structure);
}

/** All formats inside a structure. */
function formatsIn(structure: SubFieldFormat): readonly Partial<FieldFormat>[] {
  switch (structure.type) {
    case 'Positions':
      return structure.parts;
    case 'Tags':
    case 'Bitmap':
      return [
        ...Object.values(structure.parts ?? {}),
        ...(structure.lead === undefined ? [] : [structure.lead]),
      ];
    default:
      return [];
  }
}

function isTextStructure(structure: SubFieldFormat): boolean {
  if (structure.type === 'BerTlv') return false;
  if (structure.type === 'Bitmap' && structure.bitmap !== 'hexAscii') return false;
  const isTaggedInAscii =
    structure.type !== 'Tags' ||
    (structure.tagEncoding === 'ascii' && structure.lengthEncoding === 'ascii');
  return isTaggedInAscii && formatsIn(structure).every(isCharacters);
}

/** Adds the structure of the sub-fields to a field, as far as a table can describe it. */
export function withSubFields<Format extends ClassFormat>(
  format: Format,
  field: PackagerField,
  context: SubFieldContext,
): Format {
  if (field.subFields === undefined) return format;
  const structure = structureOf(context, field.subFields, field.line);
  if (structure === undefined) return format;
  const isBytes = format.content === 'b' || format.content === 'tlv';
  if (isBytes || isTextStructure(structure)) return { ...format, subFields: structure };
  if (format.encoding === 'ascii') {
    const { fill: _fill, ...bytes } = format;
    return { ...bytes, content: 'b', encoding: 'raw', subFields: structure } as unknown as Format;
  }
  leave(
    context,
    context.path,
    field.line,
    'its sub-fields are bytes inside a field of EBCDIC characters; describe them by hand',
  );
  return format;
}
