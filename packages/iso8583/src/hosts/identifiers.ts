// Terminal, merchant and reference numbers in the lengths that the fields of a host have.
import type { FieldFormat } from '../dialect-table.ts';
import { Iso8583Error } from '../errors.ts';
import type { Message } from '../message.ts';
import type { CompiledHost } from './compile-host.ts';
import type { HostTable } from './host-table.ts';

/** Trace number, retrieval reference number, terminal and merchant. */
const identifierFields = [11, 37, 41, 42] as const;

/**
 * An identifier as its field holds it: a fixed field has blanks after a shorter one.
 *
 * @param format the field of the host; undefined if the host has none
 * @example
 * ```ts
 * padIdentifier('M1', table.messages.fields[42]); // 'M1             '
 * ```
 */
export const padIdentifier = (value: string, format: FieldFormat | undefined): string =>
  format?.size === 'fixed' ? value.padEnd(format.max, ' ') : value;

/**
 * Why an identifier does not fit its field, as a sentence that begins with `must`; undefined if it fits.
 *
 * @param field 41 for a terminal, 42 for a merchant
 * @example
 * ```ts
 * findIdentifierFault(host, 41, 'TERMINAL1'); // 'must fit field 41 of iso1987-ascii: 8 characters'
 * ```
 */
export function findIdentifierFault(
  host: CompiledHost,
  field: 41 | 42,
  value: string,
): string | undefined {
  const { name, messages } = host.table;
  const format = messages.fields[field];
  if (format === undefined) return undefined;
  const sent = padIdentifier(value, format);
  try {
    const fields = host.decode(host.encode({ mti: '0200', fields: { [field]: sent } })).fields;
    if (fields[field]?.trimEnd() === value) return undefined;
  } catch (error) {
    if (!(error instanceof Iso8583Error)) throw error;
  }
  const content = format.content === 'n' ? 'digits' : 'characters';
  return `must fit field ${field} of ${name}: up to ${format.max} ${content}`;
}

/**
 * A trace number or retrieval reference number in the length of its field: its last digits, after zeros.
 *
 * @param format the field of the host; undefined if the host has none
 * @example
 * ```ts
 * fitNumber('000042', { name: 'Trace number', content: 'n', size: 'fixed', max: 4 }); // '0042'
 * ```
 */
export function fitNumber(value: string, format: FieldFormat | undefined): string {
  if (format === undefined) return value;
  const { size, max } = format;
  const digits = value.slice(-max);
  return size === 'fixed' ? digits.padStart(max, '0') : digits;
}

/** The fields that have the numbers of an original in its own message. */
const originalFields = { stan: 11, rrn: 37, terminal: 41 } as const;

/** A sample with identifiers in the lengths of a table. */
export function fitIdentifiers<Sample extends Message>(
  sample: Sample,
  { fields: formats }: HostTable['messages'],
): Sample {
  const fields = { ...sample.fields };
  for (const field of identifierFields) {
    const value = fields[field];
    if (value !== undefined) fields[field] = fitNumber(value, formats[field]);
  }
  const { original } = sample;
  if (original === undefined) return { ...sample, fields };
  const fitted = Object.entries(originalFields).map(([part, field]) => {
    const value = original[part as keyof typeof originalFields] ?? '';
    return [part, fitNumber(value, formats[field])];
  });
  return { ...sample, fields, original: { ...original, ...Object.fromEntries(fitted) } };
}
