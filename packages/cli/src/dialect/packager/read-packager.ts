/** Reads the XML of a jPOS GenericPackager. */
import { parseXml, XmlElement, XmlError } from '@rgrove/parse-xml';
import { fail } from '../../runtime/command-error.ts';

/** The attributes of a packager, or of a packager of sub-fields. */
export type PackagerStructure = {
  /** The class of the packager of sub-fields; empty for the whole file. */
  readonly packagerClass: string;
  readonly emitsBitmap: boolean;
  readonly bitmapField: number;
  readonly firstField: number | undefined;
  readonly thirdBitmapField: number | undefined;
  readonly headerLength: number;
  readonly fields: readonly PackagerField[];
};

/** A field of a packager. */
export type PackagerField = {
  readonly id: number;
  readonly name: string;
  readonly length: number;
  /** Without `org.jpos.iso.`; a class of another package has its full name. */
  readonly className: string;
  readonly pad: boolean;
  readonly trim: boolean;
  readonly inclusive: boolean;
  readonly token: string | undefined;
  readonly line: number;
  readonly subFields: PackagerStructure | undefined;
};

const jposPackage = /^org\.jpos\.iso\.(?:packager\.)?/;
const defaultBitmapField = 1;

type ReadContext = { readonly file: string; lineOf(element: XmlElement): number };

function numberOf(
  { file, lineOf }: ReadContext,
  element: XmlElement,
  attribute: string,
): number | undefined {
  const text = element.attributes[attribute];
  if (text === undefined) return undefined;
  if (/^[0-9]{1,7}$/.test(text.trim())) return Number(text);
  const line = lineOf(element);
  return fail('usage', `${file}, line ${line}: ${attribute}="${text}" must be a whole number.`);
}

function requiredNumber(context: ReadContext, element: XmlElement, attribute: string): number {
  const number = numberOf(context, element, attribute);
  if (number !== undefined) return number;
  const line = context.lineOf(element);
  return fail('usage', `${context.file}, line ${line}: <${element.name}> has no ${attribute}.`);
}

function readField(context: ReadContext, element: XmlElement): PackagerField {
  const { attributes } = element;
  const isNested = element.name === 'isofieldpackager';
  return {
    id: requiredNumber(context, element, 'id'),
    name: (attributes['name'] ?? '').trim(),
    length: requiredNumber(context, element, 'length'),
    className: (attributes['class'] ?? '').trim().replace(jposPackage, ''),
    pad: attributes['pad'] === 'true',
    trim: attributes['trim'] === 'true',
    inclusive: attributes['inclusive'] === 'true',
    token: attributes['token'],
    line: context.lineOf(element),
    subFields: isNested ? readStructure(context, element) : undefined,
  };
}

function readStructure(context: ReadContext, element: XmlElement): PackagerStructure {
  const { attributes, children } = element;
  const elements = children.filter((child) => child instanceof XmlElement);
  const fields = elements.filter(({ name }) => name === 'isofield' || name === 'isofieldpackager');
  return {
    packagerClass: (attributes['packager'] ?? '').trim().replace(jposPackage, ''),
    emitsBitmap: attributes['emitBitmap'] !== 'false',
    bitmapField: numberOf(context, element, 'bitmapField') ?? defaultBitmapField,
    firstField: numberOf(context, element, 'firstField'),
    thirdBitmapField: numberOf(context, element, 'thirdBitmapField'),
    headerLength: numberOf(context, element, 'headerLength') ?? 0,
    fields: fields.map((child) => readField(context, child)),
  };
}

/**
 * @param file its name, for errors
 * @throws CommandError for text that is no XML, or no packager
 */
export function readPackager(file: string, text: string): PackagerStructure {
  let root: XmlElement | null;
  try {
    ({ root } = parseXml(text, { includeOffsets: true }));
  } catch (error) {
    if (!(error instanceof XmlError)) throw error;
    return fail('usage', `${file} is not XML: ${error.message.split('\n')[0]}`);
  }
  if (root?.name !== 'isopackager') {
    return fail('usage', `${file} must have the element <isopackager>, and has <${root?.name}>.`);
  }
  const lineOf = (element: XmlElement) => text.slice(0, element.start).split('\n').length;
  return readStructure({ file, lineOf }, root);
}
