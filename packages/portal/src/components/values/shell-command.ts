/** Builds shell commands for copying. */

/** A shell interprets nothing between single quotes except the quote itself. */
export const shellQuote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Puts each part of the command on its own line. */
export const shellCommand = (name: string, parts: readonly string[]): string =>
  [name, ...parts].join(' \\\n  ');
