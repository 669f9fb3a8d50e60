/** Converts a packager and a channel of jPOS to a host table. */
import { type FieldFormat, findHostTable, type HostTable } from '@switchyard/iso8583';
import { convertChannel } from './channels.ts';
import { reasonOf, withSubFields } from './convert-sub-fields.ts';
import { bitmapClasses, type ClassFormat, formatOfClass, isBitmapClass } from './field-classes.ts';
import { createImportReport, type ImportReport } from './import-report.ts';
import type { PackagerField, PackagerStructure } from './read-packager.ts';

export type ImportOptions = {
  readonly name: string;
  readonly base: string;
  readonly channel: string;
};

/** A host table as JSON, and the parts of the packager that it does not have. */
export type ImportedTable = {
  readonly table: Readonly<Record<string, unknown>>;
  readonly report: ImportReport;
};

const messageTypeField = 0;
const thirdBitmapField = 65;
const track2Field = 35;
const lastField = 128;
const lastFieldOfThirdBitmap = 192;
const bitmapBytesOfThree = 24;

type Encodings = Pick<HostTable['messages'], 'text' | 'numerics' | 'lengths' | 'binaries'>;

function leave(report: ImportReport, field: PackagerField, reason: string): undefined {
  report.openItems.push({ line: field.line, subject: `field ${field.id}`, reason });
  return undefined;
}

function messageType(
  field: PackagerField | undefined,
  report: ImportReport,
): HostTable['messages']['mti'] | undefined {
  if (field === undefined) return undefined;
  const encoding = formatOfClass(field.className, field)?.encoding;
  if (
    field.length === 4 &&
    (encoding === 'ascii' || encoding === 'ebcdic1047' || encoding === 'bcd')
  )
    return encoding;
  return leave(report, field, `a message type with the class ${field.className} is not possible`);
}

type BitmapMembers = Pick<HostTable['messages'], 'bitmap' | 'thirdBitmap'>;

function bitmapMembers(packager: PackagerStructure, report: ImportReport): Partial<BitmapMembers> {
  const { bitmapField, emitsBitmap, fields } = packager;
  const field = fields.find(({ id }) => id === bitmapField);
  if (field === undefined || !emitsBitmap) return {};
  if (!isBitmapClass(field.className)) {
    leave(report, field, `a bitmap with the class ${field.className} is not possible`);
    return {};
  }
  const bitmap = bitmapClasses[field.className];
  if (field.length >= bitmapBytesOfThree) return { bitmap, thirdBitmap: 'afterSecond' };
  const isField65 = packager.thirdBitmapField === thirdBitmapField;
  return isField65 ? { bitmap, thirdBitmap: 'field65' } : { bitmap };
}

const isText = ({ content }: Pick<FieldFormat, 'content'>) => content === 'an' || content === 'ans';

/** The content of the base, where the class allows it: jPOS does not check the digits of characters. */
function contentOf(
  { id }: PackagerField,
  { content, encoding }: ClassFormat,
  base: FieldFormat | undefined,
): FieldFormat['content'] {
  if (content === 'n' && id === track2Field) return 'z';
  if (content === 'n' && encoding !== 'bcd' && base !== undefined && isText(base))
    return base.content;
  return content === 'b' && base?.content === 'tlv' ? 'tlv' : content;
}

/** The highest length that digits in front of a value can state. */
function lengthMax({ size, lengthEncoding }: ClassFormat): number {
  if (size === 'fixed') return Number.POSITIVE_INFINITY;
  return lengthEncoding === 'binary' ? 256 ** (size.length / 2) - 1 : 10 ** size.length - 1;
}

function convertField(
  field: PackagerField,
  base: FieldFormat | undefined,
  report: ImportReport,
): FieldFormat | undefined {
  const format = formatOfClass(field.className, field);
  if (format === undefined) return leave(report, field, reasonOf(field));
  const name = field.name || base?.name || `Field ${field.id}`;
  const content = contentOf(field, format, base);
  const { fill, ...rest } = format;
  const hasFill = fill !== undefined && content !== 'z';
  const max = lengthMax(format);
  if (format.max > max) {
    leave(
      report,
      field,
      `its length ${format.max} is more than its length digits can state; max is ${max}`,
    );
  }
  const line: FieldFormat = {
    name,
    ...(hasFill ? format : rest),
    content,
    max: Math.min(format.max, max),
  };
  if (field.trim) leave(report, field, 'trim="true": a shorter last field is not possible');
  report.takenFields += 1;
  return withSubFields(line, field, { path: String(field.id), report });
}

