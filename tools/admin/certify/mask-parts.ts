// Masks card data in the annotated bytes of a message: numbers, tracks, PIN blocks, security codes, chip data.
import { type MessagePart, maskPan } from '../../../packages/iso8583/src/index.ts';

/** A part of a message as the report shows it; masked digits and bytes are `*`. */
export type ReportedPart = {
  /** From the first byte of the frame. */
  readonly offset: number;
  readonly bytes: string;
  readonly field: string;
  readonly name: string;
  readonly value: string;
};

/** The card data of the plan. */
export type Secrets = {
  readonly cardNumbers: readonly string[];
  readonly securityCodes: readonly string[];
};

const panField = 2;
/** Track 2 and its extension, track 1, PIN block. */
const secretFields: readonly number[] = [34, 35, 36, 45, 52];
const securityControlField = 53;
/** Fields with a fixed meaning other than card data. Other fields can have a security code, 49 in ISO 8583:2003. */
const plainFields: ReadonlySet<number> = new Set([
  3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 28, 29, 30,
  32, 33, 37, 38, 39, 40, 41, 42, 43, 50, 51, 54, 55, 56, 64, 70, 90, 95, 96, 128,
]);

const stars = (text: string) => '*'.repeat(text.length);

/** Digits as a message can have them: as text or packed, and as hexadecimal bytes in ASCII and EBCDIC. */
const encodingsOf = (digits: string): readonly string[] => [
  digits,
  digits.replaceAll(/\d/g, '3$&'),
  digits.replaceAll(/\d/g, 'F$&'),
];

const containsNumber = (value: string, bytes: string, { cardNumbers }: Secrets): boolean =>
  cardNumbers
    .flatMap(encodingsOf)
    .some((number) => value.includes(number) || bytes.includes(number));

/** @param bytes of the field, which can contain a card number that its value does not show */
export function maskFieldValue(field: number, value: string, secrets: Secrets, bytes = ''): string {
  if (field === panField) return maskPan(value);
  if (secretFields.includes(field)) return stars(value);
  if (containsNumber(value, bytes, secrets)) return stars(value);
  if (plainFields.has(field) || field === securityControlField) return value;
  return secrets.securityCodes
    .flatMap(encodingsOf)
    .reduce((text, code) => text.replaceAll(code, stars(code)), value);
}

/**
 * Masks all bytes of a field whose value is masked in part, because its encoding varies with the host.
 *
 * @param keyField the field of a new key, if the message has one
 */
export function maskParts(
  parts: readonly MessagePart[],
  secrets: Secrets,
  keyField: number | undefined,
): ReportedPart[] {
  return parts.map(({ offset, bytes, field, name, value }, index) => {
    // The message type and the bitmaps come first. A later part without a field could not be read.
    if (field === undefined) {
      const isUnreadable = name === 'Not readable';
      const label = ['MTI', 'Bitmap'][index] ?? '';
      return { offset, bytes: isUnreadable ? stars(bytes) : bytes, field: label, name, value };
    }
    const masked = field === keyField ? stars(value) : maskFieldValue(field, value, secrets, bytes);
    const reportedBytes = masked === value ? bytes : stars(bytes);
    return { offset, bytes: reportedBytes, field: String(field), name, value: masked };
  });
}
