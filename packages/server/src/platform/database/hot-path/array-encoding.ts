// Encodes arrays as PostgreSQL array literals. The driver's encoder inspects each character of each element.

const needsQuotes = /[\s{}",\\]|^$|^null$/i;

/**
 * For identifiers, numbers, type names and times, which need no quotes.
 *
 * @example database.query('… = ANY($1::uuid[])', [encodeSimpleArray(ids)]);
 */
export function encodeSimpleArray(values: readonly (string | number | null | undefined)[]): string {
  for (const value of values) {
    if (typeof value === 'string' && needsQuotes.test(value)) {
      throw new RangeError('an element of a simple array must not need quotes');
    }
  }
  return `{${values.map((value) => value ?? 'NULL').join(',')}}`;
}

const escapedCharacters = /["\\]/g;

/**
 * For any text.
 *
 * @example database.query('… unnest($1::text[])', [encodeTextArray(names)]);
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
 * For texts of one line, such as JSON without line breaks. The statement splits them with
 * `string_to_array($1, E'\n')`. At least one text is needed: no text and one empty text look the
 * same.
 */
export function encodeLines(texts: readonly string[]): string {
  if (texts.length === 0 || texts.some((text) => text.includes(lineSeparator))) {
    throw new RangeError('expected at least one text, each of one line');
  }
  return texts.join(lineSeparator);
}
