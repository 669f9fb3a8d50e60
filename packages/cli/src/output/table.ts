/** Tables for people: aligned, and cut to the width of the terminal. */

import type { Paint } from './colours.ts';
import { cutInFront, cutTo, visible, widthOf } from './escape-text.ts';

export type Column<Row> = {
  readonly title: string;
  readonly of: (row: Row) => unknown;
  /** Identifiers are never cut: half of one is of no use. */
  readonly whole?: boolean;
  /** The end tells more than the beginning, as of a path: it is cut in front. */
  readonly keepsEnd?: boolean;
};

const gap = 2;
const columnLeast = 6;

/** What a value looks like in a cell. */
export function cellOf(value: unknown): string {
  if (value === undefined || value === null || value === '') return '-';
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(cellOf).join(', ');
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return visible(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

/** Takes from the widest columns that may be cut, a cell at a time, until the row fits. */
function fit(widths: number[], whole: readonly boolean[], room: number): void {
  widths.forEach((width, at) => {
    if (!whole[at]) widths[at] = Math.min(width, room);
  });
  let over = widths.reduce((sum, width) => sum + width, 0) + gap * (widths.length - 1) - room;
  for (; over > 0; over -= 1) {
    let widest = -1;
    widths.forEach((width, at) => {
      if (whole[at] || width <= columnLeast) return;
      if (widest < 0 || width > (widths[widest] ?? 0)) widest = at;
    });
    if (widest < 0) return;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
}

/** @param room cells of the terminal; undefined cuts nothing */
export function tableText<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  paint: Paint,
  room: number | undefined,
): string {
  const cells = rows.map((row) => columns.map((column) => cellOf(column.of(row))));
  const widths = columns.map((column, at) =>
    Math.max(widthOf(column.title), ...cells.map((row) => widthOf(row[at] ?? ''))),
  );
  if (room !== undefined)
    fit(
      widths,
      columns.map(({ whole }) => whole === true),
      room,
    );
  const lineOf = (row: readonly string[]) =>
    row
      .map((cell, at) => {
        const shorten = columns[at]?.keepsEnd ? cutInFront : cutTo;
        const cut = shorten(cell, widths[at] ?? 0);
        return at === row.length - 1
          ? cut
          : cut + ' '.repeat((widths[at] ?? 0) - widthOf(cut) + gap);
      })
      .join('');
  const head = paint('bold', lineOf(columns.map(({ title }) => title)));
  return [head, ...cells.map(lineOf)].map((line) => `${line.trimEnd()}\n`).join('');
}

/** One thing: its members below each other. */
export function membersText(members: Readonly<Record<string, unknown>>, paint: Paint): string {
  const told = Object.entries(members).filter(([, value]) => value !== undefined);
  const width = Math.max(0, ...told.map(([name]) => widthOf(visible(name))));
  return told
    .map(([name, value]) => {
      const shown = visible(name);
      const pad = ' '.repeat(width - widthOf(shown) + gap);
      return `${paint('bold', shown)}${pad}${cellOf(value)}\n`;
    })
    .join('');
}
