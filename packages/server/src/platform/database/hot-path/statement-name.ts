// Names a text for the server, so that it is planned once for each connection, inside a transaction too.

const namePattern = /^\/\* prepared ([a-z][a-z0-9-]{0,62}) \*\/ /;

/**
 * For texts that are costlier to plan than to do. The name stands in the text, which goes through layers that
 * know of texts alone; a name belongs to one text for ever.
 *
 * @example const text = preparedText('report-lines', 'INSERT …');
 */
export function withStatementName(name: string, text: string): string {
  const textWithName = `/* prepared ${name} */ ${text}`;
  if (readStatementName(textWithName) !== name)
    throw new RangeError(`no name for a statement: ${name}`);
  return textWithName;
}

/** The name that stands in a text. */
export const readStatementName = (text: string): string | undefined => namePattern.exec(text)?.[1];
