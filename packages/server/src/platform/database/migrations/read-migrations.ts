// Reads the migration files of a directory: a number, a note and a checksum each.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

const filePattern = /^(\d{4})-[a-z0-9-]+\.sql$/;
/** For statements that cannot run inside a transaction, such as CREATE INDEX CONCURRENTLY. */
const noTransactionPattern = /^-- transaction: none$/m;

export type Migration = {
  version: number;
  name: string;
  /** The first comment line: the purpose of the migration. */
  note: string;
  checksum: string;
  statements: readonly string[];
  /** Each statement commits by itself, on every database. */
  withoutTransaction: boolean;
};

export async function readMigrations(directory: string): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).toSorted();
  const migrations = await Promise.all(names.map((name) => readMigration(directory, name)));
  const duplicate = migrations.find(
    ({ version }, index) => migrations[index - 1]?.version === version,
  );
  if (duplicate !== undefined)
    throw new Error(
      `two migrations have the number of ${duplicate.name}; give each its own number`,
    );
  return migrations;
}

async function readMigration(directory: string, name: string): Promise<Migration> {
  const version = Number(filePattern.exec(name)?.[1] ?? Number.NaN);
  if (!(version > 0)) throw new Error(`${name} is not a migration name such as 0001-payments.sql`);
  // Line endings differ between check-outs.
  const sql = (await readFile(join(directory, name), 'utf8')).replaceAll('\r\n', '\n');
  const note = /^-- (\S.*)/.exec(sql)?.[1];
  if (note === undefined)
    throw new Error(`${name} does not begin with a comment that describes the migration`);
  return {
    version,
    name: name.slice(0, -'.sql'.length),
    note,
    checksum: createHash('sha256').update(sql).digest('hex'),
    statements: splitStatements(sql),
    withoutTransaction: noTransactionPattern.test(sql),
  };
}

/** Tokens in which a semicolon does not end the statement. The first match wins. */
const tokens = [
  /--[^\n]*/y,
  /[eE]'(?:[^'\\]|\\[\s\S]|'')*'/y,
  /'(?:[^']|'')*'/y,
  /"(?:[^"]|"")*"/y,
  /\$([A-Za-z_]\w*)?\$[\s\S]*?\$\1\$/y,
  /[A-Za-z_][\w$]*/y,
];

/** @throws SyntaxError where a quote or a comment does not end */
export function splitStatements(sql: string): string[] {
  const statements: string[] = [];
  let start = 0;
  let offset = 0;
  while (offset < sql.length) {
    const char = sql[offset];
    if (char === ';') {
      statements.push(sql.slice(start, offset));
      offset += 1;
      start = offset;
      continue;
    }
    offset = endOfToken(sql, offset);
  }
  statements.push(sql.slice(start));
  return statements.map((text) => text.trim()).filter((text) => !isEmpty(text));
}

function endOfToken(sql: string, offset: number): number {
  if (sql.startsWith('/*', offset)) return endOfBlockComment(sql, offset);
  for (const token of tokens) {
    token.lastIndex = offset;
    const match = token.exec(sql);
    if (match !== null) return offset + match[0].length;
  }
  if (sql[offset] === "'" || sql[offset] === '"') {
    throw new SyntaxError(`the quote at offset ${offset} is not closed`);
  }
  return offset + 1;
}

/** Block comments nest in PostgreSQL. */
function endOfBlockComment(sql: string, open: number): number {
  const delimiters = /\/\*|\*\//g;
  delimiters.lastIndex = open;
  let depth = 0;
  for (let delimiter = delimiters.exec(sql); delimiter !== null; delimiter = delimiters.exec(sql)) {
    depth += delimiter[0] === '/*' ? 1 : -1;
    if (depth === 0) return delimiters.lastIndex;
  }
  throw new SyntaxError(`the comment at offset ${open} is not closed`);
}

function isEmpty(text: string): boolean {
  let offset = 0;
  while (offset < text.length) {
    const isComment = text.startsWith('--', offset) || text.startsWith('/*', offset);
    if (!isComment && !/\s/.test(text[offset] ?? '')) return false;
    offset = isComment ? endOfToken(text, offset) : offset + 1;
  }
  return true;
}
