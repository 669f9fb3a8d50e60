/** Texts of commands that people copy into a shell. */

/** Between single quotes a shell takes everything as it is, but for the quote itself. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** A command with a line for each of its parts. */
export const command = (name: string, parts: readonly string[]): string =>
  [name, ...parts].join(' \\\n  ');
