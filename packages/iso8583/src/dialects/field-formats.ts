// Shorthand for the lines of a dialect table.
import type { Content, FieldFormat, FieldSize } from '../dialect-table.ts';

/** A value of one length. */
export function fixed(content: Content, max: number, name: string): FieldFormat {
  return { name, content, size: 'fixed', max };
}

/** A value behind a length indicator of as many digits as there are Ls. */
export function variable(
  size: Exclude<FieldSize, 'fixed'>,
  content: Content,
  max: number,
  name: string,
): FieldFormat {
  return { name, content, size, max };
}

/** The same line for every field from `first` to `last`. */
export function sameForFields(
  first: number,
  last: number,
  format: FieldFormat,
): { [field: number]: FieldFormat } {
  const fields: { [field: number]: FieldFormat } = {};
  for (let field = first; field <= last; field++) fields[field] = format;
  return fields;
}