/** The value that most lines have. */
function mostFrequent<Value extends string>(
  values: readonly (Value | undefined)[],
  otherwise: Value,
): Value {
  const counts = new Map<Value, number>();
  for (const value of values)
    if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1);
  const [first] = [...counts].toSorted(([, a], [, b]) => b - a);
  return first?.[0] ?? otherwise;
}

const isBytes = ({ content }: FieldFormat) => content === 'b' || content === 'tlv';

/** The encodings that most fields have in common. */
function commonEncodings(fields: readonly FieldFormat[]): Encodings {
  const encodingsOf = (isKind: (field: FieldFormat) => boolean) =>
    fields.filter(isKind).map(({ encoding }) => encoding);
  const numerics = encodingsOf((field) => !isText(field) && !isBytes(field));
  return {
    text: mostFrequent(encodingsOf(isText), 'ascii') as Encodings['text'],
    numerics: mostFrequent(
      numerics.filter((encoding) => encoding !== 'zoned'),
      'ascii',
    ) as Encodings['numerics'],
    lengths: mostFrequent(
      fields.map(({ lengthEncoding }) => lengthEncoding),
      'ascii',
    ),
    binaries: mostFrequent(encodingsOf(isBytes), 'raw') as Encodings['binaries'],
  };
}

/** A line without the members that the table has for all fields; `null` removes a member of the base. */
function lineOverBase(
  field: FieldFormat,
  base: FieldFormat | undefined,
  common: Encodings,
): Record<string, unknown> {
  const usual = isText(field) ? common.text : isBytes(field) ? common.binaries : common.numerics;
  const { encoding, lengthEncoding, ...rest } = field;
  const line: Record<string, unknown> = { ...rest };
  if (encoding !== usual) line['encoding'] = encoding;
  if (lengthEncoding !== undefined && lengthEncoding !== common.lengths)
    line['lengthEncoding'] = lengthEncoding;
  const isEven = field.max % 2 === 0 && field.size === 'fixed';
  if (isEven) {
    delete line['justify'];
    delete line['pad'];
  }
  for (const member of Object.keys(base ?? {})) if (line[member] === undefined) line[member] = null;
  return line;
}

/** Parts that cannot be converted are in the report. */
export function convertPackager(
  packager: PackagerStructure,
  { name, base, channel }: ImportOptions,
): ImportedTable {
  const report = createImportReport();
  const baseFields: HostTable['messages']['fields'] = findHostTable(base)?.messages.fields ?? {};
  const mti = messageType(
    packager.fields.find(({ id }) => id === messageTypeField),
    report,
  );
  const bitmap = bitmapMembers(packager, report);
  const last = bitmap.thirdBitmap === undefined ? lastField : lastFieldOfThirdBitmap;
  const converted = new Map<number, FieldFormat>();
  const unused = new Set<number>();
  for (const field of packager.fields) {
    if (field.id === messageTypeField || field.id === packager.bitmapField) continue;
    if (field.className === 'IF_UNUSED') unused.add(field.id);
    // Bit 65 announces a third bitmap and is the field of no message.
    else if (field.id === thirdBitmapField) continue;
    else if (field.id > last) leave(report, field, `the table has fields up to ${last}`);
    else {
      const line = convertField(field, baseFields[field.id], report);
      if (line !== undefined) converted.set(field.id, line);
    }
  }
  if (packager.headerLength > 0) {
    const reason = `a header of ${packager.headerLength} bytes in front of the message type: describe it in framing`;
    report.openItems.push({ subject: 'packager', reason });
  }
  const common = commonEncodings([...converted.values()]);
  const describedIds = new Set(packager.fields.map(({ id }) => id));
  const removed = Object.keys(baseFields)
    .map(Number)
    .filter((id) => !converted.has(id) && (unused.has(id) || !describedIds.has(id)));
  const lines = [...converted].map(
    ([id, field]) => [id, lineOverBase(field, baseFields[id], common)] as const,
  );
  const { framing, openItems } = convertChannel(channel);
  report.openItems.push(...openItems);
  const fields = Object.fromEntries([...lines, ...removed.map((id) => [id, null] as const)]);
  const messages = { ...(mti === undefined ? undefined : { mti }), ...bitmap, ...common, fields };
  return {
    table: { name, base, ...(framing === undefined ? undefined : { framing }), messages },
    report,
  };
}
