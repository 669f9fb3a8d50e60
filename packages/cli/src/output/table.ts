/** Text tables: aligned, and cut to the width of the terminal. */

import type { Paint } from './colours.ts';
import { displayWidth, escapeText, truncateEnd, truncateStart } from './escape-text.ts';

type FormattedColumn<Row> = {
  readonly title: string;
  readonly value: (row: Row) => unknown;
  /** For identifiers: a part of one is useless. */
  readonly neverTruncate?: boolean;
  /** Cuts the start in place of the end, such as for paths. */
  readonly keepEnd?: boolean;
};

/** The name of a member, which is the title too, or a column with its own title and value. */
export type Column<Row> = (keyof Row & string) | FormattedColumn<Row>;

const gap = 2;
const columnLeast = 6;

export function formatCell(value: unknown): string {
  if (value === undefined || value === null || value === '') return '-';
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(formatCell).join(', ');
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return escapeText(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

/** Shrinks the widest columns that may be cut, a cell at a time, until the row fits. */
function fitWidths(
  widths: number[],
  neverTruncate: readonly boolean[],
  terminalWidth: number,
): void {
  widths.forEach((width, at) => {
    if (!neverTruncate[at]) widths[at] = Math.min(width, terminalWidth);
  });
  let excess =
    widths.reduce((sum, width) => sum + width, 0) + gap * (widths.length - 1) - terminalWidth;
  for (; excess > 0; excess -= 1) {
    let widest = -1;
    widths.forEach((width, at) => {
      if (neverTruncate[at] || width <= columnLeast) return;
      if (widest < 0 || width > (widths[widest] ?? 0)) widest = at;
    });
    if (widest < 0) return;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
}

/** @param terminalWidth in cells; undefined cuts nothing */
export function formatTable<Row>(
  definitions: readonly Column<Row>[],
  rows: readonly Row[],
  paint: Paint,
  terminalWidth: number | undefined,
): string {
  const columns = definitions.map((each) =>
    typeof each === 'string' ? { title: each.toUpperCase(), value: (row: Row) => row[each] } : each,
  ) as readonly FormattedColumn<Row>[];
  const cells = rows.map((row) => columns.map((column) => formatCell(column.value(row))));
  const widths = columns.map((column, at) =>
    Math.max(displayWidth(column.title), ...cells.map((row) => displayWidth(row[at] ?? ''))),
  );
  if (terminalWidth !== undefined)
    fitWidths(
      widths,
      columns.map(({ neverTruncate }) => neverTruncate === true),
      terminalWidth,
    );
  const lineOf = (row: readonly string[]) =>
    row
      .map((cell, at) => {
        const shorten = columns[at]?.keepEnd ? truncateStart : truncateEnd;
        const cut = shorten(cell, widths[at] ?? 0);
        return at === row.length - 1
          ? cut
          : cut + ' '.repeat((widths[at] ?? 0) - displayWidth(cut) + gap);
      })
      .join('');
  const head = paint('bold', lineOf(columns.map(({ title }) => title)));
  return [head, ...cells.map(lineOf)].map((line) => `${line.trimEnd()}\n`).join('');
}

/** The members of one resource, one in each line. */
export function formatMembers(members: Readonly<Record<string, unknown>>, paint: Paint): string {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  const width = Math.max(0, ...entries.map(([name]) => displayWidth(escapeText(name))));
  return entries
    .map(([name, value]) => {
      const label = escapeText(name);
      const pad = ' '.repeat(width - displayWidth(label) + gap);
      return `${paint('bold', label)}${pad}${formatCell(value)}\n`;
    })
    .join('');
}
