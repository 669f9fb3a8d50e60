// Searches tables, files and logs for the card data that a test process sent; a match fails the
// run.
import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '../../../src/platform/index.ts';
import { type ByteSearch, createByteSearch } from './byte-search.ts';
import { recordedCardData } from './sent-card-data.ts';

/** Request members that the server never stores or logs, with any value. */
export const neverStoredMembers = ['"securityCode":', '"pinblock":', '"track2":', '"emvData":'];
const rowsAtOnce = 2000;
const pieceBytes = 16 * 1024 * 1024;
/** No sequence is longer than the overlap, so every sequence is complete in one chunk. */
const overlapBytes = 64 * 1024;
const databaseMapPattern = /^\d+_(vm|fsm)(\.\d+)?$/;

let cachedSearch: { search: ByteSearch; secretCount: number } | undefined;

/** Rebuilds the search only if tests sent more card data since the last call. */
function currentSearch(): ByteSearch | undefined {
  const secrets = recordedCardData();
  if (secrets.length === 0) return undefined;
  if (cachedSearch?.secretCount !== secrets.length) {
    cachedSearch = {
      search: createByteSearch(secrets, neverStoredMembers),
      secretCount: secrets.length,
    };
  }
  return cachedSearch.search;
}

function report(where: string, match: string): void {
  process.stderr.write(`✗ card data was left behind: ${where}: ${match}\n`);
  process.exitCode = 1;
}

/** Scans every table of every schema as text, as in a dump. */
export async function scanTables(database: Database): Promise<void> {
  const search = currentSearch();
  if (search === undefined) return;
  const tables = await database.query<{ name: string }>(
    `SELECT quote_ident(table_schema) || '.' || quote_ident(table_name) AS name
      FROM information_schema.tables
      WHERE table_schema NOT IN ('pg_catalog', 'information_schema')
        AND table_type = 'BASE TABLE'`,
  );
  await database.session(async (queries) => {
    for (const { name } of tables) {
      await queries.query(
        `BEGIN; DECLARE scan NO SCROLL CURSOR FOR SELECT t::text AS row FROM ${name} t`,
      );
      for (;;) {
        const rows = await queries.query(`FETCH ${rowsAtOnce} FROM scan`);
        if (rows.length === 0) break;
        const match = search.find(Buffer.from(rows.map(({ row }) => String(row)).join('\n')));
        if (match !== undefined) report(`table ${name}`, match);
      }
      await queries.query('COMMIT');
    }
  });
}

/** Scans every file below a folder, including the database files and the write-ahead log. */
export function scanFolder(folder: string): void {
  const search = currentSearch();
  if (search === undefined) return;
  for (const path of filesBelow(folder)) {
    const match = findInFile(search, path);
    if (match !== undefined) report(path, match);
  }
}

/** Reads a file of any length in overlapping chunks; returns undefined if the file was removed. */
export function findInFile(
  search: Pick<ByteSearch, 'find'>,
  path: string,
  { piece = pieceBytes, overlap = overlapBytes } = {},
): string | undefined {
  const file = openIfExists(path);
  if (file === undefined) return undefined;
  try {
    const length = Math.min(piece, fstatSync(file).size + overlap + 1);
    const bytes = Buffer.allocUnsafeSlow(length);
    for (let carriedBytes = 0; ; ) {
      const read = readSync(file, bytes, carriedBytes, length - carriedBytes, null);
      const match = search.find(bytes.subarray(0, carriedBytes + read));
      if (match !== undefined || read === 0) return match;
      const end = carriedBytes + read;
      carriedBytes = Math.min(overlap, end);
      bytes.copyWithin(0, end - carriedBytes, end);
    }
  } finally {
    closeSync(file);
  }
}

function openIfExists(path: string): number | undefined {
  try {
    return openSync(path, 'r');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENXIO') return undefined;
    throw error;
  }
}

/**
 * Other processes may remove files during the scan. The visibility and free space maps of
 * PostgreSQL are left out: they hold no column values, and two bits per page at 1 and 0 look like
 * the packed digits of a test card (5555555555554444).
 */
export function filesBelow(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !databaseMapPattern.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Scans logged or printed text. */
export function scanText(where: string, text: string): void {
  const match = currentSearch()?.find(Buffer.from(text));
  if (match !== undefined) report(where, match);
}
