// Names a text for the server, so that it is planned once for each connection, inside a transaction too.

const form = /^\/\* prepared ([a-z][a-z0-9-]{0,62}) \*\/ /;

/**
 * For texts that are costlier to plan than to do. The name stands in the text, which goes through layers that
 * know of texts alone; a name belongs to one text for ever.
 *
 * @example const text = preparedText('report-lines', 'INSERT …');
 */
export function preparedText(name: string, text: string): string {
  const named = `/* prepared ${name} */ ${text}`;
  if (preparedName(named) !== name) throw new RangeError(`no name for a statement: ${name}`);
  return named;
}

/** The name that stands in a text. */
export const preparedName = (text: string): string | undefined => form.exec(text)?.[1];
