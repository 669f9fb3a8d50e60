// Puts the name of a prepared statement into its text, so that PostgreSQL plans it once per
// connection, also inside transactions.

const namePattern = /^\/\* prepared ([a-z][a-z0-9-]{0,62}) \*\/ /;

/**
 * For statements that take longer to plan than to execute. The name is a comment in the text,
 * because the layers in between pass on the text only. A name always belongs to the same text.
 *
 * @example const text = withStatementName('report-lines', 'INSERT …');
 */
export function withStatementName(name: string, text: string): string {
  const textWithName = `/* prepared ${name} */ ${text}`;
  if (readStatementName(textWithName) !== name)
    throw new RangeError(`invalid name of a prepared statement: ${name}`);
  return textWithName;
}

/** The name in the comment of a statement text. */
export const readStatementName = (text: string): string | undefined => namePattern.exec(text)?.[1];
