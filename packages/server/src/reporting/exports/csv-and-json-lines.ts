// Writes the lines of an export as CSV (RFC 4180) without formulas, or as JSON Lines.
import type { ExportFormat } from '@switchyard/contract';
import { redactText } from '../../platform/index.ts';
import type { CellValue, Column } from './export-columns.ts';

/**
 * Matches a text that a spreadsheet treats as a formula, also after spaces or quotes, and with
 * full-width characters of East Asian keyboards (OWASP, CSV Injection).
 */
const formula = /^[\s'"]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/u;
const needsQuotes = /[",\r\n]|^\s|\s$/u;

/** Puts an apostrophe before a text that a spreadsheet could run; numbers need no protection. */
function csvCell(value: CellValue, isFree: boolean): string {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'string') return String(value);
  const shown = isFree ? redactText(value) : value;
  const text = isFree && formula.test(shown) ? `'${shown}` : shown;
  return needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const csvLine = <Item>(columns: readonly Column<Item>[], item: Item): string =>
  `${columns.map((column) => csvCell(column.of(item), column.isFree === true)).join(',')}\r\n`;

/** Omits members without a value. */
function jsonLine<Item>(columns: readonly Column<Item>[], item: Item): string {
  const line: Record<string, CellValue> = {};
  for (const column of columns) {
    const value = column.of(item);
    if (value === null || value === undefined || value === '') continue;
    const isText = column.isFree === true && typeof value === 'string';
    line[column.name] = isText ? redactText(value) : value;
  }
  return `${JSON.stringify(line)}\n`;
}

/** The text before the first line. */
export function headOf<Item>(format: ExportFormat, columns: readonly Column<Item>[]): string {
  return format === 'Csv' ? `${columns.map(({ name }) => name).join(',')}\r\n` : '';
}

/** @example linesOf('Csv', paymentColumns, items); */
export function linesOf<Item>(
  format: ExportFormat,
  columns: readonly Column<Item>[],
  items: readonly Item[],
): string {
  const line = format === 'Csv' ? csvLine<Item> : jsonLine<Item>;
  let text = '';
  for (const item of items) text += line(columns, item);
  return text;
}

export const mediaTypes: Readonly<Record<ExportFormat, string>> = {
  Csv: 'text/csv; charset=utf-8',
  JsonLines: 'application/jsonl; charset=utf-8',
};

const endings: Readonly<Record<ExportFormat, string>> = { Csv: 'csv', JsonLines: 'jsonl' };

/** @param at RFC 3339 */
export function fileNameOf(report: string, format: ExportFormat, at: string): string {
  const stamp = at.slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-');
  return `${report}-${stamp}.${endings[format]}`;
}
