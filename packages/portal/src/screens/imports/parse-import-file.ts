/** Parses an import file before it is sent. */
import { parseJsonObject } from '@switchyard/contract';
import { type CsvRow, readCsv, separatorOf, writeCsv } from './csv.ts';

/** The limits of the platform for one request: lines and bytes. */
export const maxLines = 10_000;
export const maxBytes = 16_777_216;
const previewRows = 12;

export type ImportFormat = 'Csv' | 'JsonLines';

export type ImportFile = {
  readonly name: string;
  readonly format: ImportFormat;
  /** The content to send, with commas as separators. */
  readonly content: string;
  /** True if semicolons were replaced by commas. */
  readonly wasConverted: boolean;
  /** The number of lines that are not blank. */
  readonly lines: number;
  readonly types: Readonly<Record<string, number>>;
  readonly columns: readonly string[];
  readonly preview: readonly { readonly line: number; readonly cells: readonly string[] }[];
};

export type FileFault = 'empty' | 'tooLarge' | 'tooManyLines' | 'noType' | 'notUtf8';

function countTypes(names: Iterable<string>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/** Keeps line numbers, so that the results refer to the lines of the file. */
function withCommas(rows: readonly CsvRow[]): string {
  let text = '';
  let line = 1;
  for (const row of rows) {
    const written = '\r\n'.repeat(Math.max(0, row.line - line)) + writeCsv([row.cells], false);
    line += written.split('\n').length - 1;
    text += written;
  }
  return text;
}

function readTable(name: string, text: string): ImportFile {
  const separator = separatorOf(text);
  const [head, ...rows] = [...readCsv(text, separator)];
  const columns = head?.cells ?? [];
  const type = columns.indexOf('type');
  return {
    name,
    format: 'Csv',
    content: separator === ',' ? text : withCommas(head === undefined ? [] : [head, ...rows]),
    wasConverted: separator !== ',',
    lines: rows.length,
    types: countTypes(rows.map(({ cells }) => cells[type] ?? '')),
    columns,
    preview: rows.slice(0, previewRows),
  };
}

/** Nested values are displayed as JSON. */
function readLines(name: string, text: string): ImportFile {
  const rows = text
    .split('\n')
    .map((row, at) => ({ line: at + 1, text: row.trim() }))
    .filter((row) => row.text !== '');
  const values = rows.map((row) => parseJsonObject(row.text) ?? {});
  return {
    name,
    format: 'JsonLines',
    content: text,
    wasConverted: false,
    lines: rows.length,
    types: countTypes(values.map(({ type }) => (typeof type === 'string' ? type : ''))),
    columns: ['type', 'operation', 'data'],
    preview: rows.slice(0, previewRows).map(({ line }, at) => {
      const { type, operation, data } = values[at] ?? {};
      const cells = [type, operation ?? 'upsert', data === undefined ? '' : JSON.stringify(data)];
      return { line, cells: cells.map((cell) => (typeof cell === 'string' ? cell : '')) };
    }),
  };
}

export function parseImportFile(name: string, text: string): ImportFile {
  const isLines = /\.(?:jsonl|ndjson)$/i.test(name) || text.trimStart().startsWith('{');
  return isLines ? readLines(name, text) : readTable(name, text);
}

/** Returns undefined if the bytes are not UTF-8. A byte order mark is kept. */
export function decodeUtf8(bytes: ArrayBuffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Errors of the whole file; the platform reports errors of single lines. */
export function fileFaultOf(file: ImportFile, bytes: number): FileFault | undefined {
  if (bytes > maxBytes) return 'tooLarge';
  if (file.lines === 0) return 'empty';
  if (file.lines > maxLines) return 'tooManyLines';
  if (file.format === 'Csv' && !file.columns.includes('type')) return 'noType';
  return undefined;
}

/** A valid import name, derived from the file name. */
export function importNameOf(fileName: string, day: string): string {
  const baseName = fileName
    .replace(/\.[A-Za-z0-9]{1,6}$/, '')
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^A-Za-z0-9._:-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 50);
  return `${baseName === '' ? 'import' : baseName}-${day}`;
}

export const isImportName = (name: string): boolean => /^[A-Za-z0-9._:-]{1,64}$/.test(name);
