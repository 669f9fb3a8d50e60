// Writes the lines of an export as CSV (RFC 4180) without formulas, or as JSON Lines.
import type { ExportFormat } from '@switchyard/contract';
import { redactText } from '../../platform/index.ts';
import type { Column, ColumnValue } from './export-columns.ts';

/**
 * Matches a text that a spreadsheet treats as a formula, also after spaces or quotes, and with
 * full-width characters of East Asian keyboards (OWASP, CSV Injection).
 */
const formulaPattern = /^[\s'"]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/u;
const needsQuotes = /[",\r\n]|^\s|\s$/u;

/** Puts an apostrophe before a text that a spreadsheet could run; numbers need no protection. */
function formatCsvCell(value: ColumnValue, isFreeText: boolean): string {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'string') return String(value);
  const redacted = isFreeText ? redactText(value) : value;
  const text = isFreeText && formulaPattern.test(redacted) ? `'${redacted}` : redacted;
  return needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const formatCsvLine = <Item>(columns: readonly Column<Item>[], item: Item): string =>
  `${columns.map((column) => formatCsvCell(column.readValue(item), column.isFreeText === true)).join(',')}\r\n`;

/** Omits members without a value. */
function formatJsonLine<Item>(columns: readonly Column<Item>[], item: Item): string {
  const line: Record<string, ColumnValue> = {};
  for (const column of columns) {
    const value = column.readValue(item);
    if (value === null || value === undefined || value === '') continue;
    const isText = column.isFreeText === true && typeof value === 'string';
    line[column.name] = isText ? redactText(value) : value;
  }
  return `${JSON.stringify(line)}\n`;
}

/** The text before the first line. */
export function formatHeader<Item>(format: ExportFormat, columns: readonly Column<Item>[]): string {
  return format === 'Csv' ? `${columns.map(({ name }) => name).join(',')}\r\n` : '';
}

/** @example formatLines('Csv', paymentColumns, items); */
export function formatLines<Item>(
  format: ExportFormat,
  columns: readonly Column<Item>[],
  items: readonly Item[],
): string {
  const line = format === 'Csv' ? formatCsvLine<Item> : formatJsonLine<Item>;
  let text = '';
  for (const item of items) text += line(columns, item);
  return text;
}

export const mediaTypes: Readonly<Record<ExportFormat, string>> = {
  Csv: 'text/csv; charset=utf-8',
  JsonLines: 'application/jsonl; charset=utf-8',
};

const fileExtensions: Readonly<Record<ExportFormat, string>> = { Csv: 'csv', JsonLines: 'jsonl' };

/** @param at RFC 3339 */
export function buildFileName(report: string, format: ExportFormat, at: string): string {
  const stamp = at.slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-');
  return `${report}-${stamp}.${fileExtensions[format]}`;
}
