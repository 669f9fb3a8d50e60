// Writes arrays for the database by hand: the driver looks at each character of each element.

const needsQuotes = /[\s{}",\\]|^$|^null$/i;

/**
 * For identifiers, numbers, names of types and times, which need no quotes.
 *
 * @example database.query('… = ANY($1::uuid[])', [plainArray(ids)]);
 */
export function encodeSimpleArray(values: readonly (string | number | null | undefined)[]): string {
  for (const value of values) {
    if (typeof value === 'string' && needsQuotes.test(value)) {
      throw new RangeError('an element of a plain array would need quotes');
    }
  }
  return `{${values.map((value) => value ?? 'NULL').join(',')}}`;
}

const escapedCharacters = /["\\]/g;

/**
 * For texts of any form.
 *
 * @example database.query('… unnest($1::text[])', [textArray(names)]);
 */
export function encodeTextArray(values: readonly (string | null | undefined)[]): string {
  const texts = values.map((value) => {
    if (value === null || value === undefined) return 'NULL';
    return needsQuotes.test(value) ? `"${value.replace(escapedCharacters, '\\$&')}"` : value;
  });
  return `{${texts.join(',')}}`;
}

const lineSeparator = '\n';

/**
 * For texts of one line, such as JSON that was written without spaces: the statement takes them apart
 * with `string_to_array($1, E'\n')`. There is one at least: of none it could not be told.
 */
export function encodeLines(texts: readonly string[]): string {
  if (texts.length === 0 || texts.some((text) => text.includes(lineSeparator))) {
    throw new RangeError('what is kept by lines is one text at least, of one line each');
  }
  return texts.join(lineSeparator);
}
