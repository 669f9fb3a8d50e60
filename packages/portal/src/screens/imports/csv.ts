/** Reads and writes CSV (RFC 4180); written cells cannot run as spreadsheet formulas. */

export type CsvRow = { readonly line: number; readonly cells: readonly string[] };

/** Spreadsheets use semicolons in locales with a decimal comma. */
export function separatorOf(text: string): ',' | ';' {
  const end = text.search(/\r?\n/);
  const first = end === -1 ? text : text.slice(0, end);
  const unquoted = first.replaceAll(/"(?:[^"]|"")*"/g, '');
  const count = (sign: string) => unquoted.split(sign).length - 1;
  return count(';') > count(',') ? ';' : ',';
}

/** Skips blank lines; each row has the number of its first line. */
export function* readCsv(text: string, separator: ',' | ';'): Generator<CsvRow> {
  const source = text.startsWith('\ufeff') ? text.slice(1) : text;
  let cells: string[] = [];
  let cell = '';
  let isQuoted = false;
  let wasQuoted = false;
  let line = 1;
  let begun = 1;
  function* end(): Generator<CsvRow> {
    cells.push(cell);
    if (cells.length > 1 || cells[0] !== '' || wasQuoted) yield { line: begun, cells };
    cells = [];
    cell = '';
    wasQuoted = false;
    begun = line;
  }
  for (let at = 0; at < source.length; at += 1) {
    const sign = source[at] ?? '';
    if (sign === '\n') line += 1;
    if (isQuoted) {
      if (sign !== '"') cell += sign;
      else if (source[at + 1] === '"') {
        cell += '"';
        at += 1;
      } else isQuoted = false;
    } else if (sign === '"' && cell === '') {
      isQuoted = true;
      wasQuoted = true;
    } else if (sign === separator) {
      cells.push(cell);
      cell = '';
    } else if (sign === '\n') yield* end();
    else if (sign !== '\r' || source[at + 1] !== '\n') cell += sign;
  }
  if (cell !== '' || cells.length > 0 || wasQuoted) yield* end();
}

const needsQuotes = /[",\r\n]|^\s|\s$/u;
/**
 * Cells that a spreadsheet would run as a formula, also after spaces and quotes and with full-width
 * characters. They get an apostrophe.
 */
const formula = /^[\s'"]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/u;
/**
 * A secret may begin with a formula character, but it calls nothing and must be copied unchanged.
 */
const harmless = /^[\w-]{43}$/;

const quoted = (cell: string): string =>
  needsQuotes.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;

const withoutFormula = (cell: string): string =>
  formula.test(cell) && !harmless.test(cell) ? `'${cell}` : cell;

export function writeCsv(rows: Iterable<readonly string[]>, isForSheets: boolean): string {
  let text = '';
  for (const cells of rows) {
    const safe = isForSheets ? cells.map(withoutFormula) : cells;
    text += `${safe.map(quoted).join(',')}\r\n`;
  }
  return text;
}
